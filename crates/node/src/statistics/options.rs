//! Options of topic statistics.

use std::time::Duration;

use crate::qos::Qos;

/// State of a subscription's statistics, as rclcpp's `TopicStatisticsState`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TopicStatisticsState {
    /// Enabled if [`NodeOptions::enable_topic_statistics`](crate::NodeOptions::enable_topic_statistics) is.
    #[default]
    NodeDefault,
    /// Enabled.
    Enable,
    /// Disabled, whatever the node's options are.
    Disable,
}

/// Options of a subscription's statistics: the age and the period of its messages, which are published as
/// `statistics_msgs/msg/MetricsMessage`. A plain `true` enables them, and a plain `false` disables them.
///
/// ```
/// use rospin::msgs::std_msgs::msg::UInt32;
/// use rospin::monitoring::TopicStatisticsOptions;
/// use rospin::{Context, ContextOptions, Ros, SubscriptionOptions};
/// use std::time::Duration;
///
/// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
/// let node = ros.create_node("brake")?;
/// let statistics = TopicStatisticsOptions::new().publish_topic("scan_statistics").publish_period(Duration::from_secs(5));
/// let options = SubscriptionOptions::new("scan").topic_statistics(statistics);
/// let _scans = node.create_subscription(options, |_: UInt32| {})?;
/// let _others = node.create_subscription(SubscriptionOptions::new("map").topic_statistics(true), |_: UInt32| {})?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TopicStatisticsOptions {
    pub(crate) state: TopicStatisticsState,
    pub(crate) topic: String,
    pub(crate) period: Duration,
    pub(crate) qos: Qos,
}

impl TopicStatisticsOptions {
    /// Returns the options of statistics that are enabled, on `/statistics` once a second.
    #[must_use]
    pub fn new() -> Self {
        Self::default().state(TopicStatisticsState::Enable)
    }

    /// Sets the state.
    #[must_use]
    pub const fn state(mut self, state: TopicStatisticsState) -> Self {
        self.state = state;
        self
    }

    /// Sets the topic. The default is `/statistics`.
    #[must_use]
    pub fn publish_topic(mut self, topic: impl Into<String>) -> Self {
        self.topic = topic.into();
        self
    }

    /// Sets the time from one message to the next, on the steady clock, which is also what the statistics are about.
    /// The default is 1 s. Zero is an error when the subscription is created.
    #[must_use]
    pub const fn publish_period(mut self, period: Duration) -> Self {
        self.period = period;
        self
    }

    /// Sets the quality of service of the publisher. The default keeps the last 10 messages, as in rclcpp.
    #[must_use]
    pub const fn qos(mut self, qos: Qos) -> Self {
        self.qos = qos;
        self
    }

    pub(crate) const fn is_enabled(&self, node_default: bool) -> bool {
        match self.state {
            TopicStatisticsState::NodeDefault => node_default,
            TopicStatisticsState::Enable => true,
            TopicStatisticsState::Disable => false,
        }
    }
}

impl Default for TopicStatisticsOptions {
    /// Returns the options of statistics that are enabled if the node's options say so.
    fn default() -> Self {
        Self {
            state: TopicStatisticsState::NodeDefault,
            topic: "/statistics".to_owned(),
            period: Duration::from_secs(1),
            qos: Qos::default(),
        }
    }
}

impl From<bool> for TopicStatisticsOptions {
    fn from(yes: bool) -> Self {
        Self::default().state(if yes { TopicStatisticsState::Enable } else { TopicStatisticsState::Disable })
    }
}
