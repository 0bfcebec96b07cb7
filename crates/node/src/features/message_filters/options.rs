//! Options of synchronizers and of their inputs.

use std::time::Duration;

use rospin_engine::Priority;

use super::matching::{Approximate, Exact, Limits, Matching};
use crate::options::{Common, common_setters, qos_setters};
use crate::qos::{Durability, Qos, Reliability};

/// Rule by which messages belong together.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Rule {
    Exact,
    Approximate { age_penalty: f64, max_interval_ns: i64 },
}

/// Options of a synchronizer: the rule by which messages belong together, and those of its entity.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use rospin::message_filters::SynchronizerOptions;
/// use rospin::msgs::std_msgs::msg::Header;
/// use rospin::{Context, ContextOptions, Node, Priority, Ros, SpinOptions};
///
/// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
/// let node = ros.create_node("fusion")?;
/// let options = SynchronizerOptions::approximate_time(5).age_penalty(0.2).max_interval(Duration::from_millis(50));
/// let options = options.name("fusion").priority(Priority(2)).deadline(Duration::from_millis(10)).max_in_flight(1);
/// let near = node.create_synchronizer(options, ("camera", "lidar"), |_: (Arc<Header>, Arc<Header>)| ())?;
/// let exact = SynchronizerOptions::exact_time(5).releases_group_at_await();
/// let same = node.create_synchronizer(exact, ("camera", "lidar"), async |_: (Arc<Header>, Arc<Header>)| ())?;
/// node.create_publisher("camera")?.publish(Header::default())?;
/// ros.executor().spin(SpinOptions::spin_all())?;
/// assert_eq!((near.name(), near.matched(), same.matched()), ("fusion", 0, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SynchronizerOptions {
    pub(crate) common: Common,
    queue_size: usize,
    rule: Rule,
}

impl SynchronizerOptions {
    /// Returns the options of a synchronizer that matches messages with equal stamps.
    ///
    /// It holds messages of at most `queue_size` stamps, at least 1, that wait for others. A set drops all older
    /// messages that wait.
    #[must_use]
    pub fn exact_time(queue_size: usize) -> Self {
        Self { common: Common::new(), queue_size: queue_size.max(1), rule: Rule::Exact }
    }

    /// Returns the options of a synchronizer that matches messages with similar stamps, by the algorithm of ROS's
    /// `ApproximateTime`:
    ///
    /// - A message is in one set at most. Sets follow each other on each topic; they do not cross.
    /// - No set fits between two sets. Of the sets that may come next, the one of the least span comes, where a later
    ///   end counts a tenth more ([`age_penalty`](Self::age_penalty)).
    /// - The sets depend on the stamps alone, not on the moments of arrival, as long as the messages of each topic
    ///   arrive in the order of their stamps and the queues suffice.
    ///
    /// It holds at most `queue_size` messages of each topic, at least 1, that wait for others. With 1, most messages
    /// are dropped. A set is decided only when no better one can come. So a set may wait for the next message of a
    /// topic, unless the topics have a [lower bound](SyncInput::lower_bound).
    #[must_use]
    pub fn approximate_time(queue_size: usize) -> Self {
        // The same penalty as in ROS 2, whose default is not that of ROS 1.
        let rule = Rule::Approximate { age_penalty: 0.1, max_interval_ns: i64::MAX };
        Self { common: Common::new(), queue_size: queue_size.max(1), rule }
    }

    /// Sets the penalty on sets that end later: by default 0.1, at least 0. A set that ends later is preferred only if
    /// its start is later by more than `1 + age_penalty` times as much as its end. A higher penalty decides sets
    /// earlier, and gives more of them. Matters for approximate time only.
    #[must_use]
    pub fn age_penalty(mut self, age_penalty: f64) -> Self {
        if let Rule::Approximate { age_penalty: of_rule, .. } = &mut self.rule {
            *of_rule = if age_penalty.is_nan() { 0.0 } else { age_penalty.max(0.0) };
        }
        self
    }

    /// Sets the longest span of a set, by default without a limit. Matters for approximate time only.
    #[must_use]
    pub fn max_interval(mut self, max_interval: Duration) -> Self {
        if let Rule::Approximate { max_interval_ns, .. } = &mut self.rule {
            *max_interval_ns = saturating_ns(max_interval);
        }
        self
    }

