//! An action server and its client in one process: Fibonacci numbers with feedback, as in ROS 2's demo.
//!
//! `cargo run -p rospin-node --example fibonacci [ORDER]`
//!
//! `serve` and `compute` do not depend on the middleware. With another one they can be two programs.

#![expect(clippy::print_stdout, reason = "it shows the numbers")]

use std::time::Duration;

use rospin_engine::{ClockKind, Context, ContextOptions, ExecutorHandle, Payload, SpinOptions};
use rospin_node::{
    Action, ActionClient, ActionError, ActionServer, CancelResponse, GoalHandle, GoalOutcome, GoalResponse, Node, Ros,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Goal {
    order: i32,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Sequence {
    sequence: Vec<i32>,
}

enum Fibonacci {}

impl Action for Fibonacci {
    type Goal = Goal;
    type Result = Sequence;
    type Feedback = Sequence;
    const TYPE: &str = "example_interfaces/action/Fibonacci";
    const SEND_GOAL_HASH: Option<&str> =
        Some("RIHS01_d1a57fb2a4afe8c21e34fb10db206f16ce6729b28531141472df92277c55b557");
    const GET_RESULT_HASH: Option<&str> =
        Some("RIHS01_1b0de0d5d29dc955d92f546706568428632771db13ec84c15ec1c1a59f424a57");
    const FEEDBACK_MESSAGE_HASH: Option<&str> =
        Some("RIHS01_c1de71afd52e49a89c53d8262366884185bc0a02f78ce051c4e46b0a7fe59bb2");
}

/// Creates a server that computes a number every `pace`.
fn serve(node: &Node, executor: &ExecutorHandle, pace: Duration) -> Result<ActionServer, ActionError> {
    let group = executor.create_group("fibonacci", ());
    let executor = executor.clone();
    node.on(&group).create_action_server(
        "fibonacci",
        // The 47th number does not fit into 32 bits.
        |(), _, goal: &Goal| match goal.order {
            0..=46 => GoalResponse::AcceptAndExecute,
            _ => GoalResponse::Reject,
        },
        |(), _, _| CancelResponse::Accept,
        move |_: Payload<()>, goal| execute(goal, executor.clone(), pace),
    )
}

async fn execute(goal: GoalHandle<Fibonacci>, executor: ExecutorHandle, pace: Duration) {
    let mut numbers = vec![0, 1];
    for n in 1..goal.goal().order.max(1) as usize {
        if goal.is_cancel_requested() {
            // This fails only if no client asked to cancel the goal.
            let _ = goal.canceled(Sequence { sequence: numbers });
            return;
        }
        numbers.push(numbers[n] + numbers[n - 1]);
        if let Err(error) = goal.publish_feedback(Sequence { sequence: numbers.clone() }) {
            println!("{error}");
        }
        if executor.sleep(ClockKind::Steady, pace).await.is_err() {
            // The executor was dropped. Dropping the goal aborts it.
            return;
        }
    }
    goal.succeed(Sequence { sequence: numbers });
}

/// Sends a goal, prints its feedback, and returns the numbers.
async fn compute(
    client: ActionClient<Fibonacci>,
    order: i32,
) -> Result<GoalOutcome<Sequence>, Box<dyn std::error::Error>> {
    client.wait_for_server().await;
    let goal = client.send_goal(Goal { order }).await?;
    if let Some(mut feedback) = goal.take_feedback() {
        while let Some(partial) = feedback.next().await {
            println!("feedback: {:?}", partial.sequence);
        }
    }
    Ok(goal.result().await?)
}

/// Runs server and client on one thread, and returns the numbers.
pub(crate) fn run(order: i32, pace: Duration) -> Result<Vec<i32>, Box<dyn std::error::Error>> {
    let context = Context::new(ContextOptions::new());
    let ros = Ros::in_process(&context);
    let _server = serve(&ros.create_node("fibonacci_action_server")?, &ros.executor().handle(), pace)?;
    let node = ros.create_node("fibonacci_action_client")?;
    let client = node.create_action_client("fibonacci")?;
    let outcome = ros.executor().spin_until(compute(client, order), SpinOptions::new())??;
    println!("{:?}: {:?}", outcome.state, outcome.result.sequence);
    Ok(outcome.result.sequence)
}

#[allow(dead_code, reason = "the test of this example calls `run`")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let order = std::env::args().nth(1).map_or(Ok(10), |order| order.parse())?;
    run(order, Duration::from_millis(500))?;
    Ok(())
}
