//! A subscription's callback returns neither nothing nor a `Result`.

use rospin::msgs::std_msgs::msg::String as Text;
use rospin::errors::TopicError;
use rospin::{Node, Subscription};

pub fn listen(node: &Node) -> Result<Subscription, TopicError> {
    node.create_subscription("chatter", |message: Text| message.data.len())
}
