//! Publishers and subscriptions of [messages as they travel](crate::serialized).

use crate::callback::SubscriptionCallback;
use crate::error::TopicError;
use crate::group::{Group, OwnGroup};
use crate::names::TypeName;
use crate::node::Node;
use crate::on::On;
use crate::options::{PublisherOptions, SubscriptionOptions};
use crate::publisher::Publisher;
use crate::serialized::{SerializedMessage, Undecoded};
use crate::subscription::{Draft, Subscription};

impl Node {
    /// Creates a publisher of encoded messages of that type, as rclcpp's `create_generic_publisher` does. A plain
    /// `&str` is its topic.
    ///
    /// Some middlewares connect only ends with the same type hash, so a type that is known by name alone may have to
    /// get its [hash](TypeName::with_hash): [`publishers_info_by_topic`](Self::publishers_info_by_topic) has those of
    /// other nodes.
    ///
    /// ```
    /// use rospin::message::{SerializedMessage, TypeName};
    /// use rospin::{Context, ContextOptions, Ros, SpinOptions};
    /// use rospin::msgs::std_msgs::msg::UInt32;
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node("recorder")?;
    /// let of_type = TypeName::new("std_msgs/msg/UInt32")?;
    /// let tape = node.create_group("tape", Vec::new())?;
    /// let _subscription = tape.create_serialized_subscription(
    ///     "count",
    ///     &of_type,
    ///     |tape: &mut Vec<SerializedMessage>, message: SerializedMessage| tape.push(message),
    /// )?;
    ///
    /// let publisher = node.create_serialized_publisher("count", &of_type)?;
    /// publisher.publish(SerializedMessage::serialize(&UInt32 { data: 7 })?)?;
    /// ros.executor().spin(SpinOptions::spin_all())?;
    /// assert_eq!(tape.into_payload().unwrap()[0].deserialize::<UInt32>()?.data, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the topic's name is invalid, or the middleware refuses.
    pub fn create_serialized_publisher(
        &self,
        options: impl Into<PublisherOptions>,
        message_type: &TypeName,
    ) -> Result<Publisher<SerializedMessage>, TopicError> {
        self.create_publisher_of(options.into(), message_type)
    }

    /// Creates a subscription of encoded messages on the node's own group. See [`On::create_serialized_subscription`].
    ///
    /// # Errors
    /// Those of [`On::create_serialized_subscription`], and if the node's [`Ros`](crate::Ros) was dropped.
    pub fn create_serialized_subscription<F, Form>(
        &self,
        options: impl Into<SubscriptionOptions>,
        message_type: &TypeName,
        callback: F,
    ) -> Result<Subscription, TopicError>
    where
        F: SubscriptionCallback<OwnGroup, SerializedMessage, Form>,
    {
        self.on(self.own_group_for_source()?).create_serialized_subscription(options, message_type, callback)
    }
}

impl<G: Group> On<G> {
    /// Creates a subscription of encoded messages of that type, as rclcpp's `create_generic_subscription` does. Its
    /// callback gets [`SerializedMessage`]s; nothing is decoded. [`Node::create_serialized_publisher`] has an example,
    /// and says what the type must have. The module [`callback`](crate::callback) lists the forms of `callback`.
    ///
    /// # Errors
    /// If the topic's name is invalid, the middleware refuses, or the group is gone.
    pub fn create_serialized_subscription<F, Form>(
        &self,
        options: impl Into<SubscriptionOptions>,
        message_type: &TypeName,
        callback: F,
    ) -> Result<Subscription, TopicError>
    where
        F: SubscriptionCallback<G, SerializedMessage, Form>,
    {
        let node = self.node();
        let group = self.group();
        let draft = Draft::of_type(node, group, options.into(), message_type, Undecoded, F::ASKS_FOR_INFO)?;
        draft.finish(group, callback)
    }
}
