//! Geometry that can be transformed to another frame.

use glam::{DQuat, DVec3};
use rospin_msgs::builtin_interfaces::msg::Time;
use rospin_msgs::geometry_msgs::msg::{
    Point, PointStamped, Pose as PoseMessage, PoseStamped, Quaternion, QuaternionStamped, Vector3, Vector3Stamped,
};
use rospin_msgs::std_msgs::msg::Header;

use crate::buffer::Buffer;
use crate::error::TransformError;
use crate::pose::{Pose, quaternion};
use crate::when::{When, time_of};

/// A message with a header whose content can be expressed in another frame: a point, a vector, a pose or a rotation.
///
/// A vector is a direction with a length, such as a velocity. So it is rotated, and not moved.
pub trait Transformable: Sized + sealed::Apply {
    /// Returns the header.
    fn header(&self) -> &Header;
}

mod sealed {
    use super::Pose;
    use rospin_msgs::std_msgs::msg::Header;

    /// The part of [`super::Transformable`] that the buffer uses.
    pub trait Apply {
        /// Returns the message with its content transformed by `pose`, and with that header.
        #[doc(hidden)]
        fn apply(&self, pose: &Opaque, header: Header) -> Self;
    }

    /// Transform, in a form that only the buffer uses.
    #[derive(Debug)]
    pub struct Opaque(pub(crate) Pose);
}

use sealed::Opaque;

impl Buffer {
    /// Returns the message in the frame `target`, at the time of its stamp; a stamp of zero is the latest time for
    /// which there is a transform. The result's stamp is that time.
    ///
    /// # Errors
    /// Those of [`lookup_transform`](Self::lookup_transform).
    pub fn transform<T: Transformable>(&self, message: &T, target: &str) -> Result<T, TransformError> {
        let header = message.header();
        let (pose, time) = self.pose(target, &header.frame_id, header.stamp.into())?;
        Ok(message.apply(&Opaque(pose), header_of(time_of(time), target)))
    }

    /// Returns the message as it is seen from the frame `target` at the time `target_time`, if it does not move in the
    /// frame `fixed` between its stamp and that time.
    ///
    /// # Errors
    /// Those of [`lookup_transform_between`](Self::lookup_transform_between).
    pub fn transform_to_time<T: Transformable>(
        &self,
        message: &T,
        target: &str,
        target_time: impl Into<When>,
        fixed: &str,
    ) -> Result<T, TransformError> {
        let header = message.header();
        let (pose, time) =
            self.pose_between(target, target_time.into(), &header.frame_id, header.stamp.into(), fixed)?;
        Ok(message.apply(&Opaque(pose), header_of(time_of(time), target)))
    }
}

fn header_of(stamp: Time, frame: &str) -> Header {
    Header { stamp, frame_id: frame.to_owned() }
}

fn point(pose: &Pose, Point { x, y, z }: &Point) -> Point {
    let DVec3 { x, y, z } = pose.apply(DVec3::new(*x, *y, *z));
    Point { x, y, z }
}

fn vector(pose: &Pose, Vector3 { x, y, z }: &Vector3) -> Vector3 {
    let DVec3 { x, y, z } = pose.rotation * DVec3::new(*x, *y, *z);
    Vector3 { x, y, z }
}

fn rotation(pose: &Pose, Quaternion { x, y, z, w }: &Quaternion) -> Quaternion {
    quaternion(pose.rotation * DQuat::from_xyzw(*x, *y, *z, *w))
}

fn pose(outer: &Pose, PoseMessage { position, orientation }: &PoseMessage) -> PoseMessage {
    PoseMessage { position: point(outer, position), orientation: rotation(outer, orientation) }
}

/// Implements [`Transformable`] for `$message`, whose `$field` the function `$by` transforms.
macro_rules! transformable {
    ($message:ident, $field:ident, $by:ident) => {
        impl Transformable for $message {
            fn header(&self) -> &Header {
                &self.header
            }
        }

        impl sealed::Apply for $message {
            fn apply(&self, outer: &Opaque, header: Header) -> Self {
                Self { header, $field: $by(&outer.0, &self.$field) }
            }
        }
    };
}

transformable!(PointStamped, point, point);
transformable!(Vector3Stamped, vector, vector);
transformable!(PoseStamped, pose, pose);
transformable!(QuaternionStamped, quaternion, rotation);
