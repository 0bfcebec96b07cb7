//! A goal as its execution has it.

use std::fmt;
use std::sync::Arc;

use super::Action;
use super::id::GoalId;
use super::signal::Signal;
use super::state::{GoalEvent, GoalState};
use crate::publisher::PublishError;

/// What is kept of a goal.
pub(crate) struct Kept<A: Action> {
    pub(crate) id: GoalId,
    pub(crate) goal: A::Goal,
    /// The execution should end: the goal is canceling, or the server is gone.
    pub(crate) stop: Arc<Signal>,
    /// It says itself when it begins.
    pub(crate) is_deferred: bool,
}

/// What a goal handle needs of its server, whatever that talks through.
pub(crate) trait Outlet<A: Action>: Send + Sync {
    fn action(&self) -> &str;

    /// The goal is being executed from now on.
    fn execute(&self, id: GoalId);

    fn publish_feedback(&self, id: GoalId, feedback: A::Feedback) -> Result<(), PublishError>;

    /// The goal ends; returns the state that it ended in, `None` if it has ended already.
    fn finish(&self, id: GoalId, event: GoalEvent, result: A::Result) -> Option<GoalState>;
}

/// A goal ended as canceled that nobody asked to cancel.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "goal {goal} of action `{action}` cannot end as canceled, since it is not canceling, and was aborted; look at \
     `is_cancel_requested` before, or call `abort`"
)]
pub struct NotCanceling {
    /// The action.
    pub action: String,
    /// The goal.
    pub goal: GoalId,
}

/// An accepted goal, for whoever executes it: the callback of an [`ActionServer`](super::ActionServer), and whatever that
/// hands it on to.
///
/// It ends with [`succeed`](Self::succeed), [`abort`](Self::abort) or [`canceled`](Self::canceled). A handle that is dropped
/// without one of them, by a panic, say, aborts the goal with the default of its result. Once the server is dropped its goals
/// have been aborted, and handles do nothing.
///
/// All of these methods may be called in callbacks and on any thread. They may allocate and lock for a moment; none waits for
/// clients or the network.
///
/// ```
/// use futures::future::{Either, select};
/// use rospin_node::{Action, GoalHandle};
///
/// /// Executes a goal by some work that is dropped as soon as the goal is to be canceled.
/// async fn execute<A: Action>(goal: GoalHandle<A>, work: impl Future<Output = A::Result> + Unpin) {
///     match select(work, Box::pin(goal.cancel_requested())).await {
///         Either::Left((result, _)) => goal.succeed(result),
///         // It was asked for, so there is no error.
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

    /// Which goal it is.
    #[must_use]
    pub fn id(&self) -> GoalId {
        self.kept.id
    }

    /// What is to be done.
    #[must_use]
    pub fn goal(&self) -> &A::Goal {
        &self.kept.goal
    }

    /// Says that the execution of a [deferred](super::GoalResponse::AcceptAndDefer) goal begins now. Others began with their
    /// callback, and one that is canceling stays so.
    pub fn execute(&self) {
        self.outlet.execute(self.id());
    }

    /// Whether the callback's start is the beginning of the execution.
    pub(crate) fn is_deferred(&self) -> bool {
        self.kept.is_deferred
    }

    /// Sends feedback to whoever wants it.
    ///
    /// # Errors
    /// If there is no room for it, or it cannot be encoded: the feedback is lost.
    pub fn publish_feedback(&self, feedback: A::Feedback) -> Result<(), PublishError> {
        self.outlet.publish_feedback(self.id(), feedback)
    }

    /// Whether the execution should end: a client asked for it and the server agreed, or the server was dropped. Does not lock.
    #[must_use]
    pub fn is_cancel_requested(&self) -> bool {
        self.kept.stop.is_given()
    }

    /// Waits until the execution should end, see [`is_cancel_requested`](Self::is_cancel_requested).
    pub fn cancel_requested(&self) -> impl Future<Output = ()> + Send + 'static {
        self.kept.stop.wait()
    }

    /// The goal was reached.
    pub fn succeed(self, result: A::Result) {
        self.finish(GoalEvent::Succeed, result);
    }

    /// The goal is given up.
    pub fn abort(self, result: A::Result) {
        self.finish(GoalEvent::Abort, result);
    }

    /// The goal ends because it was to be canceled.
    ///
    /// # Errors
    /// If nobody asked for that: it then ends as aborted, with this result.
    pub fn canceled(self, result: A::Result) -> Result<(), NotCanceling> {
        let (action, goal) = (self.outlet.action().to_owned(), self.id());
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

impl<A: Action> Drop for GoalHandle<A> {
    fn drop(&mut self) {
        if !self.has_ended && self.outlet.finish(self.id(), GoalEvent::Abort, A::Result::default()).is_some() {
            let (goal, action) = (self.id(), self.outlet.action());
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
