//! The names of topics, services and types on the wire.

use rospin_node::{EndpointKind, FullName, TypeName};

/// Side of a DDS topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// Ends that send.
    Writers,
    /// Ends that receive.
    Readers,
}

/// Returns the topic of DDS for a topic of ROS.
pub(crate) fn topic(name: &FullName) -> String {
    format!("rt{name}")
}

/// Returns the topic of DDS for a service's requests.
pub(crate) fn requests(service: &FullName) -> String {
    format!("rq{service}Request")
}

/// Returns the topic of DDS for a service's responses.
pub(crate) fn responses(service: &FullName) -> String {
    format!("rr{service}Reply")
}

/// Returns the name that a type has in DDS. `part` is empty for a message, and `_Request` or `_Response` for a part of
/// a service.
pub(crate) fn dds_type(name: &TypeName, part: &str) -> String {
    format!("{}::{}::dds_::{}{part}_", name.package, name.kind.as_str(), name.name)
}

/// Returns the kind of endpoint in ROS that a reader or writer stands for, and the name of its topic or service. A
/// server is recognized by the reader of its requests, and a client by the reader of its responses, because these are
/// what every implementation assigns to a node. Returns `None` for their writers, and for topics that are not of ROS.
pub(crate) fn of_topic(end: End, topic: &str) -> Option<(EndpointKind, &str)> {
    let (kind, name) = match (topic.split_at_checked(2)?, end) {
        (("rt", name), End::Writers) => (EndpointKind::Publisher, name),
        (("rt", name), End::Readers) => (EndpointKind::Subscription, name),
        (("rq", name), End::Readers) => (EndpointKind::Server, name.strip_suffix("Request")?),
        (("rr", name), End::Readers) => (EndpointKind::Client, name.strip_suffix("Reply")?),
        _ => return None,
    };
    if name.starts_with('/') { Some((kind, name)) } else { None }
}

/// Returns the name of a type in ROS, or its name in DDS if it is not of ROS.
pub(crate) fn of_type(kind: EndpointKind, dds_type: &str) -> String {
    let part = match kind {
        EndpointKind::Publisher | EndpointKind::Subscription => "_",
        EndpointKind::Server => "_Request_",
        EndpointKind::Client => "_Response_",
    };
    let parts: Vec<_> = dds_type.split("::").collect();
    match parts[..] {
        [package, group, "dds_", name] => {
            name.strip_suffix(part).map_or_else(|| dds_type.to_owned(), |name| format!("{package}/{group}/{name}"))
        }
        _ => dds_type.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_node::{NodeName, ServiceInterface, ServicePart};

    enum AddTwoInts {}

    impl ServiceInterface for AddTwoInts {
        type Request = ();
        type Response = ();
        const TYPE: &str = "example_interfaces/srv/AddTwoInts";
    }

    impl ServicePart<AddTwoInts> for () {}

    enum SendGoal {}

    impl ServiceInterface for SendGoal {
        type Request = ();
        type Response = ();
        const TYPE: &str = "example_interfaces/action/Fibonacci";
        const TYPE_SUFFIX: &str = "_SendGoal";
    }

    impl ServicePart<SendGoal> for () {}

    #[test]
    fn names_are_read_as_they_were_written() {
        let name = NodeName::new("/robot", "adder").unwrap().resolve("add_two_ints").unwrap();
        let service = TypeName::of_service::<AddTwoInts>().unwrap();
        let cases = [
            (End::Writers, topic(&name), "", EndpointKind::Publisher),
            (End::Readers, topic(&name), "", EndpointKind::Subscription),
            (End::Readers, requests(&name), "_Request", EndpointKind::Server),
            (End::Readers, responses(&name), "_Response", EndpointKind::Client),
        ];
        for (end, topic, part, kind) in cases {
            assert_eq!(of_topic(end, &topic), Some((kind, "/robot/add_two_ints")));
            assert_eq!(of_type(kind, &dds_type(&service, part)), "example_interfaces/srv/AddTwoInts");
        }
    }

    #[test]
    fn names_that_are_not_of_ros_are_left_alone() {
        let others =
            ["", "r", "rt", "ro", "ros_discovery_info", "rtx", "DCPSTopic", "rq/addRequest", "rr/addReply", "é/x"];
        for topic in others {
            assert_eq!(of_topic(End::Writers, topic), None, "{topic}");
        }
        assert_eq!(of_topic(End::Readers, "rq/add"), None);
        for dds_type in ["", "::", "Shape", "a::msg::dds_::Name", "a::b::c::d_", "é"] {
            assert_eq!(of_type(EndpointKind::Publisher, dds_type), dds_type);
        }
    }

    #[test]
    fn names_are_those_of_other_middlewares_of_ros() {
        let name = NodeName::new("/robot", "adder").unwrap().resolve("add_two_ints").unwrap();
        assert_eq!(topic(&name), "rt/robot/add_two_ints");
        assert_eq!(requests(&name), "rq/robot/add_two_intsRequest");
        assert_eq!(responses(&name), "rr/robot/add_two_intsReply");
        let service = TypeName::of_service::<AddTwoInts>().unwrap();
        assert_eq!(dds_type(&service, "_Request"), "example_interfaces::srv::dds_::AddTwoInts_Request_");
        let part = TypeName::of_service::<SendGoal>().unwrap();
        assert_eq!(dds_type(&part, "_Response"), "example_interfaces::action::dds_::Fibonacci_SendGoal_Response_");
    }
}
