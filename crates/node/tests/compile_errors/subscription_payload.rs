//! A reentrant group has no payload.

use rospin::msgs::std_msgs::msg::String as Text;
use rospin::errors::TopicError;
use rospin::{Node, ReentrantGroup, Subscription};

pub fn listen(node: &Node, group: &ReentrantGroup) -> Result<Subscription, TopicError> {
    node.on(group).create_subscription("chatter", |count: &mut u32, message: Text| *count += message.data.len() as u32)
}
