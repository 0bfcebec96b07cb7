//! The publisher's end of a topic.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::publish::{AnyPublisher, Begun, Delivery};
use super::{AnyMessage, MessageType, TopicEnds, TopicError};
use crate::context::Context;
use crate::guarantees::Guarantees;
use crate::options::PublisherOptions;
use crate::sync::atomic::Ordering;

/// The error of [`Publisher::try_publish`] if no subscription got the message. It returns the message.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("topic `{topic}` has no subscription (any more); the message is returned")]
pub struct NoSubscription<T> {
    /// The name of the topic.
    pub topic: String,
    /// The message, which no subscription got.
    pub message: Arc<T>,
}

impl<T> fmt::Debug for NoSubscription<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoSubscription").field("topic", &self.topic).finish_non_exhaustive()
    }
}

/// The error of [`Publisher::publish_if_room`] if the queue of a subscription is full. It returns the message, which no
/// subscription got.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("a subscription of topic `{topic}` has a full queue; no subscription got the message, which is returned")]
pub struct NoRoom<T> {
    /// The name of the topic.
    pub topic: String,
    /// The message.
    pub message: Arc<T>,
}

impl<T> fmt::Debug for NoRoom<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoRoom").field("topic", &self.topic).finish_non_exhaustive()
    }
}

/// A message that is in its queues, while the rest of publishing is still to be done: see [`Publisher::begin`].
#[must_use = "its drop wakes the subscriptions' executors"]
pub struct Published<T> {
    pub(super) begun: Begun,
    pub(super) messages: PhantomData<fn(T) -> T>,
}

impl<T> Published<T> {
    /// Returns the delivery of the message.
    #[must_use]
    pub const fn delivery(&self) -> Delivery {
        self.begun.delivery
    }
}

impl<T> fmt::Debug for Published<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Published").field("delivery", &self.delivery()).finish_non_exhaustive()
    }
}

/// Publisher of messages of type `T` on a local topic: a topic of its context, no ROS topic. Cheap to clone; clones are
/// the same publisher.
///
/// ```
/// use std::sync::Arc;
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let group = executor.create_group("listener", Vec::new());
/// let publisher = context.create_local_publisher::<String>("chatter")?;
/// let _subscription =
///     group.create_local_subscription("chatter", |heard: &mut Vec<String>, message: Arc<String>| {
///         heard.push(message.to_string());
///     })?;
///
/// assert_eq!(publisher.publish("hello".to_owned()).queued, 1);
/// executor.spin(SpinOptions::spin_all())?;
/// assert_eq!(group.into_payload().unwrap(), ["hello"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Publisher<T: Send + Sync + 'static> {
    /// A publisher on a topic whose messages are of type `T`.
    any: Arc<AnyPublisher>,
    /// The type of the messages, which even a subtype does not replace.
    messages: PhantomData<fn(T) -> T>,
}

impl Context {
    /// Creates a publisher on a local topic: a topic of this context, no ROS topic. A plain `&str` is its name.
    ///
    /// # Errors
    /// If the topic carries messages of another type, or if it keeps more than [`DEPTH_MAX`](crate::DEPTH_MAX)
    /// messages.
    pub fn create_local_publisher<T: Send + Sync + 'static>(
        &self,
        options: impl Into<PublisherOptions>,
    ) -> Result<Publisher<T>, TopicError> {
        Publisher::new(self, options.into())
    }
}

