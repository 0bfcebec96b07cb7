//! A service's callback returns a number in place of the response.

use rospin::msgs::example_interfaces::srv::AddTwoIntsRequest;
use rospin::errors::ServiceError;
use rospin::{Node, Service};

pub fn serve(node: &Node) -> Result<Service, ServiceError> {
    node.create_service("add_two_ints", |request: AddTwoIntsRequest| request.a + request.b)
}
