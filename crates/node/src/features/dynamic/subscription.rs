//! Subscriptions whose message type is known only at run time.

use bytes::Bytes;
use rospin_dynamic::{DynamicMessage, DynamicSeed, MessageType};
use rospin_wire::cdr::{PayloadError, from_payload_with};

use crate::callback::SubscriptionCallback;
use crate::error::TopicError;
use crate::group::{Group, OwnGroup};
use crate::message::Decode;
use crate::node::Node;
use crate::on::On;
use crate::options::SubscriptionOptions;
use crate::subscription::{Draft, Subscription};

impl Decode for DynamicSeed {
    type Message = DynamicMessage;

    fn decode(&self, payload: &Bytes) -> Result<DynamicMessage, PayloadError> {
        from_payload_with(payload, self.clone())
    }
}

impl<G: Group> On<G> {
    /// Creates a subscription whose message type is known only at run time. Its callback gets a [`DynamicMessage`].
    /// The module [`callback`](crate::callback) lists the forms of `callback`.
    ///
    /// # Errors
    /// If the topic's name is invalid, the middleware refuses, or the group is gone.
    pub fn create_dynamic_subscription<F, Form>(
        &self,
        options: impl Into<SubscriptionOptions>,
        message_type: &MessageType,
        callback: F,
    ) -> Result<Subscription, TopicError>
    where
        F: SubscriptionCallback<G, DynamicMessage, Form>,
    {
        let seed = DynamicSeed::new(message_type);
        let type_name = message_type.type_name();
        let node = self.node();
        let draft = Draft::of_type(node, self.group(), options.into(), &type_name, seed, F::ASKS_FOR_INFO)?;
        node.add_message_type(message_type);
        draft.finish(self.group(), callback)
    }
}

impl Node {
    /// Creates a subscription whose message type is known only at run time, on the node's own group. See
    /// [`On::create_dynamic_subscription`].
    ///
    /// # Errors
    /// Those of [`On::create_dynamic_subscription`], and if the node's [`Ros`](crate::Ros) was dropped.
    pub fn create_dynamic_subscription<F, Form>(
        &self,
        options: impl Into<SubscriptionOptions>,
        message_type: &MessageType,
        callback: F,
    ) -> Result<Subscription, TopicError>
    where
        F: SubscriptionCallback<OwnGroup, DynamicMessage, Form>,
    {
        let own = self.own_group_for_source()?;
        self.on(own).create_dynamic_subscription(options, message_type, callback)
    }
}
