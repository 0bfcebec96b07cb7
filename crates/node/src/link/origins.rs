//! The topic of messages together with their origins.
//!
//! The type of this topic is the same for all messages. Behind these traits its code is compiled here. Without them it would be
//! compiled again in every program, because the compiler shares no generic code between crates that it optimises.

use std::any::Any;
use std::sync::Arc;

use rospin_engine::{
    Closer, Context, Instant, Notifier, Pending, Publisher, PublisherOptions, Queue, Source, SubscriptionOptions,
    TakeError,
};

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

    /// Returns the message; `None` if it has another type, which the name of the topic rules out.
    pub(super) fn message<M: Send + Sync + 'static>(&self) -> Option<&M> {
        self.message.downcast_ref()
    }
}

/// The publisher's end.
pub(super) trait OriginPublisher: Send + Sync {
    /// Returns the number of subscriptions at this moment.
    fn subscription_count(&self) -> usize;
    /// Returns the messages that are kept for late subscriptions, the oldest first.
    fn kept(&self) -> Vec<Arc<WithOrigin>>;
    fn publish(&self, message: WithOrigin);
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

    fn begin(&self, message: WithOrigin) -> Box<dyn Any> {
        Box::new(self.begin(message))
    }
}

pub(super) fn create_publisher(
    context: &Context,
    options: PublisherOptions,
) -> Result<Arc<dyn OriginPublisher>, Refused> {
    let publisher = context.create_publisher::<WithOrigin>(options).map_err(refused)?;
    Ok(Arc::new(publisher))
}

/// The subscription's end of the topic: a source.
pub(super) trait OriginQueue: Send {
    fn oldest_arrival(&self) -> Option<Instant>;
    fn len(&self) -> usize;
    /// Drops the oldest message. Returns false if there is none.
    fn drop_oldest(&self) -> bool;
    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError>;
    fn try_take(&mut self) -> Result<Option<(AnyMessage, Origin)>, TakeError>;
    fn pending(&self) -> Pending;
    fn closer(&self) -> Option<Closer>;
}

impl OriginQueue for Queue<WithOrigin> {
    fn oldest_arrival(&self) -> Option<Instant> {
        self.oldest_arrival()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn drop_oldest(&self) -> bool {
        self.try_take().is_some()
    }

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        Source::attach(self, notifier)
    }

    fn try_take(&mut self) -> Result<Option<(AnyMessage, Origin)>, TakeError> {
        // The last subscription that holds it passes the message on as the only owner.
        Ok(Source::try_take(self)?.map(|taken| match Arc::try_unwrap(taken) {
            Ok(WithOrigin { message, origin }) => (message, origin),
            Err(shared) => (Arc::clone(&shared.message), shared.origin),
        }))
    }

    fn pending(&self) -> Pending {
        Source::pending(self)
    }

    fn closer(&self) -> Option<Closer> {
        Source::closer(self)
    }
}

pub(super) fn create_queue(context: &Context, options: SubscriptionOptions) -> Result<Box<dyn OriginQueue>, Refused> {
    let queue = context.create_queue::<WithOrigin>(options).map_err(refused)?;
    Ok(Box::new(queue))
}
