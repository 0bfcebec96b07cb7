//! Publishes a greeting every second, as `ros2 run demo_nodes_cpp talker` does:
//! `cargo run -p rospin --features dds --example talker`.

use rospin::msgs::std_msgs::msg::String as Text;
use rospin::prelude::*;

fn main() -> rospin::Result<()> {
    let ros = rospin::init()?;
    let node = ros.create_node("talker")?;
    let chatter = node.create_publisher::<Text>("chatter")?;
    let mut count = 0;
    let _timer = node.create_timer(Duration::from_secs(1), move |_| {
        count += 1;
        chatter.publish(Text { data: format!("Hello World: {count}") })
    })?;
    Ok(ros.spin()?)
}