impl<T: Send + Sync + 'static> Publisher<T> {
    pub(crate) fn new(context: &Context, options: PublisherOptions) -> Result<Self, TopicError> {
        let any = AnyPublisher::new(context, options, MessageType::of::<Arc<T>>(), Guarantees::NONE)?;
        Ok(Self { any: Arc::new(any), messages: PhantomData })
    }

    /// Returns the topic's name.
    #[must_use]
    pub fn topic(&self) -> &str {
        &self.any.topic.name
    }

    /// Returns the number of subscriptions at this moment, whatever they [demand](crate::Guarantees). Neither blocks
    /// nor locks.
    #[must_use]
    pub fn subscription_count(&self) -> usize {
        self.any.topic.subscriptions.load(Ordering::Acquire) as usize
    }

    /// Returns the messages that the publisher keeps for [late subscriptions](PublisherOptions::transient_local), the
    /// oldest first. Allocates.
    #[must_use]
    pub fn kept(&self) -> Vec<Arc<T>> {
        // SAFETY: the topic's messages are of type `T`.
        self.any.kept().into_iter().map(|message| unsafe { message.into_pointer() }).collect()
    }

    /// Returns a view of the topic's publishers and subscriptions.
    #[must_use]
    pub fn ends(&self) -> TopicEnds {
        TopicEnds::of(&self.any.topic)
    }

    /// Gives the message to every subscription of the topic that [demands](crate::SubscriptionOptions::demands) no more
    /// than this publisher [promises](PublisherOptions::promises).
    ///
    /// May wait for a thread that publishes on the same topic, or adds or removes a publisher or subscription. That
    /// thread [inherits](crate::os#what-urgent-threads-may-wait-for) the caller's priority, so the wait is short. Never
    /// waits for a subscription's callback, unless the options [say so](PublisherOptions::wait_for_room).
    ///
    /// Allocates only to put a message into an `Arc` that is not in one, and if more than 7 queues are full.
    pub fn publish(&self, message: impl Into<Arc<T>>) -> Delivery {
        self.any.publish(AnyMessage::new(message.into()), self.any.promises)
    }

    /// Publishes the message like [`publish`](Self::publish), but leaves the rest to the drop of the result: sleeping
    /// executors are woken and wakers called then, and messages that made room are dropped. The former is a system
    /// call, and the others may be user code. An executor that is awake may run the callback before that.
    ///
    /// For code that publishes under a lock of its own: drop the result after the unlock. Never waits for room; for
    /// that, call [`wait_for_room`](Self::wait_for_room) before the lock is taken.
    pub fn begin(&self, message: impl Into<Arc<T>>) -> Published<T> {
        let begun = self.any.begin(AnyMessage::new(message.into()), self.any.promises);
        Published { begun, messages: PhantomData }
    }

    /// Waits for room as [`publish`](Self::publish) does, if the options [say so](PublisherOptions::wait_for_room), and
    /// otherwise not at all. Other publishers may take the room before the next message is published.
    pub fn wait_for_room(&self) {
        self.any.wait_for_room(self.any.promises);
    }

    /// Publishes the message like [`publish`](Self::publish), but only if that displaces no message: never waits for
    /// room, and loses nothing.
    ///
    /// ```
    /// use rospin_engine::{Context, ContextOptions, PublisherOptions, SubscriptionOptions};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let publisher = context.create_local_publisher::<u32>(PublisherOptions::new("scan").transient_local(1))?;
    /// assert_eq!(publisher.try_publish(1).unwrap_err().message, 1.into(), "nobody gets it");
    /// let queue = context.create_local_queue::<u32>(SubscriptionOptions::new("scan").keep_last(1))?;
    /// publisher.wait_for_room();
    /// publisher.publish_if_room(2)?;
    /// let refused = publisher.publish_if_room(3).unwrap_err();
    /// assert_eq!((*refused.message, refused.topic.as_str()), (3, publisher.topic()));
    /// // The rest of publishing, such as waking an executor, comes with the drop.
    /// let begun = publisher.begin(4);
    /// assert_eq!(begun.delivery().displaced, 1);
    /// drop(begun);
    /// assert_eq!((publisher.subscription_count(), *publisher.kept()[0]), (1, 4));
    /// assert_eq!(queue.try_take().as_deref(), Some(&4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`NoRoom`] with the message if the queue of a subscription is full. No subscription gets the message then.
    pub fn publish_if_room(&self, message: impl Into<Arc<T>>) -> Result<Delivery, NoRoom<T>> {
        self.any.publish_if_room(AnyMessage::new(message.into()), self.any.promises).map_err(|message| {
            // SAFETY: the topic's messages are of type `T`.
            NoRoom { topic: self.topic().to_owned(), message: unsafe { message.into_pointer() } }
        })
    }

    /// Publishes the message like [`publish`](Self::publish), and returns it if no subscription got it: the topic has
    /// none, or all of them demand more than the publisher promises.
    ///
    /// # Errors
    /// [`NoSubscription`] with the message. A [transient local](PublisherOptions::transient_local) publisher keeps the
    /// message nevertheless.
    pub fn try_publish(&self, message: impl Into<Arc<T>>) -> Result<Delivery, NoSubscription<T>> {
        let message = message.into();
        match self.publish(Arc::clone(&message)) {
            Delivery { queued: 0, .. } => Err(NoSubscription { topic: self.topic().to_owned(), message }),
            delivery => Ok(delivery),
        }
    }
}

impl<T: Send + Sync + 'static> Clone for Publisher<T> {
    fn clone(&self) -> Self {
        Self { any: Arc::clone(&self.any), messages: PhantomData }
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Publisher<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("topic", &self.topic()).finish_non_exhaustive()
    }
}
