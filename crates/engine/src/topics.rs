//! Namespaces of topics.

use std::fmt;
use std::sync::Arc;

use crate::registry::Registry;

/// Namespace of in-process topics. Publishers and subscriptions of one topic name are connected if they are in the same
/// namespace. Cheap to clone; clones are the same namespace.
///
/// Every [`Context`](crate::Context) has one of its own, which is used unless
/// [options](crate::PublisherOptions::within) name another. It may be shared by several contexts.
///
/// ```
/// use rospin_engine::{Context, ContextOptions, PublisherOptions, SubscriptionOptions, Topics};
///
/// let context = Context::new(ContextOptions::new());
/// let robots = [Topics::new(), Topics::new()];
/// let scan = |robot: &Topics| context.create_local_publisher::<u32>(PublisherOptions::new("scan").within(robot));
/// let publishers = [scan(&robots[0])?, scan(&robots[1])?];
/// let queue = context.create_local_queue::<u32>(SubscriptionOptions::new("scan").within(&robots[1]))?;
/// assert_eq!(publishers.map(|publisher| publisher.publish(1).queued), [0, 1]);
/// # Ok::<(), rospin_engine::TopicError>(())
/// ```
#[derive(Clone, Default)]
pub struct Topics(pub(crate) Arc<Registry>);

impl Topics {
    /// Creates an empty namespace.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl fmt::Debug for Topics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Topics").finish_non_exhaustive()
    }
}
