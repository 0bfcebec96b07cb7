//! Asks for the sum of two integers, as the demo of that name of ROS 2 does.
//!
//! `cargo run -p rospin-ros2-client --example add_two_ints_client [A B]`, and on any machine of the network
//! `ros2 run demo_nodes_cpp add_two_ints_server`, or the example `add_two_ints_server` here. With Cyclone DDS on the other
//! side, set `RMW_IMPLEMENTATION=rmw_cyclonedds_cpp` on this one, too.

#![expect(clippy::print_stdout, reason = "it shows the sum")]

use std::time::Duration;

use rospin::{Context, ContextOptions, ExecutorOptions, SpinError, SpinOptions};
use rospin_msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest};
use rospin_ros2_client::{Domain, DomainOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |default| arguments.next().map_or(Ok(default), |text| text.parse::<i64>());
    let request = AddTwoIntsRequest { a: argument(2)?, b: argument(3)? };

    let context = Context::new(ContextOptions::from_env()?);
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let domain = Domain::join(&executor.handle(), DomainOptions::from_env()?)?;
    let node = domain.create_node("add_two_ints_client")?;
    let client = node.create_client::<AddTwoInts>(&executor.handle(), "add_two_ints")?;

    let a_second = SpinOptions::new().timeout(Duration::from_secs(1));
    while let Err(SpinError::Timeout) = executor.spin_until(client.wait_for_service(), a_second) {
        println!("service not available, waiting again...");
    }
    loop {
        match executor.spin_until(client.call(request), a_second) {
            // The server may have met this client a moment too late.
            Err(SpinError::Timeout) => println!("no response, asking again..."),
            response => {
                println!("Result of add_two_ints: {}", response??.sum);
                return Ok(());
            }
        }
    }
}
