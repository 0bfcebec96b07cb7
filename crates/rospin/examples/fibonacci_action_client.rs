//! Sends a goal to an action server that computes Fibonacci numbers, and prints its feedback and result, as ROS 2's
//! demo does: `cargo run -p rospin --features dds --example fibonacci_action_client [ORDER]`.

#![expect(clippy::print_stdout, reason = "it shows the numbers")]

use rospin::msgs::example_interfaces::action::{Fibonacci, FibonacciGoal};
use rospin::prelude::*;

/// Sends the goal, and prints feedback and result.
async fn compute(client: ActionClient<Fibonacci>, order: i32) -> rospin::Result<()> {
    client.wait_for_server().await;
    let goal = client.send_goal(FibonacciGoal { order }).await?;
    if let Some(mut feedback) = goal.take_feedback() {
        while let Some(partial) = feedback.next().await {
            println!("Next number in sequence received: {:?}", partial.sequence);
        }
    }
    let outcome = goal.result().await?;
    println!("{:?}: {:?}", outcome.state, outcome.result.sequence);
    Ok(())
}

fn main() -> rospin::Result<()> {
    let order = std::env::args().nth(1).map_or(Ok(10), |order| order.parse())?;
    let ros = rospin::init()?;
    let node = ros.create_node("fibonacci_action_client")?;
    let client = node.create_action_client("fibonacci")?;
    ros.spin_until(compute(client, order))?
}
