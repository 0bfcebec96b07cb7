//! Action types, with the names that they have in ROS 2.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::description::Description;

/// An action type. Goal, result and feedback are structs with serde's derives.
///
/// ```
/// use rospin_wire::Action;
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
    /// Type of the goal, which a client sends.
    type Goal: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
    /// Type of the result. The server sends its default if there is no result: for a goal that is unknown, or whose
    /// handle was dropped.
    type Result: Serialize + DeserializeOwned + Clone + Default + Send + Sync + 'static;
    /// Type of the feedback: the progress that the server reports.
    type Feedback: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
    /// Name of the type as `ros2 interface list` shows it: package, `action`, name.
    const TYPE: &'static str;
    /// Hash of the service `_SendGoal`, `RIHS01_` and 64 digits. Zenoh matches endpoints by it; DDS does not. An
    /// endpoint without a hash is matched over Zenoh only with others without one.
    const SEND_GOAL_HASH: Option<&'static str> = None;
    /// Hash of the service `_GetResult`.
    const GET_RESULT_HASH: Option<&'static str> = None;
    /// Hash of the message `_FeedbackMessage`.
    const FEEDBACK_MESSAGE_HASH: Option<&'static str> = None;
    /// Description of the service `_SendGoal`, which generated types have. Nodes send it to those that ask
    /// `~/get_type_description`.
    const SEND_GOAL_DESCRIPTION: Option<&'static Description> = None;
    /// Description of the service `_GetResult`.
    const GET_RESULT_DESCRIPTION: Option<&'static Description> = None;
    /// Description of the message `_FeedbackMessage`.
    const FEEDBACK_MESSAGE_DESCRIPTION: Option<&'static Description> = None;
}
