//! Publication of a subscription's [statistics](crate::statistics).

use std::sync::Arc;

use rospin_engine::{Clock, Failures, GroupGone, SourceError, Timer, TimerError, TimerOptions};
use rospin_msgs::statistics_msgs::msg::MetricsMessage;

use crate::error::TopicError;
use crate::group::Group;
use crate::node::Node;
use crate::options::PublisherOptions;
use crate::publisher::Publisher;
use crate::statistics::{Collector, TopicStatisticsOptions};

/// The statistics of a subscription before its group has the timer that publishes them.
pub(super) struct Prepared {
    collector: Arc<Collector>,
    publisher: Publisher<MetricsMessage>,
    timer: TimerOptions,
    failures: Failures,
}

impl Prepared {
    /// Prepares the statistics of the subscription `entity` to `topic`. Returns `None` if neither its options nor its
    /// node enable them.
    pub(super) fn new(
        node: &Node,
        group: &dyn Group,
        options: TopicStatisticsOptions,
        topic: &str,
        entity: &str,
    ) -> Result<Option<Self>, TopicError> {
        if !options.is_enabled(node.enables_topic_statistics()) {
            return Ok(None);
        }
        let TopicStatisticsOptions { topic: publish_topic, period, qos, .. } = options;
        if period.is_zero() {
            return Err(TopicError::StatisticsPeriod { topic: topic.to_owned() });
        }
        let name = format!("{entity}/statistics");
        let clock: &Clock = group.context().clock();
        Ok(Some(Self {
            collector: Arc::new(Collector::new(node.name(), clock)),
            publisher: node.create_publisher(PublisherOptions::new(publish_topic).qos(qos))?,
            failures: group.failures(&name),
            timer: TimerOptions::periodic(period).name(name),
        }))
    }

    pub(super) fn collector(&self) -> Arc<Collector> {
        Arc::clone(&self.collector)
    }

    /// Creates the timer that publishes. Its drop ends the statistics.
    pub(super) fn start(self, group: &impl Group) -> Result<Timer, SourceError> {
        let Self { collector, publisher, timer, failures } = self;
        let publish = move || {
            for message in collector.take() {
                if let Err(error) = publisher.publish(message) {
                    failures.report(error.to_string());
                }
            }
        };
        group.create_inner_timer(timer, publish).map_err(|error| match error {
            TimerError::GroupGone(gone) => gone.into(),
            // The period is positive, so this is the only error of a timer.
            _ => GroupGone { group: group.name().to_owned() }.into(),
        })
    }
}
