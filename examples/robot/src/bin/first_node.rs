//! The tutorial's first step: an IMU at 200 Hz, and somebody who hears it: `cargo run -p robot --bin first_node`.

// ANCHOR: all
use rospin::log;
use rospin::msgs::sensor_msgs::msg::Imu;
use rospin::prelude::*;

fn main() -> rospin::Result<()> {
    let ros = rospin::init()?;
    let node = ros.create_node("imu")?;
    let clock = node.clone();
    let logger = node.logger().throttle(Duration::from_secs(1));
    let publisher = node.create_publisher::<Imu>("imu")?;
    let _timer = node.create_timer(Duration::from_millis(5), move |_| {
        let mut imu = Imu::default();
        imu.header.stamp = clock.now().into();
        publisher.publish(imu)
    })?;
    let hear = move |imu: &Imu| log::info!(logger: logger, "measured at {} s", imu.header.stamp.sec);
    let _subscription = node.create_subscription("imu", hear)?;
    Ok(ros.spin()?)
}
// ANCHOR_END: all
