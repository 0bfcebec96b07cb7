//! Subscriptions without a callback.

use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use rospin_core::Instant;

use crate::context::Context;
use crate::loss::LossCause;
use crate::options::SubscriptionOptions;
use crate::source::{Closer, Notifier, Pending, Source, TakeError};
use crate::topic::{TopicEnds, TopicError, TopicSource};

/// A subscription of a local topic, without a callback. Its owner takes the messages, on any thread, without an
/// executor.
///
/// It is for code that has a loop of its own: a dedicated thread, another runtime, a test. Subscriptions with a
/// callback are created on a [group](crate::CallbackGroup::create_local_subscription).
///
/// ```
/// use rospin_engine::{Context, ContextOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let queue = context.create_local_queue::<u32>("numbers")?;
/// let publisher = context.create_local_publisher::<u32>("numbers")?;
/// publisher.publish(1);
/// assert_eq!(queue.try_take().as_deref(), Some(&1));
/// assert_eq!(queue.try_take(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Queue<T: Send + Sync + 'static> {
    source: TopicSource<Arc<T>>,
}

impl Context {
    /// Creates a subscription of a local topic, without a callback, for code that has a loop of its own. A plain `&str`
    /// is its topic. Options that only matter to executors, such as a priority, are ignored.
    ///
    /// # Errors
    /// If the topic carries messages of another type, or if the depth is above [`DEPTH_MAX`](crate::DEPTH_MAX).
    pub fn create_local_queue<T: Send + Sync + 'static>(
        &self,
        options: impl Into<SubscriptionOptions>,
    ) -> Result<Queue<T>, TopicError> {
        Queue::new(self, &options.into())
    }
}

impl<T: Send + Sync + 'static> Queue<T> {
    pub(crate) fn new(context: &Context, options: &SubscriptionOptions) -> Result<Self, TopicError> {
        TopicSource::subscribe_alone(context, options).map(|source| Self { source })
    }

    /// Takes the oldest message. Neither blocks, nor locks, nor allocates.
    #[must_use]
    pub fn try_take(&self) -> Option<Arc<T>> {
        self.source.pop()
    }

    /// Returns true if there is nothing to take at this moment.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.source.any().is_empty()
    }

    /// Returns the number of messages that can be taken at this moment.
    #[must_use]
    pub fn len(&self) -> usize {
        self.source.any().len()
    }

    /// Returns the time at which the oldest message arrived, on the steady clock; `None` if there is no message. While
    /// a publisher displaces that message, the time may be that of a later one.
    #[must_use]
    pub fn oldest_arrival(&self) -> Option<Instant> {
        self.source.any().oldest()
    }

    /// Sets the waker that is called from now on whenever a message has arrived.
    ///
    /// The publisher's thread calls the waker, so it should neither block nor take messages. Messages that have arrived
    /// already do not call it. Any function can be a waker, by [`Wake`](std::task::Wake).
    ///
    /// ```
    /// use std::task::Waker;
    /// use rospin_engine::{Context, ContextOptions, LossCause, SubscriptionOptions};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let queue = context.create_local_queue::<u32>(SubscriptionOptions::new("numbers").keep_last(2))?;
    /// // An executor of another library would give the waker of a task.
    /// queue.set_waker(Waker::noop().clone());
    /// assert!(queue.is_empty() && queue.oldest_arrival().is_none());
    /// let publisher = context.create_local_publisher::<u32>("numbers")?;
    /// (1..=3).for_each(|number| drop(publisher.publish(number)));
    /// assert_eq!((queue.len(), queue.lost(LossCause::QueueFull), queue.ends().publisher_count()), (2, 1, 1));
    /// assert!(queue.oldest_arrival() <= Some(context.clock().now()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_waker(&self, waker: Waker) {
        self.source.any().set_waker(waker);
    }

    /// Returns a view of the topic's publishers and subscriptions.
    #[must_use]
    pub fn ends(&self) -> TopicEnds {
        self.source.any().ends()
    }

    /// Returns the number of messages that were lost so far for that cause.
    #[must_use]
    pub fn lost(&self, cause: LossCause) -> u64 {
        self.source.any().losses().get(cause)
    }
}

/// A queue can become the source of an entity, for example of one that filters it. From then on its losses count as the
/// entity's, also those from before.
impl<T: Send + Sync + 'static> Source for Queue<T> {
    type Item = Arc<T>;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.source.attach_alone(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Arc<T>>, TakeError> {
        self.source.try_take()
    }

    fn pending(&self) -> Pending {
        Source::pending(&self.source)
    }

    fn take_and_look(&mut self) -> Result<Option<(Arc<T>, Pending)>, TakeError> {
        self.source.take_and_look()
    }

    fn prefetch(&self, distance: usize) {
        self.source.prefetch(distance);
    }

    fn closer(&self) -> Option<Closer> {
        Some(Box::new(self.source.any().closer()))
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}
