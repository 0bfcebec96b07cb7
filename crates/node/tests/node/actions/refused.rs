//! Servers that refuse to cancel as those of rclpy do: with the return code 0, and a list without the goal.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin_node::interfaces::action_msgs::{CancelGoal, CancelGoalRequest, CancelGoalResponse, GoalInfo};
use rospin_node::interfaces::builtin_interfaces::Time;
use rospin_node::{ActionClient, CancelError, ClientGoalHandle, GoalId, NodeOptions, Ros, Service};

use super::set_up::{Fibonacci, Goal, Handle, Kind, World, watchdog};

/// Creates a client that asks the raw server to cancel, in a node of its own.
fn client(world: &World, node: &str) -> ActionClient<Fibonacci> {
    let options = NodeOptions::new(node).remap("/fibonacci/_action/cancel_goal", "/raw_cancel");
    let node = Ros::in_process(&world.context).create_node(options).unwrap();
    node.on(&world.executor.create_group("remapped", ())).create_action_client("fibonacci").unwrap()
}

/// A server whose answers to requests to cancel the test sets, and a client of it. The goals themselves are those of an
/// ordinary server; the client's name of the service is remapped.
struct Raw {
    world: World,
    client: ActionClient<Fibonacci>,
    answer: Arc<Mutex<CancelGoalResponse>>,
    _cancel: Service,
}

impl Raw {
    fn new() -> Self {
        let world = World::new(Kind::Exclusive);
        let group = world.executor.create_group("raw", ());
        let answer = Arc::new(Mutex::new(CancelGoalResponse::default()));
        let set = Arc::clone(&answer);
        let cancel = world
            .node
            .on(&group)
            .create_service::<CancelGoal, _>("raw_cancel", move |(): &mut (), _: CancelGoalRequest| {
                set.lock().unwrap().clone()
            });
        let client = client(&world, "client");
        Self { world, client, answer, _cancel: cancel.unwrap() }
    }

    /// Begins a goal of the client, a second after the last one.
    fn begin(&self) -> (ClientGoalHandle<Fibonacci>, Handle) {
        self.world.clock.advance(Duration::from_secs(1));
        let goal = self.world.wait(self.client.send_goal(Goal { order: 1 })).unwrap();
        self.world.spin_all();
        (goal, self.world.begun.take().remove(0))
    }

    /// Sets the answer to requests to cancel.
    fn answer(&self, return_code: i8, canceling: &[GoalId]) {
        let info = |id: &GoalId| GoalInfo { goal_id: (*id).into(), stamp: Time::ZERO };
        let goals_canceling = canceling.iter().map(info).collect();
        *self.answer.lock().unwrap() = CancelGoalResponse { return_code, goals_canceling };
    }

    fn cancel(&self, goal: &ClientGoalHandle<Fibonacci>) -> Result<(), CancelError> {
        self.world.wait(goal.cancel())
    }

    fn cancel_all(&self) -> Result<Vec<GoalId>, CancelError> {
        self.world.wait(self.client.cancel_all())
    }

    fn cancel_until(&self, second: i32) -> Result<Vec<GoalId>, CancelError> {
        self.world.wait(self.client.cancel_accepted_until(Time { sec: second, nanosec: 0 }))
    }
}

fn refused<T>() -> Result<T, CancelError> {
    Err(CancelError::Rejected { action: "fibonacci".to_owned() })
}

#[test]
fn a_goal_that_the_answer_does_not_list_is_not_being_canceled() {
    watchdog(|| {
        let raw = Raw::new();
        let ((one, _runs), (other, _too)) = (raw.begin(), raw.begin());
        assert_eq!(raw.cancel(&one), refused(), "an empty list");
        raw.answer(CancelGoalResponse::ERROR_NONE, &[other.id()]);
        assert_eq!(raw.cancel(&one), refused(), "a list of another goal");
        assert_eq!(raw.cancel(&other), Ok(()));
    });
}

#[test]
fn no_goal_of_all_is_an_error_only_if_there_was_one_to_cancel() {
    watchdog(|| {
        let raw = Raw::new();
        assert_eq!(raw.cancel_all(), Ok(vec![]), "there is no goal");
        let ((one, _runs), (_other, ends)) = (raw.begin(), raw.begin());
        assert_eq!(raw.cancel_all(), refused());
        raw.answer(CancelGoalResponse::ERROR_NONE, &[one.id()]);
        assert_eq!(raw.cancel_all(), Ok(vec![one.id()]), "one of them is being canceled");
        raw.answer(CancelGoalResponse::ERROR_NONE, &[]);
        assert_eq!(raw.cancel_all(), refused(), "the other one is not");
        ends.succeed(super::set_up::seq([]));
        assert_eq!(raw.cancel_all(), Ok(vec![]), "one is canceling, and the other one has ended");
    });
}

#[test]
fn no_goal_until_a_time_is_an_error_only_if_one_was_accepted_by_then() {
    watchdog(|| {
        let raw = Raw::new();
        raw.world.clock.advance(Duration::from_secs(4));
        let _goals = [raw.begin(), raw.begin()];
        assert_eq!(raw.cancel_until(4), Ok(vec![]));
        assert_eq!(raw.cancel_until(5), refused());
    });
}

#[test]
fn a_client_that_comes_late_hears_of_the_goals_that_run() {
    watchdog(|| {
        let raw = Raw::new();
        let _runs = raw.begin();
        let late = client(&raw.world, "late");
        raw.world.spin_all();
        assert_eq!(raw.world.wait(late.cancel_all()), refused(), "the server kept its last status");
    });
}

/// The goal is that of the world's own client.
#[test]
fn the_goals_of_other_clients_are_known_by_the_status() {
    watchdog(|| {
        let raw = Raw::new();
        raw.world.clock.advance(Duration::from_secs(5));
        let (goal, handle) = raw.world.begin(1);
        assert_eq!((raw.cancel_until(4), raw.cancel_until(5), raw.cancel_all()), (Ok(vec![]), refused(), refused()));
        raw.answer(CancelGoalResponse::ERROR_NONE, &[goal.id()]);
        assert_eq!(raw.cancel_all(), Ok(vec![goal.id()]));
        raw.answer(CancelGoalResponse::ERROR_NONE, &[]);
        assert_eq!(raw.cancel_all(), Ok(vec![]), "it is canceling");
        let (_other, other) = raw.world.begin(2);
        assert_eq!(raw.cancel_all(), refused(), "the server has told that it runs, and the next one, too");
        handle.succeed(super::set_up::seq([]));
        other.succeed(super::set_up::seq([]));
        assert_eq!(raw.cancel_all(), Ok(vec![]), "they have ended");
    });
}

#[test]
fn a_goal_that_is_canceling_already_is_no_error() {
    watchdog(|| {
        let raw = Raw::new();
        let (goal, handle) = raw.begin();
        raw.answer(CancelGoalResponse::ERROR_GOAL_TERMINATED, &[]);
        let ended = Err(CancelError::Terminated { action: "fibonacci".to_owned() });
        assert_eq!(raw.cancel(&goal), ended, "the server knows more than the client");
        raw.answer(CancelGoalResponse::ERROR_NONE, &[goal.id()]);
        assert_eq!(raw.cancel(&goal), Ok(()));
        raw.answer(CancelGoalResponse::ERROR_GOAL_TERMINATED, &[]);
        assert_eq!(raw.cancel(&goal), Ok(()), "it is canceling");
        handle.succeed(super::set_up::seq([]));
        raw.world.wait(goal.result()).unwrap();
        assert_eq!(raw.cancel(&goal), ended);
    });
}
