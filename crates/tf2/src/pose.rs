//! Rigid transforms: a rotation, then a translation.

use std::ops::Mul;

use glam::{DQuat, DVec3};
use rospin_msgs::geometry_msgs::msg::{Quaternion, Transform, Vector3};

/// The pose of a frame in its parent, which transforms coordinates of the frame to those of the parent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Pose {
    pub(crate) translation: DVec3,
    /// Rotation as a quaternion of length one.
    pub(crate) rotation: DQuat,
}

impl Pose {
    pub(crate) const IDENTITY: Self = Self { translation: DVec3::ZERO, rotation: DQuat::IDENTITY };

    pub(crate) fn inverse(&self) -> Self {
        let rotation = self.rotation.conjugate();
        Self { translation: -(rotation * self.translation), rotation }
    }

    /// Returns the pose between this one (0) and another one (1): on the straight line and, at constant speed, on the
    /// shortest arc.
    pub(crate) fn interpolate(&self, to: &Self, ratio: f64) -> Self {
        let translation = self.translation.lerp(to.translation, ratio);
        Self { translation, rotation: self.rotation.slerp(to.rotation, ratio) }
    }

    pub(crate) fn apply(&self, point: DVec3) -> DVec3 {
        self.rotation * point + self.translation
    }
}

impl Mul for Pose {
    type Output = Self;

    fn mul(self, inner: Self) -> Self {
        Self { translation: self.apply(inner.translation), rotation: self.rotation * inner.rotation }
    }
}

impl From<Pose> for Transform {
    fn from(pose: Pose) -> Self {
        let DVec3 { x, y, z } = pose.translation;
        Self { translation: Vector3 { x, y, z }, rotation: quaternion(pose.rotation) }
    }
}

/// Returns a rotation as a message, normalized: errors of rounding grow with the length of a chain of frames.
pub(crate) fn quaternion(rotation: DQuat) -> Quaternion {
    let DQuat { x, y, z, w } = rotation.normalize();
    Quaternion { x, y, z, w }
}
