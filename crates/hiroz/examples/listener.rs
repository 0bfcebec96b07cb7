//! Prints what it hears on `/chatter`, as the demo of that name of ROS 2 does.
//!
//! `cargo run --manifest-path crates/hiroz/Cargo.toml --example listener`, and `ros2 run demo_nodes_cpp talker` with
//! `RMW_IMPLEMENTATION=rmw_zenoh_cpp`, or the example `talker` here.
//!
//! Nodes on Zenoh meet through its router, `ros2 run rmw_zenoh_cpp rmw_zenohd`; or, without one, by multicast, if all of them
//! have `ZENOH_CONFIG_OVERRIDE="scouting/multicast/enabled=true"`.

#![expect(clippy::print_stdout, reason = "it shows what it hears")]

use rospin::{Context, ContextOptions, ExecutorOptions, GroupOptions, SpinOptions};
use rospin_hiroz::{Session, SessionOptions, SubscriptionOptions};
use rospin_msgs::std_msgs::msg::String as Text;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new(ContextOptions::from_env()?);
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let options = SessionOptions::from_env()?;
    let session = context.start_threads("zenoh", || Session::open(options))?;
    let node = session.create_node("listener")?;

    let group = executor.create_group(GroupOptions::new("listener").node(node.fully_qualified_name()), ());
    let options = SubscriptionOptions::new("chatter").keep_last(10);
    let _subscription = node.create_subscription(&group, options, |(), message: Text| {
        println!("I heard: [{}]", message.data);
    })?;
    executor.spin(SpinOptions::new())?;
    Ok(())
}
