//! Has an action server compute Fibonacci numbers, and shows how it gets on, as the demo of that name of ROS 2 does.
//!
//! `cargo run -p rospin-ros2-client --example fibonacci_action_client [ORDER]`, and on any machine of the network
//! `ros2 run action_tutorials_cpp fibonacci_action_server`, or the example `fibonacci_action_server` here. With Cyclone DDS on
//! the other side, set `RMW_IMPLEMENTATION=rmw_cyclonedds_cpp` on this one, too.

#![expect(clippy::print_stdout, reason = "it shows the numbers")]

use std::time::Duration;

use futures::StreamExt;
use rospin::{Context, ContextOptions, ExecutorOptions, SpinError, SpinOptions};
use rospin_msgs::example_interfaces::action::{Fibonacci, FibonacciGoal};
use rospin_ros2_client::{ActionClient, Domain, DomainOptions};

/// Sends the goal and shows feedback and result.
async fn compute(client: ActionClient<Fibonacci>, order: i32) -> Result<(), Box<dyn std::error::Error>> {
    let goal = client.send_goal(FibonacciGoal { order }).await?;
    println!("Goal accepted by server, waiting for result");
    if let Some(mut feedback) = goal.take_feedback() {
        while let Some(partial) = feedback.next().await {
            println!("Next number in sequence received: {:?}", partial.sequence);
        }
    }
    let outcome = goal.result().await?;
    println!("{:?}: {:?}", outcome.state, outcome.result.sequence);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let order = std::env::args().nth(1).map_or(Ok(10), |order| order.parse())?;
    let context = Context::new(ContextOptions::from_env()?);
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let domain = Domain::join(&executor.handle(), DomainOptions::from_env()?)?;
    let node = domain.create_node("fibonacci_action_client")?;
    let client = node.create_action_client(&executor.handle(), "fibonacci")?;

    let a_second = SpinOptions::new().timeout(Duration::from_secs(1));
    while let Err(SpinError::Timeout) = executor.spin_until(client.wait_for_server(), a_second) {
        println!("action server not available, waiting again...");
    }
    executor.spin_until(compute(client, order), SpinOptions::new())?
}
