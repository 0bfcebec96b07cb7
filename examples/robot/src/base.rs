//! The robot's base: it turns as it is told, and its IMU measures that at 200 Hz. The base is simulated.

use rospin::msgs::geometry_msgs::msg::{TransformStamped, Twist};
use rospin::msgs::sensor_msgs::msg::Imu;
use rospin::msgs::std_msgs::msg::Header;
use rospin::prelude::*;
use rospin::tf2::TransformBroadcaster;

use crate::BASE;

/// The period of the IMU.
const PERIOD: Duration = Duration::from_millis(5);

/// The motion of the base, which callbacks of its group share.
#[derive(Default)]
struct Motion {
    /// Radians, to the left.
    heading: f64,
    /// Radians per second.
    turn: f64,
}

/// The node `base`.
pub struct Base {
    _commands: Subscription,
    _imu: Timer,
}

impl Base {
    /// Starts the node.
    ///
    /// # Errors
    /// If the middleware refuses.
    pub fn new(ros: &Ros) -> rospin::Result<Self> {
        // ANCHOR: group
        let node = ros.create_node("base")?;
        let motion = node.create_group("base", Motion::default())?;
        let commands = motion.create_subscription(
            SubscriptionOptions::new("cmd_vel").keep_last(1),
            |motion: &mut Motion, command: &Twist| motion.turn = command.angular.z,
        )?;
        // ANCHOR_END: group

        // ANCHOR: imu
        let measured = node.create_publisher::<Imu>(PublisherOptions::new("imu").qos(Qos::sensor_data()))?;
        let frames = TransformBroadcaster::new(&node)?;
        let clock = node.clone();
        let options = TimerOptions::periodic(PERIOD).name("base/imu");
        let imu = motion.create_timer(options, move |motion: &mut Motion, _: Tick| {
            motion.heading += motion.turn * PERIOD.as_secs_f64();
            let header = Header { stamp: clock.now().into(), frame_id: BASE.to_owned() };
            let mut imu = Imu { header: header.clone(), ..Imu::default() };
            imu.angular_velocity.z = motion.turn;
            measured.publish(imu)?;
            frames.send([frame(header, motion.heading)])
        })?;
        // ANCHOR_END: imu
        Ok(Self { _commands: commands, _imu: imu })
    }
}

/// Returns the base's place in the frame `odom`: it only turns.
fn frame(header: Header, heading: f64) -> TransformStamped {
    let mut frame = TransformStamped { child_frame_id: header.frame_id, ..TransformStamped::default() };
    frame.header = Header { stamp: header.stamp, frame_id: "odom".to_owned() };
    (frame.transform.rotation.z, frame.transform.rotation.w) = (heading / 2.0).sin_cos();
    frame
}
