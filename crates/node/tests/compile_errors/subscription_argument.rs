//! The parameter is not a message.

use rospin::errors::TopicError;
use rospin::{Node, Subscription};

pub fn listen(node: &Node) -> Result<Subscription, TopicError> {
    node.create_subscription("chatter", |number: u32| drop(number))
}
