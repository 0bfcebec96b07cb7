//! Compiles: the test uses it to find the build of rospin, one that has the messages of the other programs.

use rospin::errors::TopicError;
use rospin::msgs::example_interfaces::srv::AddTwoInts;
use rospin::msgs::std_msgs::msg::String as Text;
use rospin::{Node, Subscription};

pub type Imported = AddTwoInts;

pub fn listen(node: &Node) -> Result<Subscription, TopicError> {
    node.create_subscription("chatter", |message: Text| drop(message))
}
