//! Publishers of types that are known at run time.

use std::fmt;

use super::message::DynamicMessage;
use super::message_type::MessageType;
use crate::node::Node;
use crate::options::PublisherOptions;
use crate::publisher::{PublishError, Publisher};
use crate::subscription::TopicError;

/// Publishes messages of a type that is known at run time. Cheap to clone; clones are the same publisher.
///
/// See [`Node::create_dynamic_publisher`].
pub struct DynamicPublisher {
    message_type: MessageType,
    publisher: Publisher<DynamicMessage>,
}

impl Node {
    /// Creates a publisher of messages of that type; a plain `&str` is its topic. From then on the node
    /// [knows the type](Self::add_message_type).
    ///
    /// ```
    /// # use rospin_engine::{Context, ContextOptions};
    /// # use rospin_node::dynamic::{DynamicMessage, MessageType};
    /// # use rospin_node::{Ros, Node};
    /// # let prefixes = [concat!(env!("CARGO_MANIFEST_DIR"), "/tests/install")];
    /// # let node = Ros::in_process(&Context::new(ContextOptions::new())).create_node("driver")?;
    /// let twist = MessageType::find_in("geometry_msgs/msg/Twist", &prefixes)?;
    /// let publisher = node.create_dynamic_publisher("cmd_vel", &twist)?;
    /// let mut message = DynamicMessage::new(&twist);
    /// message.set("angular.z", -0.5)?;
    /// publisher.publish(message)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the topic's name is none, or the middleware refuses.
    pub fn create_dynamic_publisher(
        &self,
        options: impl Into<PublisherOptions>,
        message_type: &MessageType,
    ) -> Result<DynamicPublisher, TopicError> {
        let publisher = self.create_publisher_of(options.into(), &message_type.type_name())?;
        self.add_message_type(message_type);
        Ok(DynamicPublisher { message_type: message_type.clone(), publisher })
    }
}

impl DynamicPublisher {
    /// The topic's name, as it was given.
    #[must_use]
    pub fn topic(&self) -> &str {
        self.publisher.topic()
    }

    /// The type of the topic.
    #[must_use]
    pub const fn message_type(&self) -> &MessageType {
        &self.message_type
    }

    /// Sends the message to all subscriptions of the topic, as [`Publisher::publish`] does.
    ///
    /// # Errors
    /// If it is of another type, there is no room for it, or it cannot be encoded: the message is lost.
    pub fn publish(&self, message: DynamicMessage) -> Result<(), PublishError> {
        if *message.message_type() != self.message_type {
            let shown = |of: &MessageType| format!("{} ({})", of.name(), of.hash());
            return Err(PublishError::WrongType {
                topic: self.topic().to_owned(),
                expected: shown(&self.message_type),
                found: shown(message.message_type()),
            });
        }
        self.publisher.publish(message)
    }

    /// With how many subscriptions it is matched, as far as discovery knows at this moment.
    #[must_use]
    pub fn subscription_count(&self) -> usize {
        self.publisher.subscription_count()
    }

    /// Waits until it is matched with a subscription.
    pub fn wait_for_subscription(&self) -> impl Future<Output = ()> + Send + 'static {
        self.publisher.wait_for_subscription()
    }
}

impl Clone for DynamicPublisher {
    fn clone(&self) -> Self {
        Self { message_type: self.message_type.clone(), publisher: self.publisher.clone() }
    }
}

impl fmt::Debug for DynamicPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("DynamicPublisher");
        shown.field("topic", &self.topic()).field("type", &self.message_type.name()).finish_non_exhaustive()
    }
}
