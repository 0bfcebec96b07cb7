//! Subscriptions whose message type is known only at run time.

use super::decode::DynamicSeed;
use super::message_type::MessageType;
use crate::error::TopicError;
use crate::group::Group;
use crate::node::Node;
use crate::options::SubscriptionOptions;
use crate::subscription::Draft;

impl Node {
    /// Prepares a subscription of that type. From then on the node can describe the type to others.
    pub(crate) fn dynamic_draft(
        &self,
        group: &dyn Group,
        options: SubscriptionOptions,
        message_type: &MessageType,
        with_origins: bool,
    ) -> Result<Draft<DynamicSeed>, TopicError> {
        let seed = DynamicSeed(message_type.clone());
        let draft = Draft::of_type(self, group, options, &message_type.type_name(), seed, with_origins)?;
        self.add_message_type(message_type);
        Ok(draft)
    }
}
