//! The publishers and subscriptions of a topic: how many there are, and waiting for them.

use std::fmt;
use std::sync::Arc;

use super::{Topic, TopicState};
use crate::waiters::Waiting;

/// A view of the publishers and subscriptions of an in-process topic, of any message type.
///
/// ```
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let publisher = context.create_local_publisher::<u32>("scan")?;
/// let ends = publisher.ends();
/// assert_eq!((ends.publisher_count(), ends.subscription_count()), (1, 0));
/// let queue = context.create_local_queue::<u32>("scan")?;
/// let both = async { (ends.wait_for_publisher().await, ends.wait_for_subscription().await) };
/// executor.spin_until(both, SpinOptions::new())?;
/// # drop(queue);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TopicEnds(Arc<dyn Ends>);

/// The number of publishers and subscriptions of a topic.
#[derive(Clone, Copy)]
struct EndCounts {
    publishers: usize,
    subscriptions: usize,
}

trait Ends: Send + Sync {
    fn name(&self) -> &str;
    fn counts(&self) -> EndCounts;
    /// Returns a future that resolves when a publisher or a subscription has come; `None` if `is_so` holds already.
    fn wait_unless(&self, is_so: fn(EndCounts) -> bool) -> Option<Waiting>;
}

impl TopicState {
    fn counts(&self) -> EndCounts {
        EndCounts { publishers: self.publishers, subscriptions: self.queues.len() }
    }
}

impl Ends for Topic {
    fn name(&self) -> &str {
        &self.name
    }

    fn counts(&self) -> EndCounts {
        self.lock().counts()
    }

    fn wait_unless(&self, is_so: fn(EndCounts) -> bool) -> Option<Waiting> {
        // A publisher or subscription is counted before it wakes the waiters, so none is missed under this lock.
        let mut waiters = self.waiters.lock();
        if is_so(self.lock().counts()) { None } else { Some(waiters.wait()) }
    }
}

impl TopicEnds {
    pub(super) fn of(topic: &Arc<Topic>) -> Self {
        Self(Arc::clone(topic) as _)
    }

    /// Returns the number of the topic's publishers at this moment.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.0.counts().publishers
    }

    /// Returns the number of the topic's subscriptions at this moment.
    #[must_use]
    pub fn subscription_count(&self) -> usize {
        self.0.counts().subscriptions
    }

    /// Returns a future that resolves once the topic has a publisher.
    ///
    /// Cancel safe: a future that is dropped early has no effect.
    pub fn wait_for_publisher(&self) -> impl Future<Output = ()> + Send + use<> {
        self.clone().wait(|counts| counts.publishers > 0)
    }

    /// Returns a future that resolves once the topic has a subscription.
    ///
    /// Cancel safe: a future that is dropped early has no effect.
    pub fn wait_for_subscription(&self) -> impl Future<Output = ()> + Send + use<> {
        self.clone().wait(|counts| counts.subscriptions > 0)
    }

    async fn wait(self, is_so: fn(EndCounts) -> bool) {
        while let Some(change) = self.0.wait_unless(is_so) {
            change.await;
        }
    }
}

impl fmt::Debug for TopicEnds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopicEnds").field("topic", &self.0.name()).finish_non_exhaustive()
    }
}
