//! Prints the status of a robot: `cargo run -p custom_messages --features dds --bin subscriber`.

#![expect(clippy::print_stdout, reason = "it prints what it hears")]

use custom_messages::robot_msgs::msg::Status;

fn main() -> rospin::Result<()> {
    let ros = rospin::init()?;
    let node = ros.create_node("operator")?;
    let _subscription =
        node.create_subscription("status", |status: Status| println!("{} %", 100.0 * status.battery))?;
    Ok(ros.spin()?)
}
