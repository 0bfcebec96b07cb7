//! Says "Hello World" once a second on `/chatter`, as the demo of that name of ROS 2 does.
//!
//! `cargo run -p rospin-ros2-client --example talker`, and on any machine of the network `ros2 run demo_nodes_cpp listener`,
//! or the example `listener` here.

#![expect(clippy::print_stdout, reason = "it shows what it says")]

use std::time::Duration;

use rospin::{Context, ContextOptions, ExecutorOptions, GroupOptions, SpinOptions};
use rospin_msgs::std_msgs::msg::String as Text;
use rospin_ros2_client::{Domain, DomainOptions, PublisherOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new(ContextOptions::from_env()?);
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let domain = Domain::join(&executor.handle(), DomainOptions::from_env()?)?;
    let node = domain.create_node("talker")?;

    let publisher = node.create_publisher::<Text>(PublisherOptions::new("chatter").keep_last(7))?;
    let group = executor.create_group(GroupOptions::new("talker").node(node.fully_qualified_name()), 0_u64);
    let _timer = group.create_timer(Duration::from_secs(1), move |count, _| {
        *count += 1;
        let data = format!("Hello World: {count}");
        println!("Publishing: '{data}'");
        if let Err(error) = publisher.publish(Text { data }) {
            println!("{error}");
        }
    })?;
    executor.spin(SpinOptions::new())?;
    Ok(())
}
