//! Publishes the status of a robot: `cargo run -p custom_messages --features dds --bin publisher`.

use custom_messages::robot_msgs::msg::Status;
use rospin::prelude::*;

fn main() -> rospin::Result<()> {
    let ros = rospin::init()?;
    let node = ros.create_node("robot")?;
    let publisher = node.create_publisher::<Status>("status")?;
    let mut status = Status { mode: Status::DRIVING, ..Status::default() };
    let _timer = node.create_timer(Duration::from_secs(1), move |_| {
        status.battery -= 0.01;
        publisher.publish(status.clone())
    })?;
    Ok(ros.spin()?)
}
