//! Who else has a topic.

use std::fmt;
use std::sync::Arc;

use super::{Topic, TopicState};
use crate::waiters::Waiting;

/// Who publishes and who subscribes to an in-process topic, whatever it carries.
#[derive(Clone)]
pub struct TopicEnds(Arc<dyn Ends>);

/// How many publishers and subscriptions a topic has.
#[derive(Clone, Copy)]
struct EndCounts {
    publishers: usize,
    subscriptions: usize,
}

trait Ends: Send + Sync {
    fn name(&self) -> &str;
    fn counts(&self) -> EndCounts;
    /// Resolves when somebody has come, unless it is so already.
    fn wait_unless(&self, is_so: fn(EndCounts) -> bool) -> Option<Waiting>;
}

impl<T> TopicState<T> {
    fn counts(&self) -> EndCounts {
        EndCounts { publishers: self.publishers, subscriptions: self.queues.len() }
    }
}

impl<T: Send + Sync + 'static> Ends for Topic<T> {
    fn name(&self) -> &str {
        &self.name
    }

    fn counts(&self) -> EndCounts {
        self.lock().counts()
    }

    fn wait_unless(&self, is_so: fn(EndCounts) -> bool) -> Option<Waiting> {
        // Whoever comes is counted before the waiters are woken.
        let mut waiters = self.waiters.lock();
        if is_so(self.lock().counts()) { None } else { Some(waiters.wait()) }
    }
}

impl TopicEnds {
    pub(super) fn of<T: Send + Sync + 'static>(topic: &Arc<Topic<T>>) -> Self {
        Self(Arc::clone(topic) as _)
    }

    /// How many publishers there are at this moment.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.0.counts().publishers
    }

    /// How many subscriptions there are at this moment.
    #[must_use]
    pub fn subscription_count(&self) -> usize {
        self.0.counts().subscriptions
    }

    /// Waits until there is a publisher.
    pub fn wait_for_publisher(&self) -> impl Future<Output = ()> + Send + use<> {
        self.clone().wait(|counts| counts.publishers > 0)
    }

    /// Waits until there is a subscription.
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
