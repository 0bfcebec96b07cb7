//! Computes Fibonacci numbers, a number every half second, as the demo of that name of ROS 2 does.
//!
//! `cargo run -p rospin-ros2-client --example fibonacci_action_server`, and on any machine of the network
//! `ros2 action send_goal --feedback fibonacci example_interfaces/action/Fibonacci "{order: 10}"`, or the example
//! `fibonacci_action_client` here. With Cyclone DDS on the other side, set `RMW_IMPLEMENTATION=rmw_cyclonedds_cpp` on this one,
//! too.

#![expect(clippy::print_stdout, reason = "it shows what it does")]

use std::time::Duration;

use rospin::{ClockKind, Context, ContextOptions, ExecutorHandle, ExecutorOptions, Payload, SpinOptions};
use rospin_msgs::example_interfaces::action::{Fibonacci, FibonacciFeedback, FibonacciGoal, FibonacciResult};
use rospin_ros2_client::{CancelResponse, Domain, DomainOptions, GoalHandle, GoalResponse};

async fn execute(goal: GoalHandle<Fibonacci>, executor: ExecutorHandle) {
    let mut numbers = vec![0, 1];
    for n in 1..goal.goal().order.max(1) as usize {
        if goal.is_cancel_requested() {
            println!("Goal canceled");
            // Somebody asked, so it cannot fail.
            let _ = goal.canceled(FibonacciResult { sequence: numbers });
            return;
        }
        numbers.push(numbers[n] + numbers[n - 1]);
        println!("Publishing feedback: {numbers:?}");
        if let Err(error) = goal.publish_feedback(FibonacciFeedback { sequence: numbers.clone() }) {
            println!("{error}");
        }
        if executor.sleep(ClockKind::Steady, Duration::from_millis(500)).await.is_err() {
            // The executor ends; dropped, the goal is aborted.
            return;
        }
    }
    goal.succeed(FibonacciResult { sequence: numbers });
    println!("Goal succeeded");
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new(ContextOptions::from_env()?);
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let domain = Domain::join(&executor.handle(), DomainOptions::from_env()?)?;
    let node = domain.create_node("fibonacci_action_server")?;

    let group = executor.create_group("fibonacci", ());
    let handle = executor.handle();
    let _server = node.create_action_server(
        &group,
        "fibonacci",
        |(), _, goal: &FibonacciGoal| {
            println!("Received goal request with order {}", goal.order);
            // The 47th number does not fit.
            if (0..=46).contains(&goal.order) { GoalResponse::AcceptAndExecute } else { GoalResponse::Reject }
        },
        |(), _, _| CancelResponse::Accept,
        move |_: Payload<()>, goal| execute(goal, handle.clone()),
    )?;
    executor.spin(SpinOptions::new())?;
    Ok(())
}
