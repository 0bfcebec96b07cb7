//! Names of topics, services and nodes that a command looks for.

use rospin_report::Failure;

use super::Session;

/// Returns true if a part of the name begins with an underscore: tools list such topics, services and nodes only if
/// asked for.
pub(crate) fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('_'))
}

/// Returns the fully qualified name of a node: the first slash may be left out.
fn full_node_name(name: &str) -> String {
    if name.starts_with('/') { name.to_owned() } else { format!("/{name}") }
}

/// Returns the failure of a name that is not in the graph: `no topic /foo; nearest: /fooo`.
pub(crate) fn missing<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a String>) -> Failure {
    let known: Vec<&str> = known.into_iter().map(String::as_str).filter(|known| *known != name).collect();
    let sentence = match rospin_scenario::nearest(name, &known) {
        Some(nearest) => format!("no {what} {name}; nearest: {nearest}"),
        None if known.is_empty() => {
            format!("no {what} {name}, and no other {what} either; is ROS_DOMAIN_ID that of the robot?")
        }
        None => format!("no {what} {name}"),
    };
    Failure::Run(sentence.into())
}

/// Waits for a topic, and returns its full name.
pub(crate) fn find_topic(session: &Session, topic: &str) -> Result<String, Failure> {
    let name = session.node().resolve_topic(topic).map_err(Failure::input)?.to_string();
    session.discover_until(|node| {
        let publishers = node.publishers_info_by_topic(&name).unwrap_or_default();
        !publishers.is_empty() && publishers.iter().all(|publisher| publisher.node.is_some())
    })?;
    let topics = session.node().topic_names_and_types();
    if topics.contains_key(&name) { Ok(name) } else { Err(missing("topic", &name, topics.keys())) }
}

/// Waits for a server of a service, and returns the service's full name.
pub(crate) fn find_service(session: &Session, service: &str) -> Result<String, Failure> {
    let name = session.node().resolve_service(service).map_err(Failure::input)?.to_string();
    let is_there = |node: &rospin::Node| node.count_servers(&name).is_ok_and(|count| count > 0);
    session.discover_until(is_there)?;
    if is_there(session.node()) {
        return Ok(name);
    }
    Err(missing("service", &name, session.node().service_names_and_types().keys()))
}

/// Waits for a node, and returns its fully qualified name.
pub(crate) fn find_node(session: &Session, node: &str) -> Result<String, Failure> {
    let name = full_node_name(node);
    session.discover_until(|node| node.node_names().contains(&name))?;
    let names = session.node().node_names();
    if names.contains(&name) {
        return Ok(name);
    }
    let own = session.node().fully_qualified_name();
    Err(missing("node", &name, names.iter().filter(|known| **known != own)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_an_underscore_at_the_beginning_of_a_part_is_hidden() {
        for name in ["/_hidden", "/a/_action/status", "/_ros2cli_7/get"] {
            assert!(is_hidden(name), "{name}");
        }
        for name in ["/", "/a_", "/a_/b_c"] {
            assert!(!is_hidden(name), "{name}");
        }
    }

    #[test]
    fn a_missing_name_is_told_with_the_nearest() {
        let known = ["/fooo".to_owned(), "/bar".to_owned()];
        assert_eq!(missing("topic", "/foo", &known).to_string(), "no topic /foo; nearest: /fooo");
        assert_eq!(missing("topic", "/camera/image", &known).to_string(), "no topic /camera/image");
        let alone = missing("node", "/foo", &[]).to_string();
        assert_eq!(alone, "no node /foo, and no other node either; is ROS_DOMAIN_ID that of the robot?");
    }
}
