//! Publishers.

use std::fmt;
use std::sync::Arc;

use ros2_client::WriteError;

use crate::matches::Matched;
use crate::message::{Message, Wire};
use crate::names;
use crate::node::{Node, Place};
use crate::options::PublisherOptions;
use crate::participant::End;
use crate::subscription::TopicError;

/// Why a message was not published.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// Subscriptions are so far behind, or the network is so slow, that there is no room for the message.
    #[error("topic `{topic}` has too many messages on their way; this one was not published")]
    Full {
        /// The topic.
        topic: String,
    },
    /// The middleware could not encode or send it.
    #[error("could not publish on topic `{topic}`: {reason}")]
    Failed {
        /// The topic.
        topic: String,
        /// What the middleware says.
        reason: String,
    },
}

/// Publishes messages on a topic. Cheap to clone; clones are the same publisher.
pub struct Publisher<M: Message>(Arc<Inner<M>>);

struct Inner<M: Message> {
    topic: String,
    publisher: ros2_client::Publisher<Wire<M>>,
    matched: Matched,
    _node: Node,
}

impl Node {
    /// Creates a publisher; a plain `&str` is its topic.
    ///
    /// # Errors
    /// If the topic's or the type's name is none, or the middleware refuses.
    pub fn create_publisher<M: Message>(
        &self,
        options: impl Into<PublisherOptions>,
    ) -> Result<Publisher<M>, TopicError> {
        let PublisherOptions { topic, qos } = options.into();
        let (name, message_type) = (names::topic(&topic, self.name())?, names::message_type(M::TYPE)?);
        let dds_name = self.dds_name(&name, "rt", "");
        let created = self.create(&dds_name, End::Writers, |Place { node, participant }| {
            participant.matches.register(|| {
                let dds_topic = node.create_topic(&name, message_type, &qos)?;
                let publisher = node.create_publisher(&dds_topic, Some(qos))?;
                let guid = publisher.guid();
                Ok((publisher, guid))
            })
        });
        let (publisher, matched) = created.map_err(|reason| TopicError::refused(&topic, reason))?;
        Ok(Publisher(Arc::new(Inner { topic, publisher, matched, _node: self.clone() })))
    }
}

impl<M: Message> Publisher<M> {
    /// The topic's name, as it was given.
    #[must_use]
    pub fn topic(&self) -> &str {
        &self.0.topic
    }

    /// Sends the message to all subscriptions of the topic.
    ///
    /// Encodes it on the calling thread and leaves sending to the middleware's. Allocates, and locks for a moment; does not
    /// wait for the network or for subscriptions, unless the [quality of service](PublisherOptions::qos) says so.
    ///
    /// # Errors
    /// If there is no room for it, or it cannot be encoded: the message is lost.
    pub fn publish(&self, message: M) -> Result<(), PublishError> {
        self.0.publisher.publish(Wire(message)).map_err(|error| {
            let topic = self.0.topic.clone();
            match error.forget_data() {
                WriteError::WouldBlock { .. } => PublishError::Full { topic },
                error => PublishError::Failed { topic, reason: error.to_string() },
            }
        })
    }

    /// With how many subscriptions it is matched, as far as discovery was listened to: it is an entity of the executor that
    /// [`Domain::join`](crate::Domain::join) was given.
    #[must_use]
    pub fn subscription_count(&self) -> usize {
        self.0.matched.count()
    }

    /// Waits until it is matched with a subscription.
    pub fn wait_for_subscription(&self) -> impl Future<Output = ()> + Send + use<M> {
        self.0.matched.wait()
    }
}

impl<M: Message> Clone for Publisher<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: Message> fmt::Debug for Publisher<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("topic", &self.topic()).finish_non_exhaustive()
    }
}
