//! Actions over the network. Their behaviour is tested without one; here their parts find each other.

use std::time::Duration;

use futures::StreamExt;
use rospin_dds::{ActionServer, CancelResponse, GoalHandle, GoalResponse, GoalState, Node, SendGoalError};
use rospin_engine::{ClockKind, Executor, Payload};

use crate::common::{Fibonacci, FibonacciGoal, Sequence, context, domain_id, executor, join, wait};

/// Counts up to the order; one of 1000 waits until it is canceled, and negative ones are rejected.
fn count(executor: &Executor, node: &Node) -> ActionServer {
    let group = executor.create_group("counter", ());
    let handle = executor.handle();
    let execute = move |_: Payload<()>, goal: GoalHandle<Fibonacci>| {
        let handle = handle.clone();
        async move {
            let order = goal.goal().order;
            let mut sequence = Vec::new();
            for n in 0..order {
                sequence.push(n);
                goal.publish_feedback(Sequence { sequence: sequence.clone() }).unwrap();
                handle.sleep(ClockKind::Steady, Duration::from_millis(1)).await.unwrap();
                if order == 1000 {
                    goal.cancel_requested().await;
                    goal.canceled(Sequence { sequence }).unwrap();
                    return;
                }
            }
            goal.succeed(Sequence { sequence });
        }
    };
    let accept = |(): &mut (), _, goal: &FibonacciGoal| match goal.order {
        0.. => GoalResponse::AcceptAndExecute,
        _ => GoalResponse::Reject,
    };
    node.on(&group).create_action_server("count", accept, |(), _, _| CancelResponse::Accept, execute).unwrap()
}

#[test]
fn a_goal_is_executed_with_feedback_canceled_and_rejected() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let domain = join(domain_id());
    let _server = count(&executor, &domain.ros(&context).create_node("server").unwrap());
    let node = domain.ros(&context).create_node("client").unwrap();
    let client = node.on(&executor.create_group("client", ())).create_action_client::<Fibonacci>("count").unwrap();
    wait(&executor, "the server is there", client.wait_for_server());

    let heard = wait(&executor, "the goal is reached", async {
        let goal = client.send_goal(FibonacciGoal { order: 5 }).await.unwrap();
        let feedback = goal.take_feedback().unwrap().map(|feedback| feedback.sequence.len()).collect::<Vec<_>>().await;
        let outcome = goal.result().await.unwrap();
        assert_eq!((outcome.state, outcome.result.sequence), (GoalState::Succeeded, vec![0, 1, 2, 3, 4]));
        feedback
    });
    assert_eq!(heard, [1, 2, 3, 4, 5]);

    wait(&executor, "the goal is canceled", async {
        let goal = client.send_goal(FibonacciGoal { order: 1000 }).await.unwrap();
        let first = goal.take_feedback().unwrap().next().await;
        assert_eq!(first, Some(Sequence { sequence: vec![0] }));
        goal.cancel().await.unwrap();
        let outcome = goal.result().await.unwrap();
        assert_eq!((outcome.state, outcome.result.sequence), (GoalState::Canceled, vec![0]));
    });

    let rejected = wait(&executor, "the goal is rejected", client.send_goal(FibonacciGoal { order: -1 }));
    assert!(matches!(rejected, Err(SendGoalError::Rejected { .. })));
}
