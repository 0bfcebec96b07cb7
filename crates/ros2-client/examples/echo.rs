//! Prints what it hears on any topic, as `ros2 topic echo` does: `echo TOPIC [TYPE]`.
//!
//! `cargo run -p rospin-ros2-client --example echo -- /chatter`, and on any machine of the network `ros2 run demo_nodes_cpp talker`.
//!
//! What type the topic has it learns from the node that publishes it, if that is of ROS 2 Iron or later. Others do not tell, the
//! example `talker` here among them: then the type, be it `TYPE` or that of the topic, has to be installed, as
//! `share/std_msgs/msg/String.json` is with ROS 2, and `AMENT_PREFIX_PATH` has to say where, as the `setup.bash` there has it.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it shows what it hears, or why it does not")]

use std::error::Error;
use std::process::ExitCode;

use rospin::{Context, ContextOptions, Executor, ExecutorOptions, GroupOptions, SpinOptions};
use rospin_ros2_client::dynamic::{AskTypeError, DynamicMessage, MessageType};
use rospin_ros2_client::{Domain, DomainOptions, Node, SubscriptionOptions};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let echoed = match &arguments[..] {
        [topic] => echo(topic, None),
        [topic, type_name] => echo(topic, Some(type_name)),
        _ => Err("usage: echo TOPIC [TYPE]".into()),
    };
    echoed.map_or_else(
        |error| {
            eprintln!("{error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn echo(topic: &str, type_name: Option<&str>) -> Result<(), Box<dyn Error>> {
    let context = Context::new(ContextOptions::from_env()?);
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let domain = Domain::join(&executor.handle(), DomainOptions::from_env()?)?;
    let node = domain.create_node("echo")?;

    let message_type = match type_name {
        Some(name) => MessageType::find(name)?,
        None => learn(&node, &executor, topic)?,
    };
    let group = executor.create_group(GroupOptions::new("echo").node(node.fully_qualified_name()), ());
    // It hears all publishers, those that promise no more among them.
    let options = SubscriptionOptions::new(topic).best_effort();
    let show = |(): &mut (), message: DynamicMessage| println!("{message}\n---");
    let _subscription = node.create_dynamic_subscription(&group, options, &message_type, show)?;
    executor.spin(SpinOptions::new())?;
    Ok(())
}

/// The type of a topic, from whoever publishes it, and if nobody tells, from where ROS 2 is installed.
fn learn(node: &Node, executor: &Executor, topic: &str) -> Result<MessageType, Box<dyn Error>> {
    let error = match executor.spin_until(node.message_type_of(&executor.handle(), topic), SpinOptions::new())? {
        Ok(found) => return Ok(found),
        Err(error) => error,
    };
    let (AskTypeError::NoNode { type_name, .. } | AskTypeError::NobodyTells { type_name, .. }) = &error else {
        return Err(error.into());
    };
    MessageType::find(type_name).map_err(|missing| format!("{error}\n{missing}").into())
}
