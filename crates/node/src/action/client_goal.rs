//! A goal as its client has it.

use std::fmt;
use std::sync::Arc;

use super::Action;
use super::client::{ActionClient, CancelError};
use super::id::GoalId;
use super::parts::{GetResultRequest, GetResultResponse};
use super::state::GoalState;
use super::tracked::{FeedbackStream, Tracked};
use crate::client::CallError;
use crate::interfaces::action_msgs::{GoalInfo, GoalStatus};
use crate::interfaces::builtin_interfaces::Time;

/// How a goal ended.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct GoalOutcome<R> {
    /// Succeeded, canceled or aborted.
    pub state: GoalState,
    /// What came of it; the default where the execution said nothing.
    pub result: R,
}

/// Why there is no result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// The server does not know the goal, or not any more.
    #[error(
        "the server of action `{action}` does not know goal {goal} any more; ask before the server's result timeout has passed"
    )]
    Unknown {
        /// The action.
        action: String,
        /// The goal.
        goal: GoalId,
    },
    /// The server's answer is none: it says that the goal has not ended.
    #[error(
        "the server of action `{action}` answered with a result of goal {goal} whose status {status} is not a last one"
    )]
    NotTerminal {
        /// The action.
        action: String,
        /// The goal.
        goal: GoalId,
        /// The status.
        status: i8,
    },
    /// The last server went before the goal ended.
    #[error(
        "the server of action `{action}` has gone, and goal {goal} with it; send the goal again when there is a server"
    )]
    ServerGone {
        /// The action.
        action: String,
        /// The goal.
        goal: GoalId,
    },
    /// The server did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// A goal that a server accepted, for the client that sent it.
///
/// Dropping the handle does not cancel the goal. None of its methods waits; they lock for a moment, and those that ask the
/// server allocate and encode.
///
/// ```
/// use rospin_node::{Action, CancelError, ClientGoalHandle, GoalOutcome, Middleware, ResultError};
///
/// /// Gives up a goal that takes too long, and returns what came of it.
/// async fn give_up<A: Action>(
///     goal: ClientGoalHandle<A>,
/// ) -> Result<GoalOutcome<A::Result>, ResultError> {
///     match goal.cancel().await {
///         // It ends soon, has just ended, or goes on in spite of all.
///         Ok(()) | Err(CancelError::Terminated { .. } | CancelError::Rejected { .. }) => {}
///         Err(error) => println!("{error}"),
///     }
///     goal.result().await
/// }
/// ```
pub struct ClientGoalHandle<A: Action> {
    client: ActionClient<A>,
    tracked: Arc<Tracked<A::Feedback>>,
    stamp: Time,
}

impl<A: Action> ClientGoalHandle<A> {
    pub(crate) fn new(client: ActionClient<A>, tracked: Arc<Tracked<A::Feedback>>, stamp: Time) -> Self {
        tracked.accept(stamp);
        Self { client, tracked, stamp }
    }

    /// Which goal it is.
    #[must_use]
    pub fn id(&self) -> GoalId {
        self.tracked.id()
    }

    /// When the server accepted it, in the server's ROS time.
    #[must_use]
    pub fn stamp(&self) -> Time {
        self.stamp
    }

    /// The last state that the server told of.
    #[must_use]
    pub fn state(&self) -> GoalState {
        self.tracked.state()
    }

    /// The feedback of this goal, from the first one on as far as it was [kept](super::ActionClientOptions::keep_feedback).
    /// `None` while somebody has it.
    #[must_use]
    pub fn take_feedback(&self) -> Option<FeedbackStream<A>> {
        self.tracked.take_feedback()
    }

    /// Asks for the result now, and resolves when the goal has ended. Can be awaited anywhere, inside callbacks, too, and be
    /// asked for again.
    ///
    /// # Errors
    /// If the server has gone, has forgotten the goal, or does not answer.
    pub fn result(&self) -> impl Future<Output = Result<GoalOutcome<A::Result>, ResultError>> + Send + use<A> {
        let (action, goal) = (self.client.action().to_owned(), self.id());
        let call = self.client.result_client().call(GetResultRequest { goal_id: goal.into() });
        // Keeps the client until then.
        let (client, tracked) = (self.client.clone(), Arc::clone(&self.tracked));
        async move {
            let GetResultResponse { status, result } = match call.await {
                Ok(response) => response,
                Err(CallError::Unavailable { .. } | CallError::Unanswered { .. }) if tracked.is_orphan() => {
                    return Err(ResultError::ServerGone { action, goal });
                }
                Err(error) => return Err(error.into()),
            };
            drop(client);
            match GoalState::from_status(status) {
                Some(state) if state.is_terminal() => Ok(GoalOutcome { state, result }),
                _ if status == GoalStatus::STATUS_UNKNOWN => Err(ResultError::Unknown { action, goal }),
                _ => Err(ResultError::NotTerminal { action, goal, status }),
            }
        }
    }

    /// Asks the server now to cancel the goal, and resolves when it has agreed. The goal ends later: await its
    /// [`result`](Self::result).
    ///
    /// # Errors
    /// If the server refuses, the goal has ended, or the server does not answer.
    pub fn cancel(&self) -> impl Future<Output = Result<(), CancelError>> + Send + use<A> {
        let canceled = self.client.cancel(GoalInfo { goal_id: self.id().into(), stamp: Time::ZERO });
        async move { canceled.await.map(drop) }
    }
}

impl<A: Action> fmt::Debug for ClientGoalHandle<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ClientGoalHandle");
        shown.field("action", &self.client.action()).field("id", &self.id()).field("state", &self.state());
        shown.finish_non_exhaustive()
    }
}
