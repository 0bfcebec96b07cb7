//! Sending goals, executing them, and feedback.

use rospin_engine::LossCause;
use rospin_node::interfaces::action_msgs::GoalStatusArray;
use rospin_node::{ActionServerOptions, GoalState, PublisherOptions, SendGoalError};

use super::set_up::{DEFERRED, Goal, Kind, REJECTED, World, on_both_kinds, seq, watchdog};

#[test]
fn a_goal_is_accepted_executed_and_reached() {
    on_both_kinds(|world| {
        let goal = world.send(5);
        world.spin_all();
        let handle = world.begun.take().remove(0);
        assert_eq!((handle.id(), handle.goal().order), (goal.id(), 5));
        assert_eq!(goal.state(), GoalState::Executing);
        let mut result = Box::pin(goal.result());
        assert!(world.poll(&mut result).is_none(), "it has not ended");
        assert_eq!(world.server.as_ref().unwrap().active_goals(), 1);
        handle.succeed(seq([0, 1, 1]));
        let outcome = world.poll(&mut result).unwrap().unwrap();
        assert_eq!((outcome.state, outcome.result), (GoalState::Succeeded, seq([0, 1, 1])));
        assert_eq!((goal.state(), world.server.as_ref().unwrap().active_goals()), (GoalState::Succeeded, 0));
    });
}

#[test]
fn a_goal_is_rejected() {
    on_both_kinds(|world| {
        let error = world.wait(world.client.send_goal(Goal { order: REJECTED })).unwrap_err();
        assert_eq!(error, SendGoalError::Rejected { action: "fibonacci".to_owned() });
        assert!(world.begun.take().is_empty());
        assert_eq!(world.status(), []);
    });
}

#[test]
fn a_client_waits_for_its_server() {
    on_both_kinds(|mut world| {
        assert!(world.client.server_is_ready());
        world.wait(world.client.wait_for_server());
        drop(world.server.take());
        world.spin_all();
        assert!(!world.client.server_is_ready());
        assert!(world.poll(&mut Box::pin(world.client.wait_for_server())).is_none());
        let error = world.wait(world.client.send_goal(Goal { order: 1 })).unwrap_err();
        assert!(matches!(error, SendGoalError::Call(_)), "{error}");
    });
}

#[test]
fn feedback_comes_in_order_and_ends_with_the_goal() {
    on_both_kinds(|world| {
        let (goal, handle) = world.begin(5);
        let mut feedback = goal.take_feedback().unwrap();
        assert!(goal.take_feedback().is_none(), "it is taken");
        drop(feedback);
        feedback = goal.take_feedback().expect("it was given back");
        handle.publish_feedback(seq([0])).unwrap();
        handle.publish_feedback(seq([0, 1])).unwrap();
        assert_eq!(world.heard(&mut feedback), (vec![seq([0]), seq([0, 1])], true));
        handle.publish_feedback(seq([0, 1, 1])).unwrap();
        handle.publish_feedback(seq([0, 1, 1, 2])).unwrap();
        handle.succeed(seq([]));
        assert_eq!(world.heard(&mut feedback), (vec![seq([0, 1, 1]), seq([0, 1, 1, 2])], false));
    });
}

#[test]
fn a_status_of_another_publisher_does_not_end_the_feedback() {
    on_both_kinds(|world| {
        let (goal, handle) = world.begin(5);
        let mut feedback = goal.take_feedback().unwrap();
        assert_eq!(world.heard(&mut feedback), (vec![], true));
        let options = PublisherOptions::new("fibonacci/_action/status").keep_last(1).transient_local();
        // An empty status, as a second server publishes it.
        let other = world.node.create_publisher(options).unwrap();
        other.publish(GoalStatusArray::default()).unwrap();
        assert_eq!(world.heard(&mut feedback), (vec![], true));
        drop(other);
        assert_eq!(world.heard(&mut feedback), (vec![], true));
        handle.publish_feedback(seq([0])).unwrap();
        assert_eq!(world.heard(&mut feedback), (vec![seq([0])], true));
    });
}

