//! Action servers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rospin_engine::{
    CallbackGroup, Entity, EntityKind, EntityOptions, LossCause, Payload, ReentrantGroup, SourceError, Tick, Timer,
    TimerError, TimerOptions,
};
use rospin_wire::Action;

use super::accepted::{Accepted, Goals};
use super::core::Core;
use super::desk::Desk;
use super::execution::Execution;
use super::goal::GoalHandle;
use super::id::GoalId;
use super::options::{ActionServerOptions, entity};
use super::parts::{GetResult, SendGoal, part};
use crate::callback::{Nothing, Returns};
use crate::error::ServiceError;
use crate::error::TopicError;
use crate::group::{Exclusive, Group, OwnGroup};
use crate::interfaces::action_msgs::CancelGoal;
use crate::introspection::ServiceIntrospectionState;
use crate::node::Node;
use crate::on::On;
use crate::options::{PublisherOptions, ServiceOptions};
use crate::qos::Qos;
use crate::service::{Draft, Service};
use crate::service_types::RustTypes;

/// Least and largest number of requests of each kind that wait for the executor: within these limits as many as there
/// is room for goals, because a client may send all goals at once, or ask for all results. A process that is its own
/// network allocates 16 bytes for each.
const REQUESTS_MIN: usize = 10;
const REQUESTS_MAX: usize = 8192;

/// Reasons for which an action server or client could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ActionError {
    /// One of the action's services could not be created.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// One of the action's topics could not be created.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// A timer could not be created: that of a server that forgets old results, or that of a client that waits for the
    /// last feedback of a server that has gone.
    #[error(transparent)]
    Timer(#[from] TimerError),
    /// The group was removed, or its executor dropped.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Decision about a goal that a client sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GoalResponse {
    /// The goal is not executed.
    Reject,
    /// The goal is executed. Its execution begins with its callback.
    AcceptAndExecute,
    /// The goal is executed. Its execution begins when its callback calls [`GoalHandle::execute`]; until then its
    /// state is accepted. Suits callbacks that first wait for something, such as a lock or a predecessor.
    AcceptAndDefer,
}

/// Decision about a request to cancel a goal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CancelResponse {
    /// The goal continues as if no client had asked.
    Reject,
    /// The goal's state becomes canceling. Its execution is told, and should end soon.
    Accept,
}

/// Server that executes the goals of an action. Its three services, its timer and the executions are ordinary entities
/// of its group. Feedback and status are published on two topics.
///
/// Dropping the handle ends the server. Goals that have not ended are aborted, clients that wait for their results are
/// told, and suspended executions are dropped. An execution that is running at this moment is not waited for;
/// [`GoalHandle::is_cancel_requested`] tells it.
///
/// ```
/// use rospin::action::{Action, CancelResponse, GoalHandle, GoalResponse};
/// use rospin::{Context, ContextOptions, Node, Payload, Ros, SpinOptions};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Default, Serialize, Deserialize)]
/// struct Count {
///     number: u32,
/// }
///
/// enum CountTo {}
///
/// impl Action for CountTo {
///     type Goal = Count;
///     type Result = Count;
///     type Feedback = Count;
///     const TYPE: &str = "test_interfaces/action/CountTo";
/// }
///
/// let context = Context::new(ContextOptions::new());
/// let ros = Ros::in_process(&context);
/// let node = ros.create_node("counter")?;
/// let group = node.create_group("counter", 0)?;
/// let _server = group.create_action_server(
///     "count_to",
///     |_, _, goal: &Count| if goal.number < 1000 { GoalResponse::AcceptAndExecute } else { GoalResponse::Reject },
///     |_, _, _| CancelResponse::Accept,
///     |counted: Payload<u32>, goal: GoalHandle<CountTo>| async move {
///         for number in 1..=goal.goal().number {
///             let _ = goal.publish_feedback(Count { number });
///         }
///         counted.with(|counted| *counted += 1);
///         let result = goal.goal().clone();
///         goal.succeed(result);
///     },
/// )?;
///
/// let client = node.create_action_client::<CountTo>("count_to")?;
/// let outcome = ros.executor().spin_until(
///     async { client.send_goal(Count { number: 3 }).await.unwrap().result().await.unwrap() },
///     SpinOptions::new(),
/// )?;
/// assert_eq!(outcome.result.number, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "the server ends when its handle is dropped, and aborts its goals; keep it (`let _server = ..`, not `let _ = ..`)"]
pub struct ActionServer {
    action: String,
    core: Arc<dyn Close>,
    send_goal: Service,
    cancel_goal: Service,
    get_result: Service,
    execute: Entity,
    _expire: Arc<Timer>,
}

