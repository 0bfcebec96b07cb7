//! Prints what it hears on `/chatter`, as the demo of that name of ROS 2 does.
//!
//! `cargo run -p rospin-ros2-client --example listener`, and on any machine of the network `ros2 run demo_nodes_cpp talker`,
//! or the example `talker` here.

#![expect(clippy::print_stdout, reason = "it shows what it hears")]

use rospin::{Context, ContextOptions, ExecutorOptions, GroupOptions, SpinOptions};
use rospin_msgs::std_msgs::msg::String as Text;
use rospin_ros2_client::{Domain, DomainOptions, SubscriptionOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new(ContextOptions::from_env()?);
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let domain = Domain::join(&executor.handle(), DomainOptions::from_env()?)?;
    let node = domain.create_node("listener")?;

    let group = executor.create_group(GroupOptions::new("listener").node(node.fully_qualified_name()), ());
    let options = SubscriptionOptions::new("chatter").keep_last(10);
    let _subscription = node.create_subscription(&group, options, |(), message: Text| {
        println!("I heard: [{}]", message.data);
    })?;
    executor.spin(SpinOptions::new())?;
    Ok(())
}
