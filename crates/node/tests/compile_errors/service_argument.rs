//! A service's callback takes a request of another service.

use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsResponse, SetBoolRequest};
use rospin::errors::ServiceError;
use rospin::{Node, Service};

pub fn serve(node: &Node) -> Result<Service, ServiceError> {
    node.create_service::<AddTwoInts, _>("add_two_ints", |_: SetBoolRequest| AddTwoIntsResponse { sum: 0 })
}
