//! Types of topics, services and actions: from the definitions that are installed or that the command carries along, or
//! from the nodes that have them.
//!
//! A definition is used if it has the hash that the graph tells. Otherwise the nodes are asked.

use std::collections::BTreeSet;

use rospin::dynamic::{MessageType, ServiceType};
use rospin::graph::Endpoint;
use rospin_codegen::{Definitions, Described};
use rospin_report::Failure;

use super::Session;

/// The definitions of ROS 2's own packages.
const CARRIED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/definitions.rs"));

/// Types of the parts of an action.
pub(crate) struct ActionType {
    pub(crate) send_goal: ServiceType,
    pub(crate) get_result: ServiceType,
    pub(crate) feedback: MessageType,
}

/// Returns the definitions of the installed ROS 2, and those that the command carries along.
pub(crate) fn definitions() -> Definitions {
    Definitions::new().carried(CARRIED)
}

/// Returns the whole name of a type: the kind may be left out, as in `std_msgs/String`.
pub(crate) fn full_name(name: &str, kind: &str) -> String {
    match name.split_once('/') {
        Some((package, base)) if !base.contains('/') => format!("{package}/{kind}/{base}"),
        _ => name.to_owned(),
    }
}

/// Returns the type of a message that is defined here.
pub(crate) fn message(name: &str) -> Result<MessageType, Failure> {
    let name = full_name(name, "msg");
    let described = describe(&name, "msg")?;
    MessageType::from_json(&described[0].json).map_err(Failure::input)
}

/// Returns the type of a service that is defined here.
pub(crate) fn service(name: &str) -> Result<ServiceType, Failure> {
    let name = full_name(name, "srv");
    let described = describe(&name, "srv")?;
    ServiceType::from_json(&described[0].json).map_err(Failure::input)
}

/// Returns the types of an action that is defined here.
pub(crate) fn action(name: &str) -> Result<ActionType, Failure> {
    let name = full_name(name, "action");
    let described = describe(&name, "action")?;
    let [send_goal, get_result, feedback] = &described[..] else {
        return Err(Failure::Input(format!("`{name}` is no action").into()));
    };
    Ok(ActionType {
        send_goal: ServiceType::from_json(&send_goal.json).map_err(Failure::input)?,
        get_result: ServiceType::from_json(&get_result.json).map_err(Failure::input)?,
        feedback: MessageType::from_json(&feedback.json).map_err(Failure::input)?,
    })
}

/// Returns the types of a definition of that kind.
fn describe(name: &str, kind: &str) -> Result<Vec<Described>, Failure> {
    let definitions = definitions();
    if name.split('/').nth(1) == Some(kind)
        && let Some(described) = definitions.describe(name).map_err(Failure::input)?
    {
        return Ok(described);
    }
    Err(Failure::Input(unknown(&definitions, name, kind).into()))
}

/// Returns the sentence about a type that has no definition.
fn unknown(definitions: &Definitions, name: &str, kind: &str) -> String {
    let names = definitions.names().unwrap_or_default();
    let marker = format!("/{kind}/");
    let known: Vec<&str> = names.iter().map(String::as_str).filter(|known| known.contains(&marker)).collect();
    let nearest = match rospin_scenario::nearest(name, &known) {
        Some(nearest) => format!("; nearest: {nearest}"),
        None => String::new(),
    };
    format!(
        "no type `{name}` is known here{nearest}; set AMENT_PREFIX_PATH to where its package is installed, or ask a node that \
         has it by leaving the type out"
    )
}

/// Returns the hashes that these ends tell.
fn hashes(ends: &[Endpoint]) -> BTreeSet<&str> {
    ends.iter().filter_map(|end| end.type_hash.as_deref()).collect()
}

/// Returns the only type of these ends, with the hash that they tell.
fn only_type(what: &str, name: &str, ends: &[Endpoint]) -> Result<(String, Option<String>), Failure> {
    let types: BTreeSet<&str> = ends.iter().map(|end| end.type_name.as_str()).collect();
    if types.len() > 1 {
        let types = types.into_iter().collect::<Vec<_>>().join(", ");
        return Err(Failure::Run(
            format!("{what} `{name}` has more than one type: {types}; name the one that is meant").into(),
        ));
    }
    let hashes = hashes(ends);
    if hashes.len() > 1 {
        let name_of_type = types.first().copied().unwrap_or_default();
        let sentence = format!("{what} `{name}` has more than one version of {name_of_type}, so not all its ends meet");
        return Err(Failure::Run(sentence.into()));
    }
    match ends.first() {
        Some(end) => Ok((end.type_name.clone(), hashes.first().map(|hash| (*hash).to_owned()))),
        None => Err(Failure::Run(format!("nobody has {what} `{name}`").into())),
    }
}

/// Returns the ends of a topic that tell its type: its publishers, or else its subscriptions.
pub(crate) fn ends_of_topic(session: &Session, topic: &str) -> Result<Vec<Endpoint>, Failure> {
    let node = session.node();
    let publishers = node.publishers_info_by_topic(topic).map_err(Failure::input)?;
    if !publishers.is_empty() {
        return Ok(publishers);
    }
    node.subscriptions_info_by_topic(topic).map_err(Failure::input)
}

