//! Actions, with the names that ROS 2 knows them by.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// An action type: goal, result and feedback are structs with serde's derives.
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
