//! A client, and a server whose executions the test controls.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use futures::FutureExt;
use rospin_engine::{Context, ContextOptions, Executor, ExecutorOptions, Incident, ManualClock, Payload, SpinOptions};
use rospin_node::callback::{Nothing, Returns};
use rospin_node::interfaces::action_msgs::GoalStatusArray;
use rospin_node::{
    Action, ActionClient, ActionServer, ActionServerOptions, CancelResponse, ClientGoalHandle, FeedbackStream,
    GoalHandle, GoalId, GoalResponse, Node, Ros, SubscriptionOptions,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Goal {
    pub(crate) order: i32,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sequence {
    pub(crate) sequence: Vec<i32>,
}

pub(crate) enum Fibonacci {}

impl Action for Fibonacci {
    type Goal = Goal;
    type Result = Sequence;
    type Feedback = Sequence;
    const TYPE: &str = "example_interfaces/action/Fibonacci";
}

pub(crate) fn seq<const N: usize>(numbers: [i32; N]) -> Sequence {
    Sequence { sequence: numbers.to_vec() }
}

/// Order of a goal that the server rejects.
pub(crate) const REJECTED: i32 = -1;
/// Order of a goal that is deferred.
pub(crate) const DEFERRED: i32 = 100;
/// Order of a goal that the server does not cancel.
pub(crate) const STUBBORN: i32 = 13;

fn decide(asked: &Log<(&'static str, i32)>, goal: &Goal) -> GoalResponse {
    asked.push(("goal", goal.order));
    match goal.order {
        REJECTED => GoalResponse::Reject,
        DEFERRED => GoalResponse::AcceptAndDefer,
        _ => GoalResponse::AcceptAndExecute,
    }
}

fn agree(asked: &Log<(&'static str, i32)>, goal: &Goal) -> CancelResponse {
    asked.push(("cancel", goal.order));
    if goal.order == STUBBORN { CancelResponse::Reject } else { CancelResponse::Accept }
}

/// Fails the test if it takes too long, so that it does not hang.
pub(crate) fn watchdog(body: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    thread::spawn(move || done.send(catch_unwind(AssertUnwindSafe(body))));
    match finished.recv_timeout(Duration::from_secs(60)) {
        Ok(Ok(())) => {}
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => panic!("the test hangs"),
    }
}

/// Events in their order.
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Log<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn push(&self, entry: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Kind of group that the server is on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Exclusive,
    Reentrant,
}

/// Runs the test with a server on each kind of group.
pub(crate) fn on_both_kinds(test: fn(World)) {
    for kind in [Kind::Exclusive, Kind::Reentrant] {
        watchdog(move || test(World::new(kind)));
    }
}

pub(crate) type Handle = GoalHandle<Fibonacci>;
pub(crate) type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Server and client on one thread.
pub(crate) struct World {
    pub(crate) clock: ManualClock,
    pub(crate) context: Context,
    pub(crate) executor: Executor,
    pub(crate) node: Node,
    pub(crate) incidents: Log<Incident>,
    pub(crate) server: Option<ActionServer>,
    pub(crate) client: ActionClient<Fibonacci>,
    /// Questions to the server, with the order of the goal.
    pub(crate) asked: Log<(&'static str, i32)>,
    /// Goals that are being executed, which the test must end.
    pub(crate) begun: Log<Handle>,
}

impl World {
    /// Returns a world whose server hands its goals to the test.
    pub(crate) fn new(kind: Kind) -> Self {
        Self::with(kind, ActionServerOptions::new("fibonacci"))
    }

    pub(crate) fn with(kind: Kind, options: ActionServerOptions) -> Self {
        let mut world = Self::without_server();
        let begun = world.begun.clone();
        world.serve(kind, options, move |goal| {
            begun.push(goal);
            async {}
        });
        world
    }

    /// Returns a world whose server executes goals by `execute`.
    pub(crate) fn executing(kind: Kind, execute: impl Fn(Handle) -> Boxed + Send + Sync + 'static) -> Self {
        let mut world = Self::without_server();
        world.serve(kind, ActionServerOptions::new("fibonacci"), execute);
        world
    }

    pub(crate) fn without_server() -> Self {
        let (clock, incidents) = (ManualClock::new(), Log::new());
        let log = incidents.clone();
        let options = ContextOptions::new().manual_clock(clock.clone());
        let context = Context::new(options.on_incident(move |incident| log.push(incident.clone())));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let node = Ros::in_process(&context).create_node("node").unwrap();
        let client = node.on(&executor.create_group("client", ())).create_action_client("fibonacci").unwrap();
        Self { clock, context, executor, node, incidents, server: None, client, asked: Log::new(), begun: Log::new() }
    }

    /// Creates the server.
    pub(crate) fn serve<Fut: Future<Output: Returns<Nothing>> + Send + 'static>(
        &mut self,
        kind: Kind,
        options: ActionServerOptions,
        execute: impl Fn(Handle) -> Fut + Send + Sync + 'static,
    ) {
        let (goals, cancels) = (self.asked.clone(), self.asked.clone());
        let server = match kind {
            Kind::Exclusive => self.node.on(&self.executor.create_group("server", ())).create_action_server(
                options,
                move |(), _, goal| decide(&goals, goal),
                move |(), _, goal| agree(&cancels, goal),
                move |_: Payload<()>, goal| execute(goal),
            ),
            Kind::Reentrant => self.node.on(&self.executor.create_reentrant_group("server")).create_action_server(
                options,
                move |_, goal| decide(&goals, goal),
                move |_, goal| agree(&cancels, goal),
                execute,
            ),
        };
        self.server = Some(server.unwrap());
    }

    pub(crate) fn spin_all(&self) {
        self.executor.spin(SpinOptions::spin_all()).unwrap();
    }

    /// Runs everything that is ready. Returns the future's result, or `None` if it has none yet.
    pub(crate) fn poll<F: Future + Unpin>(&self, future: &mut F) -> Option<F::Output> {
        self.spin_all();
        future.now_or_never()
    }

    /// Runs everything that is ready and returns the future's result, which it must have.
    #[track_caller]
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.spin_all();
        let mut future = Box::pin(future);
        // The first poll may send a request, whose response the second one gets.
        let first = self.poll(&mut future);
        first.or_else(|| self.poll(&mut future)).expect("it should have resolved by now")
    }

    /// Sends a goal that must be accepted.
    #[track_caller]
    pub(crate) fn send(&self, order: i32) -> ClientGoalHandle<Fibonacci> {
        self.wait(self.client.send_goal(Goal { order })).expect("the server accepts it")
    }

    /// Sends a goal, and takes its handle from the execution.
    #[track_caller]
    pub(crate) fn begin(&self, order: i32) -> (ClientGoalHandle<Fibonacci>, Handle) {
        let goal = self.send(order);
        self.spin_all();
        let mut begun = self.begun.take();
        assert_eq!((begun.len(), begun[0].id()), (1, goal.id()));
        (goal, begun.remove(0))
    }

    /// Returns all feedback that has arrived, and true if there may be more.
    pub(crate) fn heard(&self, feedback: &mut FeedbackStream<Fibonacci>) -> (Vec<Sequence>, bool) {
        self.spin_all();
        let mut heard = Vec::new();
        loop {
            match feedback.next().now_or_never() {
                Some(Some(next)) => heard.push(next),
                Some(None) => return (heard, false),
                None => return (heard, true),
            }
        }
    }

    /// Returns the last status of all goals, as a late subscription gets it.
    pub(crate) fn status(&self) -> Vec<(GoalId, i8)> {
        let group = self.executor.create_group("status", Vec::new());
        let options = SubscriptionOptions::new("fibonacci/_action/status").keep_last(1).transient_local();
        let subscription =
            self.node.on(&group).create_subscription(options, |all: &mut Vec<_>, message: GoalStatusArray| {
                *all = message.status_list;
            });
        let _subscription = subscription.unwrap();
        self.spin_all();
        let all = group.into_payload().unwrap();
        all.into_iter().map(|status| (status.goal_info.goal_id.into(), status.status)).collect()
    }
}