/// The interface of the server's handle to its core, without the action's type.
trait Close: Send + Sync {
    fn close(&self);
    fn active(&self) -> usize;
}

impl<A: Action> Close for Core<A> {
    fn close(&self) {
        self.close();
    }

    fn active(&self) -> usize {
        self.active()
    }
}

impl ActionServer {
    /// Returns the action's name as it was given.
    #[must_use]
    pub fn action(&self) -> &str {
        &self.action
    }

    /// Returns the number of accepted goals that have not ended. Locks for a moment.
    #[must_use]
    pub fn active_goals(&self) -> usize {
        self.core.active()
    }

    /// Returns the number of requests that were lost for that cause.
    #[must_use]
    pub fn lost(&self, cause: LossCause) -> u64 {
        [&self.send_goal, &self.cancel_goal, &self.get_result].into_iter().map(|server| server.lost(cause)).sum()
    }

    /// Returns the number of requests' callbacks and executions of goals that ended after their deadlines: the one that
    /// the options or a deployment file set. They are counted under every policy.
    #[must_use]
    pub fn missed_deadlines(&self) -> u64 {
        let servers = [&self.send_goal, &self.cancel_goal, &self.get_result].into_iter();
        servers.map(Service::missed_deadlines).sum::<u64>() + self.execute.missed_deadlines()
    }

    /// Returns the number of responses that could not be sent, because they could not be encoded or there was no room
    /// for them. Each one is logged.
    #[must_use]
    pub fn unsent_responses(&self) -> u64 {
        [&self.send_goal, &self.cancel_goal, &self.get_result].into_iter().map(Service::unsent_responses).sum()
    }

    /// Publishes what the action's three services receive and send on the topics `_service_event` below their names,
    /// such as `fibonacci/_action/send_goal/_service_event`. See
    /// [`Client::configure_introspection`](crate::Client::configure_introspection); rclcpp calls it
    /// `configure_introspection`, too. A response to a request for a result is published when the goal has ended.
    ///
    /// # Errors
    /// If the middleware refuses a publisher. The publishers before it are there then.
    pub fn configure_introspection(&self, qos: Qos, state: ServiceIntrospectionState) -> Result<(), TopicError> {
        for service in [&self.send_goal, &self.cancel_goal, &self.get_result] {
            service.configure_introspection(qos, state)?;
        }
        Ok(())
    }
}

impl Drop for ActionServer {
    fn drop(&mut self) {
        self.core.close();
    }
}

impl fmt::Debug for ActionServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActionServer").field("action", &self.action).finish_non_exhaustive()
    }
}

/// An action server before it has its callbacks.
struct Parts<A: Action> {
    action: String,
    desk: Desk<A>,
    send_goal: Draft<RustTypes<SendGoal<A>>>,
    cancel_goal: Draft<RustTypes<CancelGoal>>,
    get_result: Draft<RustTypes<GetResult<A>>>,
    execute: EntityOptions,
    execution: Execution,
    expire: TimerOptions,
}

impl<A: Action> Parts<A> {
    fn new(node: &Node, group: &impl Group, options: ActionServerOptions) -> Result<Self, ActionError> {
        let ActionServerOptions { action, name, priority, max_executing, max_goals, result_timeout } = options;
        let name = group.name_of(name.as_deref(), &action);
        let service = |of: &str| ServiceOptions {
            common: entity(&name, of, priority),
            service: part(&action, of),
            qos: Qos::keep_last(max_goals.clamp(REQUESTS_MIN, REQUESTS_MAX)),
        };
        let send_goal = Draft::on(node, group, service("send_goal"), RustTypes::new())?;
        let cancel_goal = Draft::on(node, group, service("cancel_goal"), RustTypes::new())?;
        let get_result = Draft::on(node, group, service("get_result"), RustTypes::new())?;
        let feedback = node.create_publisher(PublisherOptions::new(part(&action, "feedback")))?;
        let status = PublisherOptions::new(part(&action, "status")).keep_last(1).transient_local();
        let status = node.create_publisher(status)?;
        let clock = group.context().clock().clone();
        let core = Core::new(action.clone(), clock.clone(), feedback, status, max_goals, result_timeout);
        let desk = Desk { core: Arc::new(core), accepted: Accepted::new(clock) };
        let named = |of: &str| EntityOptions::new(format!("{name}/{of}"));
        let execution = Execution::new(group.failures(&format!("{name}/execute")));
        let execute = named("execute").releases_group_at_await();
        let execute = priority.into_iter().fold(execute, EntityOptions::priority);
        let execute = max_executing.into_iter().fold(execute, EntityOptions::max_in_flight);
        let expire = TimerOptions::one_shot(result_timeout.max(Duration::from_nanos(1))).name(format!("{name}/expire"));
        let expire = priority.into_iter().fold(expire, TimerOptions::priority);
        Ok(Self { action, desk, send_goal, cancel_goal, get_result, execute, execution, expire })
    }
}

