//! A goal from its execution's side.

use std::fmt;
use std::sync::Arc;

use rospin_wire::Action;

use super::id::GoalId;
use super::signal::Signal;
use super::state::{GoalEvent, GoalState};
use crate::error::PublishError;

/// Data that a server keeps of a goal.
pub(crate) struct Kept<A: Action> {
    pub(crate) id: GoalId,
    pub(crate) goal: A::Goal,
    /// Signal that is given when the execution should end: the goal is canceling, or the server was dropped.
    pub(crate) stop: Arc<Signal>,
    /// True if the execution itself reports its beginning.
    pub(crate) is_deferred: bool,
}

/// The interface of a goal handle to its server, without the middleware's types.
pub(crate) trait Outlet<A: Action>: Send + Sync {
    fn action(&self) -> &str;

    /// Marks the goal as executing.
    fn execute(&self, id: GoalId);

    fn publish_feedback(&self, id: GoalId, feedback: A::Feedback) -> Result<(), PublishError>;

    /// Ends the goal and returns its last state. `None` if it had ended already.
    fn finish(&self, id: GoalId, event: GoalEvent, result: A::Result) -> Option<GoalState>;
}

/// Error of [`GoalHandle::canceled`]: the goal was not canceling, and ended as aborted instead.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "goal {goal} of action `{action}` cannot end as canceled, since it is not canceling, and was aborted; look at \
     `is_cancel_requested` before, or call `abort`"
)]
pub struct NotCanceling {
    /// The name of the action.
    pub action: String,
    /// The id of the goal.
    pub goal: GoalId,
}

/// An accepted goal, for the code that executes it: the callback of an [`ActionServer`](super::ActionServer), or code
/// to which the callback passes it.
///
/// [`succeed`](Self::succeed), [`abort`](Self::abort) or [`canceled`](Self::canceled) ends the goal. Dropping the
/// handle without one of them, for instance by a panic or by an error that the execution returns, aborts the goal with
/// the default result. After the server was dropped, its goals are aborted and handles do nothing.
///
/// All methods may be called in callbacks and on any thread. They may allocate and lock for a moment. None waits for
/// clients, but those that publish feedback or a new state may wait for room, as
/// [`Publisher::publish`](crate::Publisher::publish) does.
///
/// ```
/// use futures::future::{Either, select};
/// use rospin::action::{Action, GoalHandle};
///
/// /// Executes a goal by some work, which is dropped as soon as a client cancels the goal.
/// async fn execute<A: Action>(goal: GoalHandle<A>, work: impl Future<Output = A::Result> + Unpin) {
///     match select(work, Box::pin(goal.cancel_requested())).await {
///         Either::Left((result, _)) => goal.succeed(result),
///         // Only fails if nobody asked to cancel.
///         Either::Right(_) => drop(goal.canceled(A::Result::default())),
///     }
/// }
/// ```
pub struct GoalHandle<A: Action> {
    kept: Arc<Kept<A>>,
    outlet: Arc<dyn Outlet<A>>,
    has_ended: bool,
}

impl<A: Action> GoalHandle<A> {
    pub(crate) fn new(kept: Arc<Kept<A>>, outlet: Arc<dyn Outlet<A>>) -> Self {
        Self { kept, outlet, has_ended: false }
    }

    /// Returns the goal's id.
    #[must_use]
    pub fn id(&self) -> GoalId {
        self.kept.id
    }

    /// Returns the goal that the client sent.
    #[must_use]
    pub fn goal(&self) -> &A::Goal {
        &self.kept.goal
    }

    /// Returns what is left of the goal for the one who awaits its execution.
    pub(crate) fn tail(&self) -> GoalTail<A> {
        GoalTail { id: self.id(), outlet: Arc::clone(&self.outlet) }
    }

    /// Begins the execution of a [deferred](super::GoalResponse::AcceptAndDefer) goal. The execution of other goals
    /// begins with their callback. A goal that is canceling stays so.
    pub fn execute(&self) {
        self.outlet.execute(self.id());
    }

    /// Returns true if the execution begins with [`execute`](Self::execute), not with the callback.
    pub(crate) fn is_deferred(&self) -> bool {
        self.kept.is_deferred
    }

    /// Sends feedback to all clients that listen.
    ///
    /// # Errors
    /// If there is no room for the message, or it cannot be encoded. The feedback is lost then.
    pub fn publish_feedback(&self, feedback: A::Feedback) -> Result<(), PublishError> {
        self.outlet.publish_feedback(self.id(), feedback)
    }

    /// Returns true if the execution should end: a client asked to cancel the goal and the server agreed, or the server
    /// was dropped. Does not lock.
    #[must_use]
    pub fn is_cancel_requested(&self) -> bool {
        self.kept.stop.is_given()
    }

    /// Returns a future that resolves once the execution should end, see
    /// [`is_cancel_requested`](Self::is_cancel_requested).
    ///
    /// Cancel safe: a future that is dropped early has no effect.
    pub fn cancel_requested(&self) -> impl Future<Output = ()> + Send + 'static {
        self.kept.stop.wait()
    }

    /// Ends the goal as succeeded.
    pub fn succeed(self, result: A::Result) {
        self.finish(GoalEvent::Succeed, result);
    }

    /// Ends the goal as aborted.
    pub fn abort(self, result: A::Result) {
        self.finish(GoalEvent::Abort, result);
    }

    /// Ends the goal as canceled.
    ///
    /// # Errors
    /// If the goal is not canceling, because no client asked to cancel it or the server did not agree. The goal then
    /// ends as aborted, with this result.
    pub fn canceled(self, result: A::Result) -> Result<(), NotCanceling> {
        let action = self.outlet.action().to_owned();
        let goal = self.id();
        match self.finish(GoalEvent::Cancel, result) {
            None | Some(GoalState::Canceled) => Ok(()),
            Some(_) => Err(NotCanceling { action, goal }),
        }
    }

    fn finish(mut self, event: GoalEvent, result: A::Result) -> Option<GoalState> {
        self.has_ended = true;
        self.outlet.finish(self.id(), event, result)
    }
}

/// A goal for the one who awaits its execution. Dropping it ends nothing.
pub(crate) struct GoalTail<A: Action> {
    id: GoalId,
    outlet: Arc<dyn Outlet<A>>,
}

impl<A: Action> GoalTail<A> {
    pub(crate) const fn id(&self) -> GoalId {
        self.id
    }

    /// Aborts the goal with the default result, unless it has ended.
    pub(crate) fn abort(&self) {
        // `None` means that the goal has ended already, mostly by the drop of its handle.
        let _ = self.outlet.finish(self.id, GoalEvent::Abort, A::Result::default());
    }
}

impl<A: Action> Drop for GoalHandle<A> {
    fn drop(&mut self) {
        if !self.has_ended && self.outlet.finish(self.id(), GoalEvent::Abort, A::Result::default()).is_some() {
            let goal = self.id();
            let action = self.outlet.action();
            log::warn!(target: "rospin", "goal {goal} of action `{action}` was dropped without a result, and aborted");
        }
    }
}

impl<A: Action> fmt::Debug for GoalHandle<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GoalHandle")
            .field("action", &self.outlet.action())
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
