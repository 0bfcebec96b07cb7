//! Canceling.

use std::time::Duration;

use futures::FutureExt;
use rospin_node::interfaces::builtin_interfaces::Time;
use rospin_node::{CancelError, GoalState};

use super::set_up::{Kind, STUBBORN, World, on_both_kinds, seq, watchdog};

fn action() -> String {
    "fibonacci".to_owned()
}

#[test]
fn a_goal_is_canceled_when_its_execution_agrees_too() {
    on_both_kinds(|world| {
        let (goal, handle) = world.begin(5);
        let mut requested = Box::pin(handle.cancel_requested());
        assert!(!handle.is_cancel_requested() && world.poll(&mut requested).is_none());
        assert_eq!(world.wait(goal.cancel()), Ok(()));
        assert!(handle.is_cancel_requested() && world.poll(&mut requested).is_some());
        assert_eq!(goal.state(), GoalState::Canceling);
        assert_eq!(world.wait(goal.cancel()), Ok(()), "it is canceling");
        assert_eq!(world.asked.take(), [("goal", 5), ("cancel", 5)], "once is enough");
        handle.canceled(seq([0])).unwrap();
        let outcome = world.wait(goal.result()).unwrap();
        assert_eq!((outcome.state, outcome.result), (GoalState::Canceled, seq([0])));
    });
}

#[test]
fn a_canceling_goal_may_still_be_reached_or_given_up() {
    on_both_kinds(|world| {
        let ((one, reached), (other, given_up)) = (world.begin(1), world.begin(2));
        assert_eq!(world.wait(world.client.cancel_all()).unwrap(), [one.id(), other.id()]);
        reached.succeed(seq([1]));
        given_up.abort(seq([2]));
        let states = [one, other].map(|goal| world.wait(goal.result()).unwrap().state);
        assert_eq!(states, [GoalState::Succeeded, GoalState::Aborted]);
    });
}

#[test]
fn the_server_may_refuse() {
    on_both_kinds(|world| {
        let (goal, handle) = world.begin(STUBBORN);
        assert_eq!(world.wait(goal.cancel()), Err(CancelError::Rejected { action: action() }));
        assert_eq!(world.wait(world.client.cancel_all()), Err(CancelError::Rejected { action: action() }));
        assert!(!handle.is_cancel_requested());
        let (other, _canceling) = world.begin(1);
        assert_eq!(world.wait(world.client.cancel_all()).unwrap(), [other.id()], "the one that it agreed to");
        assert_eq!(goal.state(), GoalState::Executing);
    });
}

#[test]
fn a_goal_that_has_ended_cannot_be_canceled() {
    on_both_kinds(|world| {
        let (goal, handle) = world.begin(5);
        handle.succeed(seq([]));
        assert_eq!(world.wait(goal.cancel()), Err(CancelError::Terminated { action: action() }));
        assert_eq!(world.wait(world.client.cancel_all()), Ok(vec![]), "there is nothing to be canceled");
        world.clock.advance(Duration::from_secs(11));
        assert_eq!(world.wait(goal.cancel()), Err(CancelError::Unknown { action: action() }));
    });
}

#[test]
fn goals_are_canceled_by_the_time_they_were_accepted() {
    on_both_kinds(|world| {
        let mut goals = Vec::new();
        for order in 1..=3 {
            world.clock.advance(Duration::from_secs(1));
            goals.push(world.begin(order));
        }
        assert_eq!(goals[1].0.stamp(), Time { sec: 2, nanosec: 0 });
        let early = Time { sec: 0, nanosec: 999_999_999 };
        assert_eq!(world.wait(world.client.cancel_accepted_until(early)), Ok(vec![]));
        let canceling = world.wait(world.client.cancel_accepted_until(goals[1].0.stamp())).unwrap();
        assert_eq!(canceling, [goals[0].0.id(), goals[1].0.id()]);
        assert!(!goals[2].1.is_cancel_requested());
    });
}

#[test]
fn a_goal_that_nobody_asked_to_cancel_does_not_end_as_canceled() {
    on_both_kinds(|world| {
        let (goal, handle) = world.begin(5);
        let error = handle.canceled(seq([7])).unwrap_err();
        assert_eq!((error.goal, error.action.as_str()), (goal.id(), "fibonacci"));
        let outcome = world.wait(goal.result()).unwrap();
        assert_eq!((outcome.state, outcome.result), (GoalState::Aborted, seq([7])));
    });
}

#[test]
fn a_request_to_cancel_gets_through_while_the_execution_waits() {
    watchdog(|| {
        for kind in [Kind::Exclusive, Kind::Reentrant] {
            let world = World::executing(kind, |goal| {
                Box::pin(async move {
                    goal.publish_feedback(seq([0])).unwrap();
                    goal.cancel_requested().await;
                    goal.canceled(seq([9])).unwrap();
                })
            });
            let goal = world.send(5);
            let mut result = Box::pin(goal.result());
            assert!(world.poll(&mut result).is_none());
            let canceled = world.executor.spin_until(goal.cancel(), rospin_engine::SpinOptions::new()).unwrap();
            assert_eq!(canceled, Ok(()));
            assert_eq!(world.poll(&mut result).unwrap().unwrap().state, GoalState::Canceled);
        }
    });
}

#[test]
fn a_goal_whose_execution_has_not_begun_can_be_canceled() {
    on_both_kinds(|world| {
        // The server's first status is heard.
        world.spin_all();
        let sent = world.client.send_goal(super::set_up::Goal { order: 5 });
        // The callback of the request runs, and the execution does not.
        world.executor.spin(rospin_engine::SpinOptions::spin_once()).unwrap();
        let goal = Box::pin(sent).now_or_never().expect("it was answered").unwrap();
        assert_eq!(goal.state(), GoalState::Accepted);
        let canceled = Box::pin(goal.cancel());
        world.spin_all();
        assert_eq!(canceled.now_or_never(), Some(Ok(())));
        let handle = world.begun.take().remove(0);
        assert!(handle.is_cancel_requested());
        handle.canceled(seq([])).unwrap();
        assert_eq!(world.wait(goal.result()).unwrap().state, GoalState::Canceled);
    });
}
