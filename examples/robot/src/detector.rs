//! The detector: finds the lamp in each image.

use rospin::msgs::sensor_msgs::msg::Image;
use rospin::prelude::*;

use crate::camera;
use crate::robot_interfaces::msg::Detection;

/// Pixels of that brightness belong to the lamp.
const BRIGHT: u8 = 200;

/// The node `detector`.
pub struct Detector {
    _images: Subscription,
}

impl Detector {
    /// Starts the node.
    ///
    /// # Errors
    /// If the middleware refuses.
    pub fn new(ros: &Ros) -> rospin::Result<Self> {
        // ANCHOR: node
        let node = ros.create_node("detector")?;
        let detections = node.create_publisher::<Detection>("detections")?;
        let options = SubscriptionOptions::new("image").qos(Qos::sensor_data()).keep_last(1);
        let images = node.create_subscription(options, move |image: &Image| detections.publish(detect(image)))?;
        // ANCHOR_END: node
        Ok(Self { _images: images })
    }
}

// ANCHOR: detect
/// Finds the lamp: the middle of all bright pixels.
fn detect(image: &Image) -> Detection {
    let mut pixels = 0;
    let mut columns = 0.0;
    for row in image.data.chunks_exact(image.step.max(1) as usize) {
        for (column, _) in row.iter().enumerate().filter(|(_, pixel)| **pixel >= BRIGHT) {
            pixels += 1;
            columns += column as f64 + 0.5;
        }
    }
    let bearing = camera::bearing(columns / f64::from(pixels.max(1)));
    Detection { header: image.header.clone(), is_seen: pixels > 0, bearing, pixels }
}
// ANCHOR_END: detect

#[cfg(test)]
mod tests {
    use rospin::msgs::std_msgs::msg::Header;

    use super::*;

    #[test]
    fn the_lamp_is_found_where_the_camera_drew_it() {
        for bearing in [-0.6, -0.1, 0.0, 0.3, 0.6] {
            let found = detect(&camera::image(Header::default(), Some(bearing)));
            assert!(found.is_seen && found.pixels == 36 && (found.bearing - bearing).abs() < 0.01, "{found:?}");
        }
        assert!(!detect(&camera::image(Header::default(), None)).is_seen);
        assert!(!detect(&Image::default()).is_seen);
    }
}
