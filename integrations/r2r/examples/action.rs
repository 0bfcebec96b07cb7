//! An action server and its client, after R2R's Fibonacci examples: `action [--executor r2r|rospin] [--order N]`.

mod common;

use std::time::Duration;

use futures::StreamExt;
use futures::future::{Either, select};
use r2r::test_msgs::action::Fibonacci;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = common::Arguments::parse()?;
    let order = i32::try_from(arguments.number("order", 6))?;
    common::run!(arguments, "fibonacci", |node, spawner, _urgent| {
        let mut requests = node.create_action_server::<Fibonacci::Action>("/rospin_r2r/fibonacci")?;
        let client = node.create_action_client::<Fibonacci::Action>("/rospin_r2r/fibonacci")?;
        let is_there = r2r::Node::is_available(&client)?;
        let mut timer = node.create_wall_timer(Duration::from_millis(5))?;

        spawner.spawn(async move {
            while let Some(request) = requests.next().await {
                common::say(format_args!("goal: {}", request.goal.order));
                let order = usize::try_from(request.goal.order).unwrap_or(0);
                let (mut goal, mut cancel) = request.accept().expect("the goal is accepted");
                let feedback = goal.clone();
                let ticks = &mut timer;
                let calculated = Box::pin(async move {
                    let mut sequence = vec![0, 1];
                    while sequence.len() < order {
                        ticks.tick().await.expect("a tick");
                        sequence.push(sequence[sequence.len() - 1] + sequence[sequence.len() - 2]);
                        feedback
                            .publish_feedback(Fibonacci::Feedback { sequence: sequence.clone() })
                            .expect("feedback");
                    }
                    sequence
                });
                match select(calculated, cancel.next()).await {
                    Either::Left((sequence, _)) => {
                        goal.succeed(Fibonacci::Result { sequence }).expect("the result is sent")
                    }
                    Either::Right((cancel, _)) => cancel.expect("a request to cancel").accept(),
                }
            }
        });
        async move {
            is_there.await.expect("the action");
            let sent = client.send_goal_request(Fibonacci::Goal { order }).expect("a request");
            let (_goal, result, mut feedback) = sent.await.expect("the goal is accepted");
            let first = feedback.next().await.expect("feedback");
            common::say(format_args!("first feedback: {:?}", first.sequence));
            let (status, result) = result.await.expect("a result");
            common::say(format_args!("{status}: {:?}", result.sequence));
        }
    });
    Ok(())
}
