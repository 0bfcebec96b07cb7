//! Handles of synchronizers.

use std::fmt;
use std::sync::Arc;

use rospin_engine::{Entity, JumpCallback, LossCause};

use super::source::Counts;
use crate::graph::Presence;
use crate::matches::Matches;
use crate::node::Node;
use crate::sync::atomic::Ordering;

/// Synchronizer of several topics, whose callback gets their messages that belong together.
///
/// Dropping the handle removes the entity: from the executor's next pick on its callback does not run any more. One
/// that is running is not waited for.
#[must_use = "the synchronizer is removed when its handle is dropped"]
pub struct Synchronizer {
    pub(super) entity: Entity,
    pub(super) counts: Arc<Counts>,
    pub(super) matches: Vec<Box<dyn Matches>>,
    pub(super) _reset: JumpCallback,
    pub(super) _presences: Vec<Presence>,
    pub(super) _node: Node,
}

impl Synchronizer {
    /// Returns the entity's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.entity.name()
    }

    /// Returns the number of sets that were taken for the callback.
    #[must_use]
    pub fn matched(&self) -> u64 {
        self.counts.matched.load(Ordering::Relaxed)
    }

    /// Returns the number of messages of that topic that were in no set of the callback, by the topic's place among the
    /// inputs.
    ///
    /// # Panics
    /// If there are no more than `input` inputs.
    #[must_use]
    pub fn unmatched(&self, input: usize) -> u64 {
        self.counts.unmatched[input].load(Ordering::Relaxed)
    }

    /// Returns the number of messages of all topics that were lost for that cause, such as those that were
    /// [unmatched](LossCause::Unmatched), or that newer ones displaced from the [full](LossCause::QueueFull) queue of a
    /// subscription.
    #[must_use]
    pub fn lost(&self, cause: LossCause) -> u64 {
        self.entity.lost(cause)
    }

    /// Returns the number of runs of the callback that ended after their deadlines: the one that the options or a
    /// deployment file set. They are counted under every policy.
    #[must_use]
    pub fn missed_deadlines(&self) -> u64 {
        self.entity.missed_deadlines()
    }

    /// Returns the number of publishers that a topic is matched with, by the topic's place among the inputs, as far as
    /// discovery knows at this moment.
    ///
    /// # Panics
    /// If there are no more than `input` inputs.
    #[must_use]
    pub fn publisher_count(&self, input: usize) -> usize {
        self.matches[input].count()
    }

    /// Returns a future that resolves once each topic has been matched with a publisher.
    ///
    /// Cancel safe: a future that is dropped early has no effect.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use rospin::monitoring::LossCause;
    /// use rospin::message_filters::SynchronizerOptions;
    /// use rospin::msgs::std_msgs::msg::Header;
    /// use rospin::{Context, ContextOptions, Node, Ros, SpinOptions};
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node("fusion")?;
    /// let options = SynchronizerOptions::exact_time(1).name("fusion");
    /// let sync = node.create_synchronizer(options, ("camera", "lidar"), |_: (Arc<Header>, Arc<Header>)| ())?;
    /// let camera = node.create_publisher("camera")?;
    /// let _lidar = node.create_publisher::<Header>("lidar")?;
    /// ros.spin_until(sync.wait_for_publishers())?;
    /// for sec in 1..=3 {
    ///     let mut header = Header::default();
    ///     header.stamp.sec = sec;
    ///     camera.publish(header)?;
    /// }
    /// ros.executor().spin(SpinOptions::spin_all())?;
    /// // The lidar sends nothing, and one image waits for it.
    /// assert_eq!((sync.matched(), sync.unmatched(0), sync.lost(LossCause::Unmatched)), (0, 2, 2));
    /// assert_eq!((sync.name(), sync.publisher_count(1), sync.missed_deadlines()), ("fusion", 1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_for_publishers(&self) -> impl Future<Output = ()> + Send + use<> {
        let waits: Vec<_> = self.matches.iter().map(|matches| matches.wait()).collect();
        async move {
            for wait in waits {
                wait.await;
            }
        }
    }
}

impl fmt::Debug for Synchronizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Synchronizer").field("name", &self.name()).finish_non_exhaustive()
    }
}
