//! Topic statistics: the age and the period of a subscription's messages on `/statistics`, as rclcpp publishes them.
//!
//! The subscription's end measures each message that is taken. A timer in the group of the
//! [subscription](crate::subscription) publishes what it measured, and begins anew. A subscription without statistics
//! looks at one empty option per message.

mod measured;
mod options;

pub(crate) use measured::Collector;
pub use options::{TopicStatisticsOptions, TopicStatisticsState};
