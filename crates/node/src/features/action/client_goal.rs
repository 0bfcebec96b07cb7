//! A goal from its client's side.

use std::fmt;
use std::sync::Arc;

use rospin_wire::Action;

use super::client::{ActionClient, CancelError};
use super::id::GoalId;
use super::parts::{GetResultRequest, GetResultResponse};
use super::state::GoalState;
use super::tracked::{FeedbackStream, Tracked};
use crate::error::CallError;
use crate::interfaces::action_msgs::{GoalInfo, GoalStatus};
use crate::interfaces::builtin_interfaces::Time;

/// End of a goal: the state in which it ended, and its result.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct GoalOutcome<R> {
    /// The goal's last state: succeeded, canceled or aborted.
    pub state: GoalState,
    /// The goal's result. It is the default if the execution gave none.
    pub result: R,
}

/// Reasons for which there is no result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// The server does not know the goal, or has forgotten it.
    #[error(
        "the server of action `{action}` does not know goal {goal} any more; ask before the server's result timeout has passed"
    )]
    Unknown {
        /// Name of the action, as the client has it.
        action: String,
        /// Id of the goal.
        goal: GoalId,
    },
    /// The server's answer is invalid: its status is not terminal.
    #[error(
        "the server of action `{action}` answered with a result of goal {goal} whose status {status} is not terminal"
    )]
    NotTerminal {
        /// Name of the action, as the client has it.
        action: String,
        /// Id of the goal.
        goal: GoalId,
        /// Status in the server's answer, a number of `action_msgs/msg/GoalStatus`.
        status: i8,
    },
    /// The last server went before the goal ended.
    #[error(
        "the server of action `{action}` has gone, and goal {goal} with it; send the goal again when there is a server"
    )]
    ServerGone {
        /// Name of the action, as the client has it.
        action: String,
        /// Id of the goal.
        goal: GoalId,
    },
    /// The call to the server failed: there is no server, the request was not sent, or there is no response.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// A goal that a server accepted, for the client that sent it.
///
/// Dropping the handle does not cancel the goal. The methods lock for a moment. Those that send a request also allocate
/// and encode, and may wait for room on a connection, as [`Client::call`](crate::Client::call) does.
///
/// ```
/// use rospin::action::{Action, CancelError, ClientGoalHandle, GoalOutcome, ResultError};
/// use rospin::middleware::Middleware;
///
/// /// Cancels a goal that takes too long, and returns its outcome.
/// async fn give_up<A: Action>(
///     goal: ClientGoalHandle<A>,
/// ) -> Result<GoalOutcome<A::Result>, ResultError> {
///     match goal.cancel().await {
///         // The goal ends soon, has just ended, or the server does not cancel it.
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
        tracked.accept(stamp, &client.servers().there());
        Self { client, tracked, stamp }
    }

    /// Returns the goal's id.
    #[must_use]
    pub fn id(&self) -> GoalId {
        self.tracked.id()
    }

    /// Returns the time at which the server accepted the goal, in the server's ROS time.
    #[must_use]
    pub fn stamp(&self) -> Time {
        self.stamp
    }

    /// Returns the last state that the server has reported: accepted before its first report.
    #[must_use]
    pub fn state(&self) -> GoalState {
        self.tracked.state()
    }

    /// Returns the feedback of this goal, from the first message on, as far as it was
    /// [kept](super::ActionClientOptions::keep_feedback). Returns `None` while another stream of this goal's feedback
    /// exists.
    #[must_use]
    pub fn take_feedback(&self) -> Option<FeedbackStream<A>> {
        self.tracked.take_feedback()
    }

    /// Requests the result at once. The future resolves when the goal has ended. It can be awaited anywhere, also
    /// inside callbacks, and the result can be requested again. If the action has several servers, the first answer
    /// counts, also that of one that does not know the goal.
    ///
    /// Cancel safe: a future that is dropped early loses this answer. The result can be requested again.
    ///
    /// # Errors
    /// If the server has gone, does not know the goal, or does not answer.
    pub fn result(&self) -> impl Future<Output = Result<GoalOutcome<A::Result>, ResultError>> + Send + use<A> {
        let action = self.client.action().to_owned();
        let goal = self.id();
        let call = self.client.result_client().call(GetResultRequest { goal_id: goal.into() });
        // The future keeps the client alive until it resolves.
        let client = self.client.clone();
        let tracked = Arc::clone(&self.tracked);
        async move {
            let GetResultResponse { status, result } = match call.await {
                Ok(response) => response,
                Err(CallError::Unavailable { .. } | CallError::Unanswered { .. }) if tracked.is_orphan() => {
                    return Err(ResultError::ServerGone { action, goal });
                }
                Err(error) => return Err(error.into()),
            };
            let is_only_server = client.servers().there().count() <= 1;
            drop(client);
            match GoalState::from_status(status) {
                Some(state) if state.is_terminal() => {
                    tracked.conclude();
                    Ok(GoalOutcome { state, result })
                }
                _ if status == GoalStatus::STATUS_UNKNOWN => {
                    // All servers get the request. One that does not know the goal may answer before the one that
                    // executes it, and its answer does not say whose it is.
                    if is_only_server {
                        tracked.end();
                    }
                    Err(ResultError::Unknown { action, goal })
                }
                _ => Err(ResultError::NotTerminal { action, goal, status }),
            }
        }
    }

    /// Asks the server at once to cancel the goal. The future resolves when the server has agreed. The goal ends
    /// later: await its [`result`](Self::result).
    ///
    /// Cancel safe: a future that is dropped early loses the answer. The request is sent in any case.
    ///
    /// # Errors
    /// If the server refuses, does not know the goal, or does not answer, or the goal has ended.
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
