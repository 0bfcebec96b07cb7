//! Adds two integers for whoever asks, as the demo of that name of ROS 2 does.
//!
//! `cargo run --manifest-path crates/hiroz/Cargo.toml --example add_two_ints_server`, and `ros2 run demo_nodes_cpp
//! add_two_ints_client` with `RMW_IMPLEMENTATION=rmw_zenoh_cpp`, or the example `add_two_ints_client` here.
//!
//! Nodes on Zenoh meet through its router, `ros2 run rmw_zenoh_cpp rmw_zenohd`; or, without one, by multicast, if all of them
//! have `ZENOH_CONFIG_OVERRIDE="scouting/multicast/enabled=true"`.

#![expect(clippy::print_stdout, reason = "it shows what it adds")]

use rospin::{Context, ContextOptions, ExecutorOptions, GroupOptions, SpinOptions};
use rospin_hiroz::{Session, SessionOptions};
use rospin_msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new(ContextOptions::from_env()?);
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let options = SessionOptions::from_env()?;
    let session = context.start_threads("zenoh", || Session::open(options))?;
    let node = session.create_node("add_two_ints_server")?;

    let group = executor.create_group(GroupOptions::new("server").node(node.fully_qualified_name()), ());
    let _server =
        node.create_service::<AddTwoInts, _, _>(&group, "add_two_ints", |(), AddTwoIntsRequest { a, b }| {
            println!("Incoming request\na: {a} b: {b}");
            AddTwoIntsResponse { sum: a.wrapping_add(b) }
        })?;
    executor.spin(SpinOptions::new())?;
    Ok(())
}
