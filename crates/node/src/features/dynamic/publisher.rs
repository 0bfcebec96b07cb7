//! Publishers whose message type is known only at run time.

use std::fmt;

use rospin_dynamic::{DynamicMessage, MessageType};

use crate::error::{PublishError, TopicError};
use crate::events::{EndEvents, PublisherSide};
use crate::features::event_callbacks::Eventful;
use crate::node::Node;
use crate::options::PublisherOptions;
use crate::publisher::Publisher;

/// Publisher of messages whose type is known only at run time. Cheap to clone; clones are the same publisher.
///
/// [`Node::create_dynamic_publisher`] creates it.
pub struct DynamicPublisher {
    message_type: MessageType,
    publisher: Publisher<DynamicMessage>,
}

impl Node {
    /// Creates a publisher of messages of that type. A plain `&str` is its topic. From then on the node can [describe
    /// the type](Self::add_message_type) to others.
    ///
    /// ```
    /// # use rospin::{Context, ContextOptions, Node, Ros};
    /// # use rospin::dynamic::{DynamicMessage, MessageType};
    /// # let prefixes = [concat!(env!("CARGO_MANIFEST_DIR"), "/../dynamic/tests/install")];
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
    /// If the topic's name is invalid, or the middleware refuses.
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

impl AsRef<Publisher<DynamicMessage>> for DynamicPublisher {
    fn as_ref(&self) -> &Publisher<DynamicMessage> {
        &self.publisher
    }
}

impl Eventful for DynamicPublisher {
    type Side = PublisherSide;

    fn events(&self) -> &EndEvents {
        Eventful::events(AsRef::<Publisher<DynamicMessage>>::as_ref(self))
    }

    fn entity_name(&self) -> String {
        AsRef::<Publisher<DynamicMessage>>::as_ref(self).entity_name()
    }
}

impl DynamicPublisher {
    /// Returns the topic's name as it was given.
    #[must_use]
    pub fn topic(&self) -> &str {
        self.publisher.topic()
    }

    /// Returns the topic's type.
    #[must_use]
    pub const fn message_type(&self) -> &MessageType {
        &self.message_type
    }

    /// Sends the message to all subscriptions of the topic, as [`Publisher::publish`] does.
    ///
    /// # Errors
    /// If the message has another type, there is no room for it, or it cannot be encoded. The message is lost then.
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

    /// Returns the number of matched subscriptions that discovery knows at this moment.
    #[must_use]
    pub fn subscription_count(&self) -> usize {
        self.publisher.subscription_count()
    }

    /// Returns a future that resolves once a subscription is matched.
    ///
    /// Cancel safe: a future that is dropped early has no effect.
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
