//! The camera: 30 images a second of a dark room with a lamp. The room is simulated.

use rospin::msgs::geometry_msgs::msg::{PointStamped, TransformStamped};
use rospin::msgs::sensor_msgs::msg::Image;
use rospin::msgs::std_msgs::msg::Header;
use rospin::prelude::*;
use rospin::tf2::{Buffer, StaticTransformBroadcaster, TransformListener};

use crate::{BASE, CAMERA};

const PERIOD: Duration = Duration::from_nanos(1_000_000_000 / 30);
/// Pixels.
const WIDTH: u32 = 160;
/// Pixels.
const HEIGHT: u32 = 120;
/// The angle between the middle of the image and its left edge, in radians.
const HALF_VIEW: f64 = 0.7;
/// Half of the lamp's size, in pixels.
const HALF_LAMP: u32 = 3;

/// The node `camera`.
pub struct Camera {
    _mount: StaticTransformBroadcaster,
    _frame: Timer,
}

impl Camera {
    /// Starts the node.
    ///
    /// # Errors
    /// If the middleware refuses.
    pub fn new(ros: &Ros) -> rospin::Result<Self> {
        let node = ros.create_node("camera")?;
        // ANCHOR: static
        let mut mount = TransformStamped { child_frame_id: CAMERA.to_owned(), ..TransformStamped::default() };
        mount.header.frame_id = BASE.to_owned();
        mount.transform.translation.z = 0.5;
        let mounts = StaticTransformBroadcaster::new(&node)?;
        mounts.send([mount])?;
        // ANCHOR_END: static

        // ANCHOR: timer
        let group = node.create_group("camera", ())?;
        let frames = TransformListener::on(&node, &group, Buffer::new())?;
        let images = node.create_publisher::<Image>(PublisherOptions::new("image").qos(Qos::sensor_data()))?;
        let clock = node.clone();
        let options = TimerOptions::periodic(PERIOD).name("camera/frame");
        let frame = group.create_timer(options, move |_: Tick| {
            let header = Header { stamp: clock.now().into(), frame_id: CAMERA.to_owned() };
            images.publish(image(header, bearing_of_lamp(frames.buffer())))
        })?;
        // ANCHOR_END: timer
        Ok(Self { _mount: mounts, _frame: frame })
    }
}

/// Returns the direction of the lamp in the camera's frame; `None` until the base has told where it is.
fn bearing_of_lamp(frames: &Buffer) -> Option<f64> {
    let mut lamp = PointStamped::default();
    lamp.header.frame_id = "odom".to_owned();
    (lamp.point.x, lamp.point.y) = (1.0, 3.0);
    let seen = frames.transform(&lamp, CAMERA).ok()?;
    Some(seen.point.y.atan2(seen.point.x))
}

/// Draws what the camera sees: darkness, and the lamp if it is in view.
pub(crate) fn image(header: Header, bearing: Option<f64>) -> Image {
    let mut data = vec![10; (WIDTH * HEIGHT) as usize];
    if let Some(column) = bearing.and_then(column) {
        for y in HEIGHT / 2 - HALF_LAMP..HEIGHT / 2 + HALF_LAMP {
            for x in column.saturating_sub(HALF_LAMP)..(column + HALF_LAMP).min(WIDTH) {
                data[(y * WIDTH + x) as usize] = 250;
            }
        }
    }
    Image {
        header,
        width: WIDTH,
        height: HEIGHT,
        step: WIDTH,
        encoding: "mono8".to_owned(),
        data: data.into(),
        ..Image::default()
    }
}

/// Returns the column of the image in which something in that direction is seen.
fn column(bearing: f64) -> Option<u32> {
    let is_in_view = bearing.abs() < HALF_VIEW;
    if is_in_view { Some((f64::from(WIDTH) / 2.0 * (1.0 - bearing / HALF_VIEW)) as u32) } else { None }
}

/// Returns the direction that is seen in a column of the image.
pub(crate) fn bearing(column: f64) -> f64 {
    HALF_VIEW * (1.0 - column / (f64::from(WIDTH) / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lamp_outside_of_the_view_is_not_in_the_image() {
        for (bearing, is_seen) in [(0.0, true), (0.69, true), (-0.69, true), (0.71, false), (3.0, false)] {
            let image = image(Header::default(), Some(bearing));
            assert_eq!(image.data.iter().any(|pixel| *pixel > 200), is_seen, "{bearing}");
        }
        assert!(image(Header::default(), None).data.iter().all(|pixel| *pixel == 10));
    }
}
