//! The topic of messages together with their origins.
//!
//! The type of this topic is the same for all messages. Behind these traits its code is compiled here. Without them it
//! would be compiled again in every program, because the compiler shares no generic code between crates that it
//! optimises.

use std::any::Any;
use std::sync::Arc;

use rospin_engine::{Context, Publisher, PublisherOptions, Queue, Source, SubscriptionOptions};

use super::encoded::CountedQueue;
use super::refused;
use crate::error::Refused;
use crate::info::Origin;

/// A message of any type.
type AnyMessage = Arc<dyn Any + Send + Sync>;

/// A message together with its origin.
pub(super) struct WithOrigin {
    message: AnyMessage,
    pub(super) origin: Origin,
}

impl WithOrigin {
    pub(super) fn new(message: AnyMessage, origin: Origin) -> Self {
        Self { message, origin }
    }

    /// Returns the message and its origin. The last subscription that holds them passes the message on as its only
    /// owner.
    pub(super) fn into_parts(taken: Arc<Self>) -> (AnyMessage, Origin) {
        match Arc::try_unwrap(taken) {
            Ok(Self { message, origin }) => (message, origin),
            Err(shared) => (Arc::clone(&shared.message), shared.origin),
        }
    }

    /// Returns the message; `None` if it has another type, which the name of the topic rules out.
    pub(super) fn message<M: Send + Sync + 'static>(&self) -> Option<&M> {
        self.message.downcast_ref()
    }
}

/// The publisher's end of the topic of messages with their origins.
pub(super) trait OriginPublisher: Send + Sync {
    /// Returns the number of subscriptions at this moment.
    fn subscription_count(&self) -> usize;
    /// Returns the messages that are kept for late subscriptions, the oldest first.
    fn kept(&self) -> Vec<Arc<WithOrigin>>;
    fn publish(&self, message: WithOrigin);
    /// Waits for room if the quality of service says so.
    fn wait_for_room(&self);
    /// Publishes a message. The drop of the result notifies the subscriptions and drops displaced messages: see
    /// [`Publisher::begin`].
    fn begin(&self, message: WithOrigin) -> Box<dyn Any>;
}

impl OriginPublisher for Publisher<WithOrigin> {
    fn subscription_count(&self) -> usize {
        self.subscription_count()
    }

    fn kept(&self) -> Vec<Arc<WithOrigin>> {
        self.kept()
    }

    fn publish(&self, message: WithOrigin) {
        self.publish(message);
    }

    fn wait_for_room(&self) {
        self.wait_for_room();
    }

    fn begin(&self, message: WithOrigin) -> Box<dyn Any> {
        Box::new(self.begin(message))
    }
}

pub(super) fn create_publisher(
    context: &Context,
    options: PublisherOptions,
) -> Result<Arc<dyn OriginPublisher>, Refused> {
    let publisher = context.create_local_publisher::<WithOrigin>(options).map_err(refused)?;
    Ok(Arc::new(publisher))
}

/// The subscription's end of the topic of messages with their origins.
pub(super) trait OriginQueue: CountedQueue + Source<Item = Arc<WithOrigin>, Attachment = ()> {}

impl OriginQueue for Queue<WithOrigin> {}

pub(super) fn create_queue(context: &Context, options: SubscriptionOptions) -> Result<Box<dyn OriginQueue>, Refused> {
    let queue = context.create_local_queue::<WithOrigin>(options).map_err(refused)?;
    Ok(Box::new(queue))
}
