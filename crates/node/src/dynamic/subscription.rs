//! Subscriptions whose message type is known only at run time.

use bytes::Bytes;
use rospin_dynamic::{DynamicMessage, DynamicSeed, MessageType};
use rospin_wire::cdr::{PayloadError, from_payload_with};

use crate::error::TopicError;
use crate::group::Group;
use crate::message::Decode;
use crate::node::Node;
use crate::options::SubscriptionOptions;
use crate::subscription::Draft;

impl Decode for DynamicSeed {
    type Message = DynamicMessage;

    fn decode(&self, payload: &Bytes) -> Result<DynamicMessage, PayloadError> {
        from_payload_with(payload, self.clone())
    }
}

impl Node {
    /// Prepares a subscription of that type. With `with_origins`, its messages come with what a
    /// [`MessageInfo`](crate::MessageInfo) needs. From then on the node can describe the type to others.
    pub(crate) fn dynamic_draft(
        &self,
        group: &dyn Group,
        options: SubscriptionOptions,
        message_type: &MessageType,
        with_origins: bool,
    ) -> Result<Draft<DynamicSeed>, TopicError> {
        let seed = DynamicSeed::new(message_type);
        let draft = Draft::of_type(self, group, options, &message_type.type_name(), seed, with_origins)?;
        self.add_message_type(message_type);
        Ok(draft)
    }
}
