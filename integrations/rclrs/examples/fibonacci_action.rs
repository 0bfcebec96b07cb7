//! An action server and its client, after rclrs's Fibonacci example:
//! `fibonacci_action [--executor basic|rospin] [--order N]`.

mod common;

use futures::StreamExt;
use rclrs::*;
use ros_env::test_msgs::action::{Fibonacci, Fibonacci_Feedback, Fibonacci_Goal, Fibonacci_Result};

/// Calculates the sequence, with a feedback for each number.
async fn calculate(requested: RequestedGoal<Fibonacci>) -> TerminatedGoal {
    let order = requested.goal().order;
    common::say(format_args!("goal: {order}"));
    let executing = match requested.accept().begin() {
        BeginAcceptedGoal::Execute(executing) => executing,
        BeginAcceptedGoal::Cancel(cancelling) => {
            return cancelling.cancelled_with(Fibonacci_Result { sequence: Vec::new() });
        }
    };
    let mut sequence = Vec::new();
    for _ in 0..order {
        let next = match sequence[..] {
            [.., before, last] => before + last,
            [_] => 1,
            [] => 0,
        };
        sequence.push(next);
        executing.publish_feedback(Fibonacci_Feedback { sequence: sequence.clone() });
    }
    executing.succeeded_with(Fibonacci_Result { sequence })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = common::Arguments::parse()?;
    let mut executor = arguments.executor(&Context::default())?;
    let order = i32::try_from(arguments.number("order", 6))?;

    let node = executor.create_node("fibonacci")?;
    let _server = node.create_action_server::<Fibonacci, _>("fibonacci", calculate)?;
    let client = node.create_action_client::<Fibonacci>("fibonacci")?;
    let done = executor.commands().run(async move {
        if let Err(error) = client.notify_on_server_ready().await {
            common::say(format_args!("no action: {error}"));
            return;
        }
        let Some(goal) = client.request_goal(Fibonacci_Goal { order }).await else {
            common::say("the goal was rejected");
            return;
        };
        let mut stream = goal.stream();
        while let Some(event) = stream.next().await {
            match event {
                // Feedback that has not been read is given up when the result is there.
                GoalEvent::Feedback(_) | GoalEvent::Status(_) => {}
                GoalEvent::Result((status, result)) => {
                    common::say(format_args!("{status:?}: {:?}", result.sequence));
                    return;
                }
            }
        }
    });
    executor.spin(SpinOptions::new().until_promise_resolved(done)).first_error()?;
    Ok(())
}
