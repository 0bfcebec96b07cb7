//! A service's callback returns a number in place of the response.

use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest};
use rospin::{Node, Server, ServiceError};

pub fn serve(node: &Node) -> Result<Server, ServiceError> {
    node.create_service::<AddTwoInts, _, _>("add_two_ints", |request: AddTwoIntsRequest| request.a + request.b)
}
