//! Set-up of the cases of actions: a server, a client, and feedback between them.

use std::time::Duration;

use rospin_engine::{CallbackGroup, ClockKind, Entity, Executor, ExecutorHandle, Payload};
use rospin_node::{
    ActionClient, ActionClientOptions, ActionServer, ActionServerOptions, CancelResponse, ClientGoalHandle, GoalHandle,
    GoalResponse, GoalState, Node,
};

use super::fixture::Fixture;
use super::messages::{Fibonacci, FibonacciGoal, Sequence, sequence};
use super::seen::Seen;
use super::world::World;

/// The name of the action.
pub(super) const ACTION: &str = "fibonacci";
/// An order that the server rejects.
pub(super) const UNWANTED: i32 = -1;
/// An order whose goal the server does not cancel.
pub(super) const STUBBORN: i32 = 13;

pub(super) type Handle = GoalHandle<Fibonacci>;
pub(super) type Client = ActionClient<Fibonacci>;
pub(super) type Goal = ClientGoalHandle<Fibonacci>;

/// Creates a server on a group of its own, which keeps all results for the whole case. It rejects [`UNWANTED`] orders,
/// and does not cancel goals with the order [`STUBBORN`].
pub(super) fn serve<Fut: Future<Output = ()> + Send + 'static>(
    node: &Node,
    executor: &Executor,
    mut execute: impl FnMut(Handle) -> Fut + Send + 'static,
) -> ActionServer {
    let options = ActionServerOptions::new(ACTION).result_timeout(Duration::MAX);
    serve_with(node, executor, options, move |_, goal| execute(goal))
}

/// Creates such a server with other options.
pub(super) fn serve_with<Fut: Future<Output = ()> + Send + 'static>(
    node: &Node,
    executor: &Executor,
    options: ActionServerOptions,
    execute: impl FnMut(Payload<()>, Handle) -> Fut + Send + 'static,
) -> ActionServer {
    let server = node.on(&executor.create_group("server", ())).create_action_server(
        options,
        |(), _, goal: &FibonacciGoal| {
            if goal.order == UNWANTED { GoalResponse::Reject } else { GoalResponse::AcceptAndExecute }
        },
        |(), _, goal| if goal.order == STUBBORN { CancelResponse::Reject } else { CancelResponse::Accept },
        execute,
    );
    server.expect("an action server")
}

/// Returns the result of a goal with that order: `order` Fibonacci numbers after 0 and 1.
pub(super) fn fibonacci(order: i32) -> Sequence {
    let mut numbers = vec![0, 1];
    for n in 0..order.unsigned_abs() as usize {
        numbers.push(numbers[n] + numbers[n + 1]);
    }
    sequence(numbers)
}

/// Executes a goal, which succeeds at once.
pub(super) async fn reach(goal: Handle) {
    let result = fibonacci(goal.goal().order);
    goal.succeed(result);
}

impl<F: Fixture> World<F> {
    /// Creates a client, and waits until it knows its server.
    #[track_caller]
    pub(super) fn action_client(&self, node: &Node, executor: &Executor) -> Client {
        let options = ActionClientOptions::new(ACTION).keep_feedback(100);
        let client =
            node.on(&executor.create_group("client", ())).create_action_client(options).expect("an action client");
        self.wait("the server is there", client.wait_for_server());
        client
    }

    /// Sends a goal that must be accepted.
    #[track_caller]
    pub(super) fn goal(&self, client: &Client, order: i32) -> Goal {
        self.wait("the goal is accepted", client.send_goal(FibonacciGoal { order })).expect("the server accepts it")
    }

    /// Returns the outcome of a goal, which must end.
    #[track_caller]
    pub(super) fn outcome(&self, goal: &Goal) -> (GoalState, Sequence) {
        let outcome = self.wait("the goal ends", goal.result()).expect("a result");
        (outcome.state, outcome.result)
    }
}

/// Records the feedback of a goal in `heard`, by an entity of `group`.
pub(super) fn hear(group: &CallbackGroup<()>, goal: &Goal, heard: &Seen<Sequence>) -> Entity {
    let feedback = goal.take_feedback().expect("nobody has it");
    let log = heard.clone();
    group.create_stream("feedback", feedback, move |(), sequence| log.push(sequence)).expect("an entity")
}

/// Waits 10 ms.
pub(super) async fn pause(executor: &ExecutorHandle) {
    executor.sleep(ClockKind::Steady, Duration::from_millis(10)).await.expect("the executor is there");
}

/// Publishes feedback, and tries again while the middleware has no room.
pub(super) async fn tell(executor: &ExecutorHandle, goal: &Handle, feedback: Sequence) {
    while goal.publish_feedback(feedback.clone()).is_err() {
        pause(executor).await;
    }
}

/// Publishes the same feedback until `heard` has an entry, because a server does not know who listens.
pub(super) async fn tell_until_heard(
    executor: &ExecutorHandle,
    goal: &Handle,
    feedback: Sequence,
    heard: &Seen<Sequence>,
) {
    while heard.count() == 0 {
        tell(executor, goal, feedback.clone()).await;
        pause(executor).await;
    }
}
