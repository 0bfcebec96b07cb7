//! Has an action server compute Fibonacci numbers, and shows how it gets on, as the demo of that name of ROS 2 does.
//!
//! `cargo run --manifest-path crates/hiroz/Cargo.toml --example fibonacci_action_client [ORDER]`, and `ros2 run
//! action_tutorials_cpp fibonacci_action_server` with `RMW_IMPLEMENTATION=rmw_zenoh_cpp`, or the example
//! `fibonacci_action_server` here.
//!
//! Nodes on Zenoh meet through its router, `ros2 run rmw_zenoh_cpp rmw_zenohd`; or, without one, by multicast, if all of them
//! have `ZENOH_CONFIG_OVERRIDE="scouting/multicast/enabled=true"`.

#![expect(clippy::print_stdout, reason = "it shows the numbers")]

use std::time::Duration;

use futures::StreamExt;
use rospin::{Context, ContextOptions, ExecutorOptions, SpinError, SpinOptions};
use rospin_hiroz::{ActionClient, Session, SessionOptions};
use rospin_msgs::example_interfaces::action::{Fibonacci, FibonacciGoal};

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
    let options = SessionOptions::from_env()?;
    let session = context.start_threads("zenoh", || Session::open(options))?;
    let node = session.create_node("fibonacci_action_client")?;
    let client = node.create_action_client(&executor.handle(), "fibonacci")?;

    let a_second = SpinOptions::new().timeout(Duration::from_secs(1));
    while let Err(SpinError::Timeout) = executor.spin_until(client.wait_for_server(), a_second) {
        println!("action server not available, waiting again...");
    }
    executor.spin_until(compute(client, order), SpinOptions::new())?
}
