//! Compiles: the test uses it to find the build of rospin.

use rospin::msgs::std_msgs::msg::String as Text;
use rospin::errors::TopicError;
use rospin::{Node, Subscription};

pub fn listen(node: &Node) -> Result<Subscription, TopicError> {
    node.create_subscription("chatter", |message: Text| drop(message))
}
