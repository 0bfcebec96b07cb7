//! Adds two integers, as `ros2 run demo_nodes_cpp add_two_ints_server` does:
//! `cargo run -p rospin --features dds --example add_two_ints_server`.

use rospin::msgs::example_interfaces::srv::{AddTwoIntsRequest, AddTwoIntsResponse};

fn main() -> rospin::Result<()> {
    let ros = rospin::init()?;
    let node = ros.create_node("add_two_ints_server")?;
    let _server = node.create_service("add_two_ints", |request: AddTwoIntsRequest| AddTwoIntsResponse {
        sum: request.a + request.b,
    })?;
    Ok(ros.spin()?)
}
