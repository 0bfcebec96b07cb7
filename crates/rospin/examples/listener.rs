//! Prints the messages of a topic, as `ros2 run demo_nodes_cpp listener` does:
//! `cargo run -p rospin --features dds --example listener`.

#![expect(clippy::print_stdout, reason = "what it hears is its purpose")]

use rospin::msgs::std_msgs::msg::String as Text;

fn main() -> rospin::Result<()> {
    let ros = rospin::init()?;
    let node = ros.create_node("listener")?;
    let _chatter = node.create_subscription("chatter", |message: Text| println!("I heard: [{}]", message.data))?;
    Ok(ros.spin()?)
}
