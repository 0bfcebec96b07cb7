//! The graph of other sessions: their liveliness tokens, whose keys describe a node or an endpoint.

use rospin_node::{Endpoint, EndpointKind, Gid, Graph};

use crate::names::gid_of;
use crate::profile;

/// Enters a token that came or went into the graph. Tokens of the session `own` are left out, because its nodes and
/// endpoints are in the graph already.
pub(crate) fn enter(graph: &Graph, own: &str, key: &str, came: bool) {
    let Some(token) = Token::parse(key).filter(|token| token.session != own) else { return };
    let id = key.as_bytes();
    match token.says {
        Says::Node(name) if came => graph.node_came(id, name),
        Says::Node(_) => graph.node_went(id),
        Says::Endpoint(endpoint) if came => graph.endpoint_came(id, endpoint),
        Says::Endpoint(_) => graph.endpoint_went(id),
    }
}

/// Token of the graph.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Token<'a> {
    /// Session of the node or endpoint.
    session: &'a str,
    pub(crate) says: Says,
}

/// Node or endpoint that a token describes.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Says {
    Node(String),
    Endpoint(Endpoint),
}

impl<'a> Token<'a> {
    /// Takes a key apart: `@ros2_lv`, domain, session, number of the node, number of the entity, kind, enclave,
    /// namespace, name; and for all kinds but nodes topic, type, hash of the type, quality of service. Returns `None`
    /// if the key is no token, or its kind is not known.
    pub(crate) fn parse(key: &'a str) -> Option<Self> {
        let parts: Vec<_> = key.split('/').collect();
        let (["@ros2_lv", _, session, _, _, kind, _, namespace, name], rest) = parts.split_first_chunk()? else {
            return None;
        };
        let node = format!("{}/{name}", slashes(namespace).trim_end_matches('/'));
        let kind = match *kind {
            "NN" => return Some(Self { session, says: Says::Node(node) }),
            "MP" => EndpointKind::Publisher,
            "MS" => EndpointKind::Subscription,
            "SS" => EndpointKind::Server,
            "SC" => EndpointKind::Client,
            _ => return None,
        };
        let [topic, dds_type, hash, qos, ..] = rest else { return None };
        let mut endpoint = Endpoint::new(kind, slashes(topic), ros_type_name(dds_type));
        endpoint.node = Some(node);
        let is_of_topic = matches!(kind, EndpointKind::Publisher | EndpointKind::Subscription);
        endpoint.gid = if is_of_topic { Some(Gid::new(gid_of(key))) } else { None };
        endpoint.type_hash = if hash.starts_with("RIHS") { Some((*hash).to_owned()) } else { None };
        profile::decode(qos, &mut endpoint);
        Some(Self { session, says: Says::Endpoint(endpoint) })
    }
}

/// Returns the name of a type in ROS, from that in DDS. Another name stays as it is, as in `rmw_zenoh_cpp`.
fn ros_type_name(dds_type: &str) -> String {
    match dds_type.strip_suffix('_').and_then(|stem| stem.split_once("dds_::")) {
        Some((package_and_kind, name)) => package_and_kind.replace("::", "/") + name,
        None => dds_type.to_owned(),
    }
}

/// Returns the name that a part of a key stands for: a part contains no slashes, and has `%` in their place.
fn slashes(part: &str) -> String {
    part.replace('%', "/")
}

#[cfg(test)]
mod tests {
    use rospin_node::{Durability, History, Liveliness, Reliability};

    use super::*;

    #[test]
    fn tokens_are_taken_apart() {
        let node = |key, name: &str| {
            assert_eq!(Token::parse(key), Some(Token { session: "aac3", says: Says::Node(name.to_owned()) }));
        };
        node("@ros2_lv/2/aac3/0/10/NN/%/%/talker", "/talker");
        node("@ros2_lv/2/aac3/0/10/NN/%/%robot%left/arm", "/robot/left/arm");
        let key = "@ros2_lv/2/aac3/0/10/MP/%/%robot/talker/%robot%chatter/std_msgs::msg::dds_::String_/RIHS01_df66/2:1:,7:,:,:,,";
        let Some(Token { says: Says::Endpoint(endpoint), .. }) = Token::parse(key) else { panic!("a publisher") };
        assert_eq!((endpoint.kind, endpoint.name.as_str()), (EndpointKind::Publisher, "/robot/chatter"));
        assert_eq!(
            (endpoint.type_name.as_str(), endpoint.node.as_deref()),
            ("std_msgs/msg/String", Some("/robot/talker"))
        );
        assert_eq!(endpoint.type_hash.as_deref(), Some("RIHS01_df66"));
        assert_eq!(endpoint.reliability, Some(Reliability::BestEffort));
        assert_eq!(endpoint.durability, Some(Durability::TransientLocal));
        assert_eq!(endpoint.history, Some(History::KeepLast(7)));
        assert_eq!((endpoint.deadline, endpoint.liveliness), (None, Some(Liveliness::Automatic)));
        let key =
            "@ros2_lv/2/aac3/0/10/SC/%/%/caller/%add/example_interfaces::srv::dds_::AddTwoInts_/hash/strange/and/more";
        let Some(Token { says: Says::Endpoint(endpoint), .. }) = Token::parse(key) else { panic!("a client") };
        assert_eq!(
            (endpoint.kind, endpoint.type_name.as_str()),
            (EndpointKind::Client, "example_interfaces/srv/AddTwoInts")
        );
        assert_eq!((endpoint.reliability, endpoint.history, endpoint.type_hash), (None, None, None));
    }

    #[test]
    fn other_keys_are_no_tokens() {
        for key in [
            "",
            "@ros2_lv",
            "@ros2_lv/2/aac3/0/10/NN/%/%",
            "other/2/aac3/0/10/NN/%/%/talker",
            "@ros2_lv/2/aac3/0/10/XX/%/%/talker",
            "@ros2_lv/2/aac3/0/10/MP/%/%/talker",
            "@ros2_lv/2/aac3/0/10/MP/%/%/talker/%chatter/type/hash",
        ] {
            assert_eq!(Token::parse(key), None, "{key}");
        }
    }
}
