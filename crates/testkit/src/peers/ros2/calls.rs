//! Services and actions between nodes of ROS 2 and ours.

use std::time::Duration;

use rospin_engine::{ClockKind, ExecutorHandle, Payload, SpinOptions};
use rospin_node::{CancelResponse, GoalHandle, GoalResponse, GoalState};

use super::super::{context, executor, wait, wait_until};
use super::Network;
use crate::conformance::messages::{AddTwoInts, Fibonacci, FibonacciGoal, Sequence, Summands};

/// Order of a goal that is executed until it is canceled.
const ENDLESS: i32 = 40;

/// Services are called both ways, also a server that was killed and started again.
///
/// # Panics
/// If a call is not answered.
pub fn services_are_called_both_ways(network: impl Fn() -> Network) {
    let there = network();
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = there.node(&context);
    let client = node.create_client::<AddTwoInts>("add_two_ints").expect("a client");
    for n in 0..2 {
        let _server = there.demo("add_two_ints_server");
        wait(&executor, "the server is ready", client.wait_for_service());
        let response = wait(&executor, "the answer", client.call(Summands { a: n, b: 40 })).expect("an answer");
        assert_eq!(response.sum, n + 40);
        // The server is killed when its value is dropped.
        drop(_server);
        wait_until(&executor, "the server is missed", || !client.service_is_ready());
    }

    let here = network();
    let node = here.node(&context);
    let group = executor.create_group("adder", ());
    let _server = node.on(&group).create_service::<AddTwoInts, _>("add_two_ints", Summands::add).expect("a server");
    let mut client = here.demo("add_two_ints_client");
    wait_until(&executor, "the client has its answer", || client.has_ended());
}

/// Executes a goal: computes the Fibonacci numbers, one every 100 ms with feedback, until the goal is reached or
/// canceled.
async fn compute(executor: ExecutorHandle, goal: GoalHandle<Fibonacci>) {
    let mut sequence = vec![0, 1];
    for n in 1..goal.goal().order.max(1) as usize {
        if goal.is_cancel_requested() {
            goal.canceled(Sequence { sequence }).expect("it was asked for");
            return;
        }
        sequence.push(sequence[n] + sequence[n - 1]);
        goal.publish_feedback(Sequence { sequence: sequence.clone() }).expect("room");
        executor.sleep(ClockKind::Steady, Duration::from_millis(100)).await.expect("the executor spins");
    }
    goal.succeed(Sequence { sequence });
}

/// A client of ROS 2 has its goals executed, canceled and rejected by a server of ours.
///
/// # Panics
/// If a goal ends in another way, or not in time.
pub fn their_goals_are_reached(network: &Network) {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = network.node(&context);
    let handle = executor.handle();
    let server = node.on(&executor.create_group("server", ())).create_action_server(
        "fibonacci",
        |(): &mut (), _, goal: &FibonacciGoal| {
            if goal.order < 0 { GoalResponse::Reject } else { GoalResponse::AcceptAndExecute }
        },
        |(), _, _| CancelResponse::Accept,
        move |_: Payload<()>, goal| compute(handle.clone(), goal),
    );
    let _server = server.expect("a server");
    let mut client = network.script("ros2_action.py", &["ask"]);
    wait_until(&executor, "the client has all results", || client.has_ended());
}

/// A server of ROS 2 executes, cancels and rejects goals of a client of ours.
///
/// # Panics
/// If a goal ends in another way, or not in time.
pub fn our_goals_are_reached(network: &Network) {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = network.node(&context);
    let group = executor.create_group("client", ());
    let client = node.on(&group).create_action_client::<Fibonacci>("fibonacci").expect("a client");
    let _server = network.script("ros2_action.py", &["serve"]);
    wait(&executor, "the server is there", client.wait_for_server());
    let goal = wait(&executor, "the goal is accepted", client.send_goal(FibonacciGoal { order: 6 })).expect("a goal");
    let outcome = wait(&executor, "the goal is reached", goal.result()).expect("a result");
    assert_eq!((outcome.state, outcome.result.sequence), (GoalState::Succeeded, vec![0, 1, 1, 2, 3, 5, 8]));

    let goal =
        wait(&executor, "the goal is accepted", client.send_goal(FibonacciGoal { order: ENDLESS })).expect("a goal");
    let mut feedback = goal.take_feedback().expect("feedback");
    let partial = wait(&executor, "the feedback comes", feedback.next()).expect("feedback");
    assert!(partial.sequence.starts_with(&[0, 1, 1]), "{partial:?}");
    wait(&executor, "the goal is canceled", goal.cancel()).expect("an answer");
    let outcome = wait(&executor, "the goal has ended", goal.result()).expect("a result");
    assert_eq!(outcome.state, GoalState::Canceled);
    assert!(
        executor
            .spin_until(client.send_goal(FibonacciGoal { order: -1 }), SpinOptions::new())
            .expect("a spin")
            .is_err()
    );
}