/// Creates the entities of the [`Parts`] `$parts` on a group of either kind, and returns the server. The group's
/// callbacks take `$payload`, if there is one, before their item. The user's callbacks are `$handle_goal`,
/// `$handle_cancel` and `$execute`.
macro_rules! assemble {
    ($parts:expr, $group:expr, ($($payload:ident: $type:ty)?), $handle_goal:ident, $handle_cancel:ident, $execute:ident) => {{
        let Parts { action, desk, send_goal, cancel_goal, get_result, execute, expire, .. } = $parts;
        let group = $group;
        let timer = {
            let core = Arc::clone(&desk.core);
            Arc::new(group.create_timer(expire, move |$(_: $type,)? _: Tick| core.expire())?)
        };
        // No goal has ended yet, so the timer has nothing to do.
        timer.cancel();
        desk.core.set_timer(&timer);
        let execute = group.create_source_async(EntityKind::Waitable, execute, Goals(desk.accepted.clone()), $execute)?;
        let answering = get_result.answering();
        let get_result = get_result.finish(|options, requests| {
            let desk = desk.clone();
            group.create_source(EntityKind::Service, options, requests, move |$(_: $type,)? (request, reply)| {
                desk.get_result(&answering, request, reply);
            })
        })?;
        let answering = cancel_goal.answering();
        let cancel_goal = cancel_goal.finish(|options, requests| {
            let desk = desk.clone();
            group.create_source(EntityKind::Service, options, requests, move |$($payload: $type,)? (request, reply)| {
                desk.cancel_goal(&answering, &request, reply, |id, goal| $handle_cancel($($payload,)? id, goal));
            })
        })?;
        let answering = send_goal.answering();
        let send_goal = send_goal.finish(|options, requests| {
            let desk = desk.clone();
            group.create_source(EntityKind::Service, options, requests, move |$($payload: $type,)? (request, reply)| {
                desk.send_goal(&answering, request, reply, |id, goal| $handle_goal($($payload,)? id, goal));
            })
        })?;
        let core = desk.core as _;
        Ok(ActionServer { action, core, send_goal, cancel_goal, get_result, execute, _expire: timer })
    }};
}

impl<P: Send + 'static> On<CallbackGroup<P>> {
    /// Creates an action server. A plain `&str` is the action's name.
    ///
    /// `handle_goal` decides about each goal that a client sends, if there is [room](ActionServerOptions::max_goals)
    /// for it. `handle_cancel` decides about each goal that a client asks to cancel, unless it is canceling already or
    /// has ended. Both get the group's payload, and should be quick. `execute` is an asynchronous callback. It is
    /// called for every accepted goal, and ends it through its [`GoalHandle`].
    ///
    /// While an execution awaits, other callbacks of the group run. So requests to cancel get through, and several
    /// goals are executed by turns. They share the payload: nobody else has it between two awaits, but it may have
    /// changed after each of them. An execution that computes without awaiting keeps the group for itself, and
    /// requests wait. Put such a server on a reentrant group of an executor with several threads, or let the execution
    /// await now and then. The callbacks decide what a new goal means for an older one, as in rclcpp.
    ///
    /// An execution returns nothing or a [`Result`]. An error, of `?` for instance, aborts its goal with the default
    /// result unless that has ended, and is reported as an [`Incident`](rospin_engine::Incident) with the goal's id. A
    /// panic of `execute` aborts the goal, too. If another callback panics, its client gets no answer.
    ///
    /// ```
    /// use rospin::msgs::example_interfaces::action::{Fibonacci, FibonacciFeedback, FibonacciGoal, FibonacciResult};
    /// use rospin::prelude::*;
    ///
    /// async fn compute(goal: GoalHandle<Fibonacci>) -> rospin::Result<()> {
    ///     let sequence = vec![0, 1];
    ///     goal.publish_feedback(FibonacciFeedback { sequence: sequence.clone() })?;
    ///     goal.succeed(FibonacciResult { sequence });
    ///     Ok(())
    /// }
    ///
    /// # fn main() -> rospin::Result<()> {
    /// # let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// # let node = ros.create_node("fibonacci")?;
    /// let accept = |_, _: &FibonacciGoal| GoalResponse::AcceptAndExecute;
    /// let _server = node.create_action_server("fibonacci", accept, |_, _| CancelResponse::Accept, compute)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the action's or the type's name is invalid, the middleware refuses, or the group is gone.
    pub fn create_action_server<A, Fut>(
        &self,
        options: impl Into<ActionServerOptions>,
        mut handle_goal: impl FnMut(&mut P, GoalId, &A::Goal) -> GoalResponse + Send + 'static,
        mut handle_cancel: impl FnMut(&mut P, GoalId, &A::Goal) -> CancelResponse + Send + 'static,
        mut execute: impl FnMut(Payload<P>, GoalHandle<A>) -> Fut + Send + 'static,
    ) -> Result<ActionServer, ActionError>
    where
        A: Action,
        Fut: Future<Output: Returns<Nothing>> + Send + 'static,
    {
        let group = self.group();
        let parts = Parts::<A>::new(self.node(), group, options.into())?;
        let execution = parts.execution.clone();
        let execute = move |payload: Payload<P>, goal: GoalHandle<A>| {
            let ends = execution.begin(&goal);
            ends.after(execute(payload, goal))
        };
        assemble!(parts, group, (payload: &mut P), handle_goal, handle_cancel, execute)
    }
}

