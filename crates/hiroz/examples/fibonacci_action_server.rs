//! Computes Fibonacci numbers, a number every half second, as the demo of that name of ROS 2 does.
//!
//! `cargo run --manifest-path crates/hiroz/Cargo.toml --example fibonacci_action_server`, and `ros2 action send_goal --feedback
//! fibonacci example_interfaces/action/Fibonacci "{order: 10}"` with `RMW_IMPLEMENTATION=rmw_zenoh_cpp`, or the example
//! `fibonacci_action_client` here.
//!
//! Nodes on Zenoh meet through its router, `ros2 run rmw_zenoh_cpp rmw_zenohd`; or, without one, by multicast, if all of them
//! have `ZENOH_CONFIG_OVERRIDE="scouting/multicast/enabled=true"`.

#![expect(clippy::print_stdout, reason = "it shows what it does")]

use std::time::Duration;

use rospin::{ClockKind, Context, ContextOptions, ExecutorHandle, ExecutorOptions, Payload, SpinOptions};
use rospin_hiroz::{CancelResponse, GoalHandle, GoalResponse, Session, SessionOptions};
use rospin_msgs::example_interfaces::action::{Fibonacci, FibonacciFeedback, FibonacciGoal, FibonacciResult};

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
    let options = SessionOptions::from_env()?;
    let session = context.start_threads("zenoh", || Session::open(options))?;
    let node = session.create_node("fibonacci_action_server")?;

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
