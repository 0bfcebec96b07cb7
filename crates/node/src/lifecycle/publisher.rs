//! Publishers that send messages only while their node is active.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::machine::State;
use super::stage::Stage;
use crate::error::PublishError;
use crate::message::{Message, Outgoing};
use crate::publisher::Publisher;

/// Publisher that sends messages while its [`LifecycleNode`](crate::LifecycleNode) is active. In every other state it drops
/// them, also in `on_activate` and `on_deactivate`. Cheap to clone; clones are the same publisher.
///
/// [`LifecycleHandle::create_publisher`](super::LifecycleHandle::create_publisher) creates it.
pub struct LifecyclePublisher<M: Message> {
    publisher: Publisher<M>,
    stage: Arc<Stage>,
    silenced: Arc<AtomicU64>,
}

impl<M: Message> LifecyclePublisher<M> {
    /// Returns the publisher behind it, which sends in every state.
    pub(crate) const fn inner(&self) -> &Publisher<M> {
        &self.publisher
    }

    pub(super) fn new(publisher: Publisher<M>, stage: &Arc<Stage>) -> Self {
        Self { publisher, stage: Arc::clone(stage), silenced: Arc::default() }
    }

    /// Sends the message to all subscriptions of the topic if the node is active. Otherwise drops and counts it.
    ///
    /// Costs what [`Publisher::publish`] costs, and nothing for a dropped message.
    ///
    /// # Errors
    /// If the node is active and there is no room for the message, or it cannot be encoded.
    pub fn publish(&self, message: impl Outgoing<M>) -> Result<(), PublishError> {
        if self.is_activated() {
            return self.publisher.publish(message);
        }
        self.silenced.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Returns true if the node is active, so that messages are sent. Check it before making an expensive message.
    /// Neither blocks nor allocates.
    #[must_use]
    pub fn is_activated(&self) -> bool {
        self.stage.get() == State::Active
    }

    /// Returns the number of messages that were dropped because the node was not active. Neither blocks nor allocates.
    #[must_use]
    pub fn silenced(&self) -> u64 {
        self.silenced.load(Ordering::Relaxed)
    }

    /// Returns the topic's name as it was given.
    #[must_use]
    pub fn topic(&self) -> &str {
        self.publisher.topic()
    }

    /// Returns the number of matched subscriptions that discovery knows at this moment, whatever the node's state.
    #[must_use]
    pub fn subscription_count(&self) -> usize {
        self.publisher.subscription_count()
    }
}

impl<M: Message> Clone for LifecyclePublisher<M> {
    fn clone(&self) -> Self {
        Self { publisher: self.publisher.clone(), stage: Arc::clone(&self.stage), silenced: Arc::clone(&self.silenced) }
    }
}

impl<M: Message> fmt::Debug for LifecyclePublisher<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LifecyclePublisher").field("topic", &self.topic()).finish_non_exhaustive()
    }
}
