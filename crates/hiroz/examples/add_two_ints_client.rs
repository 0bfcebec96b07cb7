//! Asks for the sum of two integers, as the demo of that name of ROS 2 does.
//!
//! `cargo run --manifest-path crates/hiroz/Cargo.toml --example add_two_ints_client [A B]`, and `ros2 run demo_nodes_cpp
//! add_two_ints_server` with `RMW_IMPLEMENTATION=rmw_zenoh_cpp`, or the example `add_two_ints_server` here.
//!
//! Nodes on Zenoh meet through its router, `ros2 run rmw_zenoh_cpp rmw_zenohd`; or, without one, by multicast, if all of them
//! have `ZENOH_CONFIG_OVERRIDE="scouting/multicast/enabled=true"`.

#![expect(clippy::print_stdout, reason = "it shows the sum")]

use std::time::Duration;

use rospin::{Context, ContextOptions, ExecutorOptions, SpinError, SpinOptions};
use rospin_hiroz::{Session, SessionOptions};
use rospin_msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |default| arguments.next().map_or(Ok(default), |text| text.parse::<i64>());
    let request = AddTwoIntsRequest { a: argument(2)?, b: argument(3)? };

    let context = Context::new(ContextOptions::from_env()?);
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let options = SessionOptions::from_env()?;
    let session = context.start_threads("zenoh", || Session::open(options))?;
    let node = session.create_node("add_two_ints_client")?;
    let client = node.create_client::<AddTwoInts>(&executor.handle(), "add_two_ints")?;

    let a_second = SpinOptions::new().timeout(Duration::from_secs(1));
    while let Err(SpinError::Timeout) = executor.spin_until(client.wait_for_service(), a_second) {
        println!("service not available, waiting again...");
    }
    let response = executor.spin_until(client.call(request), SpinOptions::new())??;
    println!("Result of add_two_ints: {}", response.sum);
    Ok(())
}
