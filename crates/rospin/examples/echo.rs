//! Prints the messages of any topic, as `ros2 topic echo` does:
//! `cargo run -p rospin --features dds --example echo -- TOPIC [TYPE]`.
//!
//! It asks the node that publishes the topic for the type, which nodes of ROS 2 Iron and later answer. If none
//! answers, the type must be installed with ROS 2 (`share/std_msgs/msg/String.json`), and `AMENT_PREFIX_PATH` must
//! name the place, as ROS 2's `setup.bash` sets it.

#![expect(clippy::print_stdout, reason = "it shows what it hears")]

use rospin::dynamic::{AskTypeError, DynamicMessage, MessageType};
use rospin::prelude::*;

fn main() -> rospin::Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (topic, type_name) = match &arguments[..] {
        [topic] => (topic, None),
        [topic, type_name] => (topic, Some(type_name)),
        _ => return Err(rospin::Error::msg("usage: echo TOPIC [TYPE]")),
    };
    let ros = rospin::init()?;
    let node = ros.create_node("echo")?;
    let message_type = match type_name {
        Some(name) => MessageType::find(name)?,
        None => learn(&ros, &node, topic)?,
    };
    // A best-effort subscription also receives from best-effort publishers.
    let options = SubscriptionOptions::new(topic).best_effort();
    let show = |message: DynamicMessage| println!("{message}\n---");
    let _subscription = node.create_dynamic_subscription(options, &message_type, show)?;
    Ok(ros.spin()?)
}

/// Returns the type of a topic from a node that publishes it, or from an installed ROS 2.
fn learn(ros: &Ros, node: &Node, topic: &str) -> rospin::Result<MessageType> {
    let executor = ros.executor();
    let error = match executor.spin_until(node.message_type_of(&executor.handle(), topic), SpinOptions::new())? {
        Ok(found) => return Ok(found),
        Err(error) => error,
    };
    let (AskTypeError::NoNode { type_name, .. } | AskTypeError::NobodyTells { type_name, .. }) = &error else {
        return Err(error.into());
    };
    MessageType::find(type_name).map_err(|missing| rospin::Error::new(missing).context(error))
}
