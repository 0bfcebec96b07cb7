//! Says "Hello World" once a second on `/chatter`, as the demo of that name of ROS 2 does.
//!
//! `cargo run --manifest-path crates/hiroz/Cargo.toml --example talker`, and `ros2 run demo_nodes_cpp listener` with
//! `RMW_IMPLEMENTATION=rmw_zenoh_cpp`, or the example `listener` here.
//!
//! Nodes on Zenoh meet through its router, `ros2 run rmw_zenoh_cpp rmw_zenohd`; or, without one, by multicast, if all of them
//! have `ZENOH_CONFIG_OVERRIDE="scouting/multicast/enabled=true"`.

#![expect(clippy::print_stdout, reason = "it shows what it says")]

use std::time::Duration;

use rospin::{Context, ContextOptions, ExecutorOptions, GroupOptions, SpinOptions};
use rospin_hiroz::{PublisherOptions, Session, SessionOptions};
use rospin_msgs::std_msgs::msg::String as Text;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new(ContextOptions::from_env()?);
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let options = SessionOptions::from_env()?;
    let session = context.start_threads("zenoh", || Session::open(options))?;
    let node = session.create_node("talker")?;

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
