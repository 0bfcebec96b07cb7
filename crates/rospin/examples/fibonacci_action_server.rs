//! Computes Fibonacci numbers, one every half second, as ROS 2's demo of that name does:
//! `cargo run -p rospin --features dds --example fibonacci_action_server`.

#![expect(clippy::print_stdout, reason = "it shows what it does")]

use rospin::ExecutorHandle;
use rospin::msgs::example_interfaces::action::{Fibonacci, FibonacciFeedback, FibonacciGoal, FibonacciResult};
use rospin::prelude::*;
use rospin::time::ClockKind;

/// Executes a goal. An error aborts it.
async fn compute(executor: ExecutorHandle, goal: GoalHandle<Fibonacci>) -> rospin::Result<()> {
    let mut sequence = vec![0, 1];
    for n in 1..goal.goal().order.max(1) as usize {
        if goal.is_cancel_requested() {
            return Ok(goal.canceled(FibonacciResult { sequence })?);
        }
        sequence.push(sequence[n] + sequence[n - 1]);
        println!("Publishing feedback: {sequence:?}");
        goal.publish_feedback(FibonacciFeedback { sequence: sequence.clone() })?;
        executor.sleep(ClockKind::Steady, Duration::from_millis(500)).await?;
    }
    goal.succeed(FibonacciResult { sequence });
    Ok(())
}

fn main() -> rospin::Result<()> {
    let ros = rospin::init()?;
    let node = ros.create_node("fibonacci_action_server")?;
    let executor = ros.executor().handle();
    let _server = node.create_action_server(
        "fibonacci",
        // The 47th number does not fit into 32 bits.
        |_, goal: &FibonacciGoal| {
            if (0..=46).contains(&goal.order) { GoalResponse::AcceptAndExecute } else { GoalResponse::Reject }
        },
        |_, _| CancelResponse::Accept,
        move |goal| compute(executor.clone(), goal),
    )?;
    Ok(ros.spin()?)
}
