//! Promises of publishers, and demands of subscriptions.

use std::ops::BitOr;

/// Set of promises that a publisher makes, or of demands that a subscription makes. A subscription gets messages only
/// of publishers whose promises include all of its demands: quality of service as DDS and ROS 2 match it.
///
/// Between the threads of a process nothing is lost on the way, so the engine only compares the sets.
///
/// ```
/// use rospin_engine::{Context, ContextOptions, Guarantees, PublisherOptions, SubscriptionOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let options = SubscriptionOptions::new("scan").demands(Guarantees::RELIABLE);
/// let queue = context.create_local_queue::<u32>(options)?;
/// let unsure = context.create_local_publisher::<u32>(PublisherOptions::new("scan").promises(Guarantees::NONE))?;
/// let reliable = context.create_local_publisher::<u32>(PublisherOptions::new("scan"))?;
/// assert_eq!([unsure, reliable].map(|publisher| publisher.publish(1).queued), [0, 1]);
/// # Ok::<(), rospin_engine::TopicError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Guarantees(u8);

impl Guarantees {
    /// The empty set: the default of subscriptions.
    pub const NONE: Self = Self(0);
    /// Reliability: every message arrives, unless a queue is full.
    pub const RELIABLE: Self = Self(1);
    /// Durability "transient local": subscriptions that are created later get messages that were published before.
    pub const TRANSIENT_LOCAL: Self = Self(2);
    /// All guarantees: the default of publishers.
    pub const ALL: Self = Self(3);
    /// The message is in an envelope: a demand of queues of [mixed topics](crate::MixedQueue), which not every message
    /// of such a topic meets.
    pub(crate) const ENVELOPE: Self = Self(4);

    /// Returns true if all of `others` are among these.
    #[must_use]
    #[inline]
    pub const fn include(self, others: Self) -> bool {
        others.0 & !self.0 == 0
    }
}

impl BitOr for Guarantees {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