impl On<OwnGroup> {
    /// Creates an action server on the node's own group, see [`On::create_action_server`]. The callbacks have no
    /// payload.
    ///
    /// # Errors
    /// If the action's or the type's name is invalid, the middleware refuses, or the group is gone.
    pub fn create_action_server<A, Fut>(
        &self,
        options: impl Into<ActionServerOptions>,
        mut handle_goal: impl FnMut(GoalId, &A::Goal) -> GoalResponse + Send + 'static,
        mut handle_cancel: impl FnMut(GoalId, &A::Goal) -> CancelResponse + Send + 'static,
        mut execute: impl FnMut(GoalHandle<A>) -> Fut + Send + 'static,
    ) -> Result<ActionServer, ActionError>
    where
        A: Action,
        Fut: Future<Output: Returns<Nothing>> + Send + 'static,
    {
        self.node().on(self.group().group()).create_action_server(
            options,
            move |(), id, goal: &A::Goal| handle_goal(id, goal),
            move |(), id, goal: &A::Goal| handle_cancel(id, goal),
            move |_: Payload<()>, goal: GoalHandle<A>| execute(goal),
        )
    }
}

impl Node {
    /// Creates an action server on the node's own group. A plain `&str` is the action's name. See
    /// [`On::create_action_server`].
    ///
    /// # Errors
    /// Those of [`On::create_action_server`], and if the node's [`Ros`](crate::Ros) was dropped.
    pub fn create_action_server<A, Fut>(
        &self,
        options: impl Into<ActionServerOptions>,
        handle_goal: impl FnMut(GoalId, &A::Goal) -> GoalResponse + Send + 'static,
        handle_cancel: impl FnMut(GoalId, &A::Goal) -> CancelResponse + Send + 'static,
        execute: impl FnMut(GoalHandle<A>) -> Fut + Send + 'static,
    ) -> Result<ActionServer, ActionError>
    where
        A: Action,
        Fut: Future<Output: Returns<Nothing>> + Send + 'static,
    {
        let own = self.own_group_for_source()?;
        self.on(own).create_action_server(options, handle_goal, handle_cancel, execute)
    }
}

impl On<ReentrantGroup> {
    /// Creates an action server on a reentrant group, see [`On::create_action_server`]. The callbacks have no payload.
    /// On an executor with several threads, goals are executed and requests answered at the same time.
    ///
    /// # Errors
    /// If the action's or the type's name is invalid, the middleware refuses, or the group is gone.
    pub fn create_action_server<A, Fut>(
        &self,
        options: impl Into<ActionServerOptions>,
        handle_goal: impl Fn(GoalId, &A::Goal) -> GoalResponse + Send + Sync + 'static,
        handle_cancel: impl Fn(GoalId, &A::Goal) -> CancelResponse + Send + Sync + 'static,
        execute: impl Fn(GoalHandle<A>) -> Fut + Send + Sync + 'static,
    ) -> Result<ActionServer, ActionError>
    where
        A: Action,
        Fut: Future<Output: Returns<Nothing>> + Send + 'static,
    {
        let group = self.group();
        let parts = Parts::<A>::new(self.node(), group, options.into())?;
        let execution = parts.execution.clone();
        let execute = move |goal: GoalHandle<A>| {
            let ends = execution.begin(&goal);
            ends.after(execute(goal))
        };
        assemble!(parts, group, (), handle_goal, handle_cancel, execute)
    }
}
