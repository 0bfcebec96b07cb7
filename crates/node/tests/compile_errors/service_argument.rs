//! A service's callback takes a request of another service.

use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsResponse, SetBoolRequest};
use rospin::{Node, Server, ServiceError};

pub fn serve(node: &Node) -> Result<Server, ServiceError> {
    node.create_service::<AddTwoInts, _, _>("add_two_ints", |_: SetBoolRequest| AddTwoIntsResponse { sum: 0 })
}