#[test]
fn feedback_and_status_of_other_goals_do_not_reach_this_goal() {
    on_both_kinds(|world| {
        let other =
            world.node.on(&world.executor.create_group("client", ())).create_action_client("fibonacci").unwrap();
        let (mine, my_handle) = world.begin(1);
        let theirs = world.wait(other.send_goal(Goal { order: 2 })).unwrap();
        world.spin_all();
        let their_handle = world.begun.take().remove(0);
        let (mut my_feedback, mut their_feedback) = (mine.take_feedback().unwrap(), theirs.take_feedback().unwrap());
        their_handle.publish_feedback(seq([2])).unwrap();
        my_handle.publish_feedback(seq([1])).unwrap();
        their_handle.succeed(seq([22]));
        assert_eq!(world.heard(&mut my_feedback), (vec![seq([1])], true));
        assert_eq!(world.heard(&mut their_feedback), (vec![seq([2])], false));
        assert_eq!((mine.state(), theirs.state()), (GoalState::Executing, GoalState::Succeeded));
        my_handle.abort(seq([11]));
        let outcomes = [world.wait(mine.result()), world.wait(theirs.result())].map(Result::unwrap);
        assert_eq!(outcomes.map(|outcome| outcome.result), [seq([11]), seq([22])]);
    });
}

#[test]
fn feedback_that_nobody_takes_makes_room_and_is_counted() {
    on_both_kinds(|world| {
        let (goal, handle) = world.begin(5);
        for n in 0..12 {
            handle.publish_feedback(seq([n])).unwrap();
            world.spin_all();
        }
        assert_eq!(world.client.lost(LossCause::QueueFull), 0, "nobody wanted it");
        let mut feedback = goal.take_feedback().unwrap();
        handle.publish_feedback(seq([12])).unwrap();
        assert_eq!(world.heard(&mut feedback).0, Vec::from_iter((3..=12).map(|n| seq([n]))));
        assert_eq!(world.client.lost(LossCause::QueueFull), 1);
    });
}

#[test]
fn several_goals_are_executed_at_once() {
    on_both_kinds(|world| {
        let goals = [1, 2, 3].map(|order| world.send(order));
        world.spin_all();
        let handles = world.begun.take();
        assert_eq!(handles.iter().map(|handle| handle.goal().order).collect::<Vec<_>>(), [1, 2, 3]);
        for handle in handles.into_iter().rev() {
            let order = handle.goal().order;
            handle.succeed(seq([order]));
        }
        let results = goals.map(|goal| world.wait(goal.result()).unwrap().result);
        assert_eq!(results, [seq([1]), seq([2]), seq([3])]);
    });
}

#[test]
fn goals_wait_for_their_turn_if_only_so_many_may_be_executed() {
    watchdog(|| {
        for kind in [Kind::Exclusive, Kind::Reentrant] {
            let (gate, opened) = futures::channel::oneshot::channel::<()>();
            let opened = std::sync::Mutex::new(Some(opened));
            let mut world = World::without_server();
            let options = ActionServerOptions::new("fibonacci").max_executing(1);
            world.serve(kind, options, move |goal| {
                let opened = opened.lock().unwrap().take();
                Box::pin(async move {
                    if let Some(opened) = opened {
                        opened.await.unwrap();
                    }
                    goal.succeed(seq([]));
                })
            });
            let (first, second) = (world.send(1), world.send(2));
            world.spin_all();
            assert_eq!((first.state(), second.state()), (GoalState::Executing, GoalState::Accepted));
            gate.send(()).unwrap();
            world.spin_all();
            assert_eq!((first.state(), second.state()), (GoalState::Succeeded, GoalState::Succeeded));
        }
    });
}

#[test]
fn a_deferred_goal_begins_when_it_says_so() {
    on_both_kinds(|world| {
        let (goal, handle) = world.begin(DEFERRED);
        assert_eq!(goal.state(), GoalState::Accepted);
        handle.execute();
        world.spin_all();
        assert_eq!(goal.state(), GoalState::Executing);
        handle.succeed(seq([]));

        let (goal, handle) = world.begin(DEFERRED);
        handle.succeed(seq([1]));
        assert_eq!(world.wait(goal.result()).unwrap().state, GoalState::Succeeded, "it began at least then");
    });
}

#[test]
fn there_is_room_for_so_many_goals() {
    watchdog(|| {
        for kind in [Kind::Exclusive, Kind::Reentrant] {
            let world = World::with(kind, ActionServerOptions::new("fibonacci").max_goals(2));
            let (first, handle) = world.begin(1);
            let (_second, _active) = world.begin(2);
            world.asked.take();
            let error = world.wait(world.client.send_goal(Goal { order: 3 })).unwrap_err();
            assert!(matches!(error, SendGoalError::Rejected { .. }), "{error}");
            assert!(world.asked.take().is_empty(), "there was nothing to decide");
            handle.succeed(seq([]));
            assert!(world.wait(first.result()).is_ok());
            let (_third, _also_active) = world.begin(3);
            assert!(world.wait(first.result()).is_err(), "it had to go");
        }
    });
}
