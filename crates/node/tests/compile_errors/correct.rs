//! Compiles: the test uses it to find the build of rospin.

use rospin::msgs::std_msgs::msg::String as Text;
use rospin::{Node, Subscription, TopicError};

pub fn listen(node: &Node) -> Result<Subscription, TopicError> {
    node.create_subscription("chatter", |message: Text| drop(message))
}
