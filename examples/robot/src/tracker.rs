//! The tracker: where the lamp is now, from what the camera saw a moment ago and what the IMU says of the turn since.

use rospin::Time;
use rospin::message_filters::{SyncInput, Synchronizer, SynchronizerOptions};
use rospin::msgs::geometry_msgs::msg::Vector3Stamped;
use rospin::msgs::sensor_msgs::msg::Imu;
use rospin::prelude::*;
use rospin::tf2::{Buffer, TransformListener};

use crate::BASE;
use crate::robot_interfaces::msg::Detection;

/// The node `tracker`.
pub struct Tracker {
    _pairs: Synchronizer,
}

impl Tracker {
    /// Starts the node.
    ///
    /// # Errors
    /// If the middleware refuses.
    pub fn new(ros: &Ros) -> rospin::Result<Self> {
        // ANCHOR: synchronizer
        let node = ros.create_node("tracker")?;
        let group = node.create_group("tracker", ())?;
        let frames = TransformListener::on(&node, &group, Buffer::new())?;
        let targets = node.create_publisher::<Vector3Stamped>(PublisherOptions::new("target").keep_last(1))?;
        let clock = node.clone();
        // 50 messages of the IMU are a quarter of a second, which the detection may be late.
        let imu = SyncInput::new("imu").qos(Qos::sensor_data()).keep_last(50);
        let pairs = group.create_synchronizer(
            SynchronizerOptions::approximate_time(50).max_interval(Duration::from_millis(10)).name("tracker/pairs"),
            (SyncInput::new("detections").keep_last(1), imu),
            move |(detection, imu): (Arc<Detection>, Arc<Imu>)| -> rospin::Result<()> {
                if detection.is_seen {
                    let seen = target(&detection, &imu, clock.now());
                    targets.publish(frames.buffer().transform(&seen, BASE)?)?;
                }
                Ok(())
            },
        )?;
        // ANCHOR_END: synchronizer
        Ok(Self { _pairs: pairs })
    }
}

// ANCHOR: target
/// Returns the direction of the lamp now: the base has turned since the image was taken.
fn target(detection: &Detection, imu: &Imu, now: Time) -> Vector3Stamped {
    let age = now.saturating_since(detection.header.stamp.into());
    let bearing = detection.bearing - imu.angular_velocity.z * age.as_secs_f64();
    let mut target = Vector3Stamped { header: detection.header.clone(), ..Vector3Stamped::default() };
    (target.vector.y, target.vector.x) = bearing.sin_cos();
    target
}
// ANCHOR_END: target

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_since_the_image_is_taken_into_account() {
        let taken = Time::from_millis(1000);
        let mut detection = Detection { is_seen: true, bearing: 0.3, ..Detection::default() };
        detection.header.stamp = taken.into();
        let mut imu = Imu::default();
        imu.angular_velocity.z = 1.0;
        let seen = target(&detection, &imu, taken + Duration::from_millis(100));
        assert!((seen.vector.y.atan2(seen.vector.x) - 0.2).abs() < 1e-9, "{seen:?}");
    }
}
