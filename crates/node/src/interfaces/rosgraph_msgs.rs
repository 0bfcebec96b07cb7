//! Package `rosgraph_msgs`.

use serde::{Deserialize, Serialize};

use super::builtin_interfaces::Time;
use crate::message::Message;

/// What time it is, for those who do not look at a clock of their own: the topic `/clock`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Clock {
    /// The time.
    pub clock: Time,
}

impl Message for Clock {
    const TYPE: &str = "rosgraph_msgs/msg/Clock";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564");
}