    common_setters!();

    pub(super) const fn queue_size(&self) -> usize {
        self.queue_size
    }

    /// Returns true if messages of an input are assumed to arrive in the order of their stamps.
    pub(super) const fn assumes_order(&self) -> bool {
        matches!(self.rule, Rule::Approximate { .. })
    }

    /// Creates the matching of messages of type `T`.
    pub(super) fn matching<T: Send + 'static>(&self, inputs: &[SyncInput]) -> Box<dyn Matching<T>> {
        let queue_size = self.queue_size;
        match self.rule {
            Rule::Exact => Box::new(Exact::new(inputs.len(), queue_size)),
            Rule::Approximate { age_penalty, max_interval_ns } => {
                let lower_bounds_ns = inputs.iter().map(|input| input.lower_bound_ns).collect();
                Box::new(Approximate::new(Limits { queue_size, age_penalty, max_interval_ns, lower_bounds_ns }))
            }
        }
    }
}

/// A topic of a synchronizer, with its quality of service. A plain `&str` is the topic.
///
/// ```
/// use std::time::Duration;
/// use rospin::message_filters::{SyncInput, SynchronizerOptions};
/// use rospin::msgs::std_msgs::msg::Header;
/// use rospin::Qos;
/// use rospin::{Context, ContextOptions, Node, Ros, SpinOptions};
///
/// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
/// let node = ros.create_node("fusion")?;
/// let camera = SyncInput::new("camera").keep_last(2).best_effort().lower_bound(Duration::from_millis(30));
/// let map = SyncInput::new("map").qos(Qos::keep_last(1)).transient_local();
/// let both = |_: (std::sync::Arc<Header>, std::sync::Arc<Header>)| ();
/// let sync = node.create_synchronizer(SynchronizerOptions::approximate_time(5), (camera, map), both)?;
/// ros.executor().spin(SpinOptions::spin_all())?;
/// assert_eq!(sync.matched(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SyncInput {
    pub(super) topic: String,
    pub(super) qos: Qos,
    pub(super) lower_bound_ns: i64,
}

impl SyncInput {
    /// Returns an input with a reliable subscription that keeps the last 10 messages until they are taken.
    #[must_use]
    pub fn new(topic: impl Into<String>) -> Self {
        Self { topic: topic.into(), qos: Qos::default(), lower_bound_ns: 0 }
    }

    /// Sets the depth of the subscription's queue; 0 counts as 1. Messages wait there until an executor's thread takes
    /// them. Then they wait for others in the synchronizer's own queue.
    #[must_use]
    pub fn keep_last(mut self, depth: usize) -> Self {
        self.qos = self.qos.with_depth(depth);
        self
    }

    /// Accepts that the network loses messages. Except over Zenoh, which connects all, only so does the input receive
    /// from best-effort publishers.
    #[must_use]
    pub const fn best_effort(mut self) -> Self {
        self.qos.reliability = Reliability::BestEffort;
        self
    }

    /// Makes the input also receive the messages that transient local publishers kept. Except over Zenoh, which
    /// connects all, it then receives from no other publishers.
    #[must_use]
    pub const fn transient_local(mut self) -> Self {
        self.qos.durability = Durability::TransientLocal;
        self
    }

    /// Promises that stamps of successive messages of this topic are at least that far apart; zero, the default,
    /// promises nothing. It changes no set of approximate time, but lets the synchronizer decide sets earlier. If the
    /// promise is broken, the log says so once, and a set may not be the best one.
    ///
    /// Without it, a set may wait for the next message of the topic whose message is the oldest of the set. A bound of
    /// at least twice the set's span saves this wait. Topics of similar rates all need one, since each may have the
    /// oldest message. Stamps jitter even if the publisher is a periodic timer: take less than the period, such as half
    /// of it.
    #[must_use]
    pub fn lower_bound(mut self, between_messages: Duration) -> Self {
        self.lower_bound_ns = saturating_ns(between_messages);
        self
    }

    qos_setters!();
}

impl From<&str> for SyncInput {
    fn from(topic: &str) -> Self {
        Self::new(topic)
    }
}

fn saturating_ns(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
