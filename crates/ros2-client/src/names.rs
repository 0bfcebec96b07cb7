//! Names of topics, services, nodes and types, and what is wrong with them.

use ros2_client::{MessageTypeName, Name, NodeName, ServiceTypeName};

/// A name that ROS 2 would not accept.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Not the name of a topic or a service.
    #[error(
        "`{name}` is no name of a topic or service ({reason}); use letters, digits and underscores between slashes, as in \
         `/camera/image`"
    )]
    Topic {
        /// The name.
        name: String,
        /// What the middleware says.
        reason: String,
    },
    /// Not the name of a node.
    #[error(
        "`{name}` is no name of a node ({reason}); use letters, digits and underscores, and a namespace such as `/robot`"
    )]
    Node {
        /// Namespace and name.
        name: String,
        /// What the middleware says.
        reason: String,
    },
    /// Not the name of a type.
    #[error("`{name}` is no name of a type; it should look like `{example}`")]
    Type {
        /// The name.
        name: String,
        /// One that would do.
        example: &'static str,
    },
}

/// The name of a topic or a service, as a node sees it: what does not begin with a slash is in the node's namespace, and what
/// begins with `~/` below the node.
///
/// The result is absolute: of relative names in the namespace `/`, the middleware would make wire names with two slashes, which
/// nobody else knows.
pub(crate) fn topic(name: &str, node: &NodeName) -> Result<Name, NameError> {
    let namespace = node.namespace().trim_end_matches('/');
    let absolute = match name.strip_prefix("~/") {
        Some(below) => format!("{namespace}/{}/{below}", node.base_name()),
        None if name.starts_with('/') => name.to_owned(),
        None => format!("{namespace}/{name}"),
    };
    Name::parse(&absolute).map_err(|error| NameError::Topic { name: name.to_owned(), reason: error.to_string() })
}

pub(crate) fn node(namespace: &str, name: &str) -> Result<NodeName, NameError> {
    NodeName::new(namespace, name)
        .map_err(|error| NameError::Node { name: format!("{namespace} {name}"), reason: error.to_string() })
}

pub(crate) fn message_type(name: &str) -> Result<MessageTypeName, NameError> {
    let (package, base) = split_type(name, "msg", "std_msgs/msg/String")?;
    Ok(MessageTypeName::new(package, base))
}

pub(crate) fn service_type(name: &str) -> Result<ServiceTypeName, NameError> {
    let (package, base) = split_type(name, "srv", "example_interfaces/srv/AddTwoInts")?;
    Ok(ServiceTypeName::new(package, base))
}

/// What the types of a service's requests and responses are called on the wire.
pub(crate) fn service_dds_types(name: &str) -> Result<(String, String), NameError> {
    let (package, base) = split_type(name, "srv", "example_interfaces/srv/AddTwoInts")?;
    let dds_type = |part: &str| format!("{package}::srv::dds_::{base}_{part}_");
    Ok((dds_type("Request"), dds_type("Response")))
}

/// Package and name of a type.
fn split_type<'a>(name: &'a str, kind: &str, example: &'static str) -> Result<(&'a str, &'a str), NameError> {
    let error = || NameError::Type { name: name.to_owned(), example };
    let mut parts = name.split('/');
    let (Some(package), Some(given), Some(base), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(error());
    };
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if given == kind && is_word(package) && is_word(base) { Ok((package, base)) } else { Err(error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_named_as_ros_names_them() {
        assert_eq!(message_type("std_msgs/msg/String").unwrap().dds_msg_type(), "std_msgs::msg::dds_::String_");
        let (request, response) = service_dds_types("example_interfaces/srv/AddTwoInts").unwrap();
        assert_eq!(request, "example_interfaces::srv::dds_::AddTwoInts_Request_");
        assert_eq!(response, "example_interfaces::srv::dds_::AddTwoInts_Response_");
    }

    #[test]
    fn topics_are_resolved_as_ros_resolves_them() {
        let cases = [
            ("/", "chatter", "rt/chatter"),
            ("/", "/chatter", "rt/chatter"),
            ("/", "~/chatter", "rt/talker/chatter"),
            ("/robot/arm", "chatter", "rt/robot/arm/chatter"),
            ("/robot/arm", "/chatter", "rt/chatter"),
            ("/robot/arm", "camera/image", "rt/robot/arm/camera/image"),
            ("/robot/arm", "~/state", "rt/robot/arm/talker/state"),
        ];
        for (namespace, name, expected) in cases {
            let node = node(namespace, "talker").unwrap();
            assert_eq!(topic(name, &node).unwrap().to_dds_name("rt", &node, ""), expected, "{namespace} {name}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused_with_an_example() {
        for name in
            ["", "String", "std_msgs/String", "std_msgs/srv/String", "std msgs/msg/String", "a/msg/b/c", "/msg/A"]
        {
            let error = message_type(name).unwrap_err();
            assert!(error.to_string().contains("std_msgs/msg/String"), "{name}: {error}");
        }
        for name in ["", "/", "a b", "1st", "a//b", "chatter/", "ü"] {
            assert!(topic(name, &node("/", "talker").unwrap()).is_err(), "{name}");
        }
        assert!(node("/", "talker").is_ok() && node("/robot/arm", "talker").is_ok());
        assert!(node("robot", "talker").is_err() && node("/", "").is_err() && node("/", "a/b").is_err());
    }
}
