//! Publishers that send messages only while their node is active.

use std::fmt;
use std::sync::Arc;

use super::machine::State;
use super::stage::Stage;
use crate::error::PublishError;
use crate::events::{EndEvents, PublisherSide};
use crate::features::event_callbacks::Eventful;
use crate::message::{Message, Outgoing};
use crate::publisher::Publisher;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Publisher that sends messages while its [`LifecycleNode`](crate::LifecycleNode) is active, and in its `on_activate`.
/// In every other state it drops them, also in `on_deactivate`, and logs a warning of the first one that it drops after
/// it has sent one. Cheap to clone; clones are the same publisher.
///
/// [`LifecycleHandle::create_publisher`](super::LifecycleHandle::create_publisher) creates it.
pub struct LifecyclePublisher<M: Message> {
    publisher: Publisher<M>,
    stage: Arc<Stage>,
    silence: Arc<Silence>,
}

/// The messages that a publisher dropped.
#[derive(Default)]
struct Silence {
    count: AtomicU64,
    /// True if a warning was logged since a message was sent.
    is_told: AtomicBool,
}

impl<M: Message> LifecyclePublisher<M> {
    pub(super) fn new(publisher: Publisher<M>, stage: &Arc<Stage>) -> Self {
        Self { publisher, stage: Arc::clone(stage), silence: Arc::default() }
    }

    /// Sends the message to all subscriptions of the topic if the node is active or being activated. Otherwise drops
    /// and counts it.
    ///
    /// Costs what [`Publisher::publish`] costs, and nothing for a dropped message, except for the first one, which is
    /// logged.
    ///
    /// # Errors
    /// If the message is sent, and there is no room for the message, or it cannot be encoded.
    pub fn publish(&self, message: impl Outgoing<M>) -> Result<(), PublishError> {
        if self.is_activated() {
            if self.silence.is_told.load(Ordering::Relaxed) {
                self.silence.is_told.store(false, Ordering::Relaxed);
            }
            return self.publisher.publish(message);
        }
        self.silence.count.fetch_add(1, Ordering::Relaxed);
        if !self.silence.is_told.swap(true, Ordering::Relaxed) {
            let topic = self.topic();
            let node = self.publisher.node().fully_qualified_name();
            log::warn!(
                target: "rospin",
                "a message on `{topic}` was not published, because node `{node}` is not active; further ones are dropped without a word"
            );
        }
        Ok(())
    }

    /// Returns true if the node is active or being activated, so that messages are sent. Check it before making an
    /// expensive message. Neither blocks nor allocates.
    #[must_use]
    pub fn is_activated(&self) -> bool {
        matches!(self.stage.get(), State::Active | State::Activating)
    }

    /// Returns the number of messages that were dropped because the node was not active. Neither blocks nor allocates.
    #[must_use]
    pub fn silenced(&self) -> u64 {
        self.silence.count.load(Ordering::Relaxed)
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
        Self { publisher: self.publisher.clone(), stage: Arc::clone(&self.stage), silence: Arc::clone(&self.silence) }
    }
}

impl<M: Message> Eventful for LifecyclePublisher<M> {
    type Side = PublisherSide;

    fn events(&self) -> &EndEvents {
        self.publisher.events()
    }

    fn entity_name(&self) -> String {
        self.publisher.entity_name()
    }
}

impl<M: Message> fmt::Debug for LifecyclePublisher<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LifecyclePublisher").field("topic", &self.topic()).finish_non_exhaustive()
    }
}
