//! Results: their receivers, the time for which they are kept, and the status of all goals.

use std::time::Duration;

use rospin_engine::LossCause;
use rospin_node::interfaces::action_msgs::GoalStatus;
use rospin_node::{ActionServerOptions, GoalState, ResultError};

use super::set_up::{Goal, Kind, World, on_both_kinds, seq, watchdog};

#[test]
fn a_result_can_be_asked_for_before_and_after_the_end_and_by_several() {
    on_both_kinds(|world| {
        let (goal, handle) = world.begin(5);
        let mut early = [Box::pin(goal.result()), Box::pin(goal.result())];
        assert!(early.iter_mut().all(|result| world.poll(result).is_none()));
        drop(goal.result());
        handle.abort(seq([1]));
        for result in early {
            let outcome = world.wait(result).unwrap();
            assert_eq!((outcome.state, outcome.result), (GoalState::Aborted, seq([1])));
        }
        let late = world.wait(goal.result()).unwrap();
        assert_eq!((late.state, late.result), (GoalState::Aborted, seq([1])));
    });
}

/// A client that has sent many goals waits for all of them at once.
#[test]
fn a_server_has_room_for_as_many_requests_of_each_kind_as_for_goals() {
    const GOALS: usize = 100;
    watchdog(|| {
        for kind in [Kind::Exclusive, Kind::Reentrant] {
            let world = World::with(kind, ActionServerOptions::new("fibonacci").max_executing(100));
            let sent: Vec<_> = (0..GOALS).map(|_| world.client.send_goal(Goal { order: 1 })).collect();
            world.spin_all();
            let goals: Vec<_> = sent.into_iter().map(|sent| world.wait(sent).unwrap()).collect();
            let mut results: Vec<_> = goals.iter().map(|goal| Box::pin(goal.result())).collect();
            let cancels: Vec<_> = goals.iter().map(|goal| goal.cancel()).collect();
            world.spin_all();
            assert!(results.iter_mut().all(|result| world.poll(result).is_none()), "they wait for the end");
            for cancel in cancels {
                world.wait(cancel).unwrap();
            }
            for handle in world.begun.take() {
                handle.canceled(seq([1])).unwrap();
            }
            for result in results {
                assert_eq!(world.wait(result).unwrap().state, GoalState::Canceled);
            }
            assert_eq!(world.server.unwrap().lost(LossCause::QueueFull), 0);
        }
    });
}

#[test]
fn results_are_kept_for_ten_seconds() {
    on_both_kinds(|world| {
        let (first, handle) = world.begin(1);
        handle.succeed(seq([1]));
        world.clock.advance(Duration::from_secs(4));
        let (second, handle) = world.begin(2);
        handle.succeed(seq([2]));
        world.clock.advance(Duration::from_millis(5_999));
        assert!(world.wait(first.result()).is_ok());
        world.clock.advance(Duration::from_millis(1));
        world.spin_all();
        let unknown = |goal| ResultError::Unknown { action: "fibonacci".to_owned(), goal };
        assert_eq!(world.wait(first.result()), Err(unknown(first.id())));
        assert!(world.wait(second.result()).is_ok());
        world.clock.advance(Duration::from_secs(4));
        world.spin_all();
        assert_eq!(world.wait(second.result()), Err(unknown(second.id())));
        assert_eq!(world.status(), []);

        // After a pause the timer is set again.
        world.clock.advance(Duration::from_secs(100));
        world.spin_all();
        let (third, handle) = world.begin(3);
        world.clock.advance(Duration::from_secs(100));
        handle.succeed(seq([3]));
        world.clock.advance(Duration::from_secs(9));
        assert!(world.wait(third.result()).is_ok(), "the time begins with the end");
        world.clock.advance(Duration::from_secs(1));
        world.spin_all();
        assert_eq!(world.wait(third.result()), Err(unknown(third.id())));
    });
}

#[test]
fn results_may_be_kept_for_ever_or_not_at_all() {
    watchdog(|| {
        for kind in [Kind::Exclusive, Kind::Reentrant] {
            let options = ActionServerOptions::new("fibonacci").result_timeout(Duration::MAX);
            let world = World::with(kind, options);
            let (goal, handle) = world.begin(1);
            handle.succeed(seq([1]));
            world.clock.advance(Duration::from_secs(1_000_000));
            assert!(world.wait(goal.result()).is_ok());

            let world = World::with(kind, ActionServerOptions::new("fibonacci").result_timeout(Duration::ZERO));
            let (goal, handle) = world.begin(1);
            let mut feedback = goal.take_feedback().unwrap();
            let mut waiting = Box::pin(goal.result());
            assert!(world.poll(&mut waiting).is_none());
            handle.succeed(seq([1]));
            assert!(world.poll(&mut waiting).unwrap().is_ok(), "who waited has it");
            assert_eq!(world.heard(&mut feedback), (vec![], false));
            world.clock.advance(Duration::from_nanos(1));
            world.spin_all();
            assert!(matches!(world.wait(goal.result()), Err(ResultError::Unknown { .. })));
        }
    });
}

#[test]
fn the_status_has_all_goals_for_late_subscriptions_too() {
    on_both_kinds(|world| {
        assert_eq!(world.status(), []);
        let (first, first_handle) = world.begin(1);
        world.clock.advance(Duration::from_secs(1));
        let (second, second_handle) = world.begin(2);
        let executing = GoalStatus::STATUS_EXECUTING;
        assert_eq!(world.status(), [(first.id(), executing), (second.id(), executing)]);
        world.wait(first.cancel()).unwrap();
        second_handle.succeed(seq([]));
        let expected = [(first.id(), GoalStatus::STATUS_CANCELING), (second.id(), GoalStatus::STATUS_SUCCEEDED)];
        assert_eq!(world.status(), expected);
        first_handle.canceled(seq([])).unwrap();
        assert_eq!(world.status()[0], (first.id(), GoalStatus::STATUS_CANCELED));
    });
}
