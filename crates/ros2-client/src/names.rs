//! What topics, services and types are called on the wire.

use rospin_node::{FullName, TypeName};

/// A topic.
pub(crate) fn topic(name: &FullName) -> String {
    format!("rt{name}")
}

/// The requests of a service.
pub(crate) fn requests(service: &FullName) -> String {
    format!("rq{service}Request")
}

/// The responses of a service.
pub(crate) fn responses(service: &FullName) -> String {
    format!("rr{service}Reply")
}

/// A type, or with `part` the type of a service's requests or responses.
pub(crate) fn dds_type(name: &TypeName, part: &str) -> String {
    format!("{}::{}::dds_::{}{part}_", name.package, name.kind.as_str(), name.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_node::{NodeName, Service};

    enum AddTwoInts {}

    impl Service for AddTwoInts {
        type Request = ();
        type Response = ();
        const TYPE: &str = "example_interfaces/srv/AddTwoInts";
    }

    enum SendGoal {}

    impl Service for SendGoal {
        type Request = ();
        type Response = ();
        const TYPE: &str = "example_interfaces/action/Fibonacci";
        const TYPE_SUFFIX: &str = "_SendGoal";
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