/// Returns the name of a topic's type and its hash, as the graph has them.
pub(crate) fn name_of_topic(session: &Session, topic: &str) -> Result<(String, Option<String>), Failure> {
    only_type("topic", topic, &ends_of_topic(session, topic)?)
}

/// Returns the type of a topic that the graph has.
pub(crate) fn of_topic(session: &Session, topic: &str) -> Result<MessageType, Failure> {
    let (name, hash) = name_of_topic(session, topic)?;
    let local = message(&name);
    match (&local, &hash) {
        (Ok(found), None) => return Ok(found.clone().without_hash()),
        (Ok(found), Some(hash)) if found.hash() == hash => return Ok(found.clone().with_hash()),
        _ => {}
    }
    if session.node().count_publishers(topic).map_err(Failure::input)? == 0 {
        // Only nodes that publish are asked.
        let local = local?;
        let hash = hash.unwrap_or_default();
        return local.check_hash(&hash).map(|()| local.clone()).map_err(Failure::run);
    }
    let asked = session.node().message_type_of(&session.ros().executor().handle(), topic);
    session.finish(asked)?.map_err(Failure::run)
}

/// Returns the given type as the ends of the topic announce it. If they have another version of it, returns theirs.
pub(crate) fn checked(session: &Session, topic: &str, given: MessageType) -> Result<MessageType, Failure> {
    let mut ends = ends_of_topic(session, topic)?;
    ends.retain(|end| end.type_name == given.name());
    if ends.is_empty() {
        return Ok(given);
    }
    let hashes = hashes(&ends);
    if hashes.is_empty() {
        Ok(given.without_hash())
    } else if hashes.contains(given.hash()) {
        Ok(given.with_hash())
    } else {
        of_topic(session, topic)
    }
}

/// Returns the type of a service that the graph has.
pub(crate) fn of_service(session: &Session, service: &str) -> Result<ServiceType, Failure> {
    let node = session.node();
    let ends = node.servers_info_by_service(service).map_err(Failure::input)?;
    let (name, hash) = only_type("service", service, &ends)?;
    match (self::service(&name), &hash) {
        (Ok(found), None) => return Ok(found.without_hash()),
        (Ok(found), Some(hash)) if found.has_hash(hash) => return Ok(found.with_hash()),
        _ => {}
    }
    let asked = node.service_type_of(&session.ros().executor().handle(), service);
    session.finish(asked)?.map_err(Failure::run)
}

#[cfg(test)]
mod tests {
    use rospin::dynamic::DynamicMessage;

    use super::*;
    use crate::ros::testing::Robot;

    #[test]
    fn types_of_ros_are_known_without_ros() {
        assert_eq!(message("std_msgs/String").unwrap().name(), "std_msgs/msg/String");
        assert_eq!(message("geometry_msgs/msg/Twist").unwrap().fields().len(), 2);
        assert_eq!(service("std_srvs/srv/SetBool").unwrap().response().fields().len(), 2);
        let fibonacci = action("example_interfaces/action/Fibonacci").unwrap();
        assert_eq!(fibonacci.send_goal.request().fields()[1].name(), "goal");
        assert_eq!(fibonacci.feedback.fields()[1].name(), "feedback");
        assert_eq!(fibonacci.get_result.response().fields()[0].name(), "status");
    }

    #[test]
    fn a_type_that_is_given_is_used_only_if_the_topic_has_that_version() {
        let robot = Robot::new();
        let given = message("std_msgs/msg/String").unwrap();
        let mut description = given.description();
        description.type_description.fields[0].name = "text".to_owned();
        let other = MessageType::from_description(&description).unwrap();
        let node = robot.node("talker");
        assert_eq!(checked(&robot.session, "/chatter", given.clone()).unwrap().hash(), given.hash());
        let _listener = node.create_dynamic_subscription("chatter", &other, |_: DynamicMessage| {}).unwrap();
        let error = checked(&robot.session, "/chatter", given.clone()).unwrap_err().to_string();
        assert!(error.contains(other.hash()), "{error}");
        let talker = node.create_dynamic_publisher("chatter", &other).unwrap();
        assert_eq!(checked(&robot.session, "/chatter", given.clone()).unwrap().hash(), other.hash());
        let _same = node.create_dynamic_publisher("chatter", &given.clone().with_hash()).unwrap();
        assert_eq!(checked(&robot.session, "/chatter", given.clone()).unwrap().hash(), given.hash());
        let error = of_topic(&robot.session, "/chatter").unwrap_err().to_string();
        assert!(error.starts_with("topic `/chatter` has more than one version of std_msgs/msg/String"), "{error}");
        drop(talker);
    }

    #[test]
    fn an_unknown_type_is_told_with_the_nearest() {
        let error = message("std_msgs/msg/Strin").unwrap_err().to_string();
        assert!(error.contains("no type `std_msgs/msg/Strin` is known here; nearest: std_msgs/msg/String"), "{error}");
        let error = service("std_msgs/msg/String").unwrap_err().to_string();
        assert!(error.starts_with("no type `std_msgs/msg/String` is known here"), "{error}");
    }
}
