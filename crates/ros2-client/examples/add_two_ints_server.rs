//! Adds two integers for whoever asks, as the demo of that name of ROS 2 does.
//!
//! `cargo run -p rospin-ros2-client --example add_two_ints_server`, and on any machine of the network
//! `ros2 run demo_nodes_cpp add_two_ints_client`, or the example `add_two_ints_client` here. With Cyclone DDS on the other
//! side, set `RMW_IMPLEMENTATION=rmw_cyclonedds_cpp` on this one, too.

#![expect(clippy::print_stdout, reason = "it shows what it adds")]

use rospin::{Context, ContextOptions, ExecutorOptions, GroupOptions, SpinOptions};
use rospin_msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
use rospin_ros2_client::{Domain, DomainOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new(ContextOptions::from_env()?);
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let domain = Domain::join(&executor.handle(), DomainOptions::from_env()?)?;
    let node = domain.create_node("add_two_ints_server")?;

    let group = executor.create_group(GroupOptions::new("server").node(node.fully_qualified_name()), ());
    let _server =
        node.create_service::<AddTwoInts, _, _>(&group, "add_two_ints", |(), AddTwoIntsRequest { a, b }| {
            println!("Incoming request\na: {a} b: {b}");
            AddTwoIntsResponse { sum: a.wrapping_add(b) }
        })?;
    executor.spin(SpinOptions::new())?;
    Ok(())
}
