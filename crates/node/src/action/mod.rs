//! Actions: goals that take their time, tell how they get on, and can be canceled.
//!
//! Three services and two topics, all of them ordinary entities of callback groups.

mod accepted;
mod book;
mod client;
mod client_goal;
mod core;
mod desk;
mod feedback;
mod goal;
mod id;
mod options;
mod parts;
mod server;
mod signal;
mod state;
mod tracked;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use client::{ActionClient, CancelError, SendGoalError};
pub use client_goal::{ClientGoalHandle, GoalOutcome, ResultError};
pub use goal::{GoalHandle, NotCanceling};
pub use id::GoalId;
pub use options::{ActionClientOptions, ActionServerOptions};
pub use server::{ActionError, ActionServer, CancelResponse, GoalResponse};
pub use state::{GoalEvent, GoalState};
pub use tracked::FeedbackStream;

/// An action type: goal, result and feedback are structs with serde's derives.
///
/// ```
/// use rospin_node::Action;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize)]
/// struct Goal {
///     order: i32,
/// }
///
/// #[derive(Clone, Default, Serialize, Deserialize)]
/// struct Sequence {
///     sequence: Vec<i32>,
/// }
///
/// enum Fibonacci {}
///
/// impl Action for Fibonacci {
///     type Goal = Goal;
///     type Result = Sequence;
///     type Feedback = Sequence;
///     const TYPE: &str = "example_interfaces/action/Fibonacci";
/// }
/// ```
pub trait Action: Send + Sync + 'static {
    /// What a client wants done.
    type Goal: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
    /// What came of it. Its default goes out where there is none: a goal that nobody knows, or that was dropped.
    type Result: Serialize + DeserializeOwned + Clone + Default + Send + Sync + 'static;
    /// How it gets on.
    type Feedback: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
    /// The type's name as `ros2 interface list` shows it: package, `action`, name.
    const TYPE: &'static str;
    /// The hash of the service `_SendGoal`, `RIHS01_` and 64 digits. Zenoh matches by it; DDS does not.
    const SEND_GOAL_HASH: Option<&'static str> = None;
    /// The hash of the service `_GetResult`.
    const GET_RESULT_HASH: Option<&'static str> = None;
    /// The hash of the message `_FeedbackMessage`.
    const FEEDBACK_MESSAGE_HASH: Option<&'static str> = None;
}
