//! The road: a chain of clothoids, along which the curvature changes linearly.

/// Width of the lane in metres.
pub(crate) const LANE_WIDTH: f64 = 3.5;
/// Distance in metres between two points of the table that a road is.
const STEP: f64 = 0.5;

/// Pose in the plane: metres, and radians counterclockwise from the x axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pose {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) heading: f64,
}

impl Pose {
    /// Returns the pose in the frame that has its origin in `self`, as seen from outside.
    pub(crate) fn out_of(self, inner: Self) -> Self {
        let (x, y) = self.point_out_of(inner.x, inner.y);
        Self { x, y, heading: self.heading + inner.heading }
    }

    /// Returns the point with these coordinates in the frame of `self`, as seen from outside.
    pub(crate) fn point_out_of(self, x: f64, y: f64) -> (f64, f64) {
        let (sin, cos) = self.heading.sin_cos();
        (self.x + x * cos - y * sin, self.y + x * sin + y * cos)
    }

    /// Returns the pose as seen from the frame of `self`.
    pub(crate) fn into_frame(self, outer: Self) -> Self {
        let (x, y) = self.point_into_frame(outer.x, outer.y);
        Self { x, y, heading: outer.heading - self.heading }
    }

    /// Returns the point as seen from the frame of `self`.
    pub(crate) fn point_into_frame(self, x: f64, y: f64) -> (f64, f64) {
        let (sin, cos) = self.heading.sin_cos();
        let (dx, dy) = (x - self.x, y - self.y);
        (dx * cos + dy * sin, dy * cos - dx * sin)
    }
}

/// A road: poses of its middle line at equal distances.
#[derive(Clone, Debug)]
pub(crate) struct Road {
    poses: Vec<Pose>,
}

impl Road {
    /// Returns the road of these clothoids. Each has a length in metres and the curvature in 1/m at its end; the road
    /// begins straight.
    pub(crate) fn of(clothoids: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut poses = vec![Pose::default()];
        let (mut pose, mut begin) = (Pose::default(), 0.0);
        for (length, end) in clothoids {
            let steps = (length / STEP).round() as usize;
            for step in 0..steps {
                let curvature = begin + (end - begin) * (step as f64 + 0.5) / steps as f64;
                let heading = pose.heading + curvature * STEP / 2.0;
                pose.x += STEP * heading.cos();
                pose.y += STEP * heading.sin();
                pose.heading += curvature * STEP;
                poses.push(pose);
            }
            begin = end;
        }
        Self { poses }
    }

    /// Returns the road of the experiment: 12 km of a motorway with bends of 250 m and more to both sides.
    pub(crate) fn motorway() -> Self {
        let round = [
            (100.0, 0.0),
            (80.0, 1.0 / 300.0),
            (120.0, 1.0 / 300.0),
            (100.0, -1.0 / 250.0),
            (100.0, -1.0 / 250.0),
            (80.0, 1.0 / 600.0),
            (120.0, -1.0 / 900.0),
            (50.0, 0.0),
        ];
        Self::of(round.into_iter().cycle().take(round.len() * 16))
    }

    /// Returns the length in metres.
    pub(crate) fn length(&self) -> f64 {
        (self.poses.len() - 1) as f64 * STEP
    }

    /// Returns the pose of the middle line so many metres from the beginning; its end beyond that.
    pub(crate) fn pose(&self, distance: f64) -> Pose {
        let place = (distance / STEP).clamp(0.0, (self.poses.len() - 1) as f64);
        let index = (place as usize).min(self.poses.len() - 2);
        let (one, next, share) = (self.poses[index], self.poses[index + 1], place - index as f64);
        let mix = |a: f64, b: f64| a + (b - a) * share;
        Pose { x: mix(one.x, next.x), y: mix(one.y, next.y), heading: mix(one.heading, next.heading) }
    }

    /// Returns the distance of the point of the middle line nearest to (x, y), and how far the point is to the left of
    /// it. `near` is a distance close to the answer.
    pub(crate) fn project(&self, x: f64, y: f64, near: f64) -> (f64, f64) {
        let mut distance = near;
        let mut left = 0.0;
        for _ in 0..10 {
            let (ahead, aside) = self.pose(distance).point_into_frame(x, y);
            left = aside;
            distance = (distance + ahead).clamp(0.0, self.length());
            if ahead.abs() < 1e-6 {
                break;
            }
        }
        (distance, left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_closes() {
        let radius = 100.0;
        // The first clothoid has a length of one step, so that the rest is nearly a circle.
        let road = Road::of([(STEP, 1.0 / radius), (std::f64::consts::TAU * radius, 1.0 / radius)]);
        let end = road.pose(road.length());
        assert!(end.x.hypot(end.y) < 1.5, "{end:?}");
        assert!((end.heading - std::f64::consts::TAU).abs() < 0.01);
    }

    #[test]
    fn points_beside_the_road_are_found_again() {
        let road = Road::motorway();
        for distance in [10.0, 333.3, 700.0, 4000.0] {
            let (x, y) = road.pose(distance).point_out_of(0.0, -1.2);
            let (found, left) = road.project(x, y, distance + 4.0);
            assert!((found - distance).abs() < 0.01 && (left + 1.2).abs() < 0.01, "{found} {left}");
        }
    }

    #[test]
    fn frames_are_inverse() {
        let (outer, inner) = (Pose { x: 3.0, y: -2.0, heading: 0.7 }, Pose { x: 1.0, y: 4.0, heading: -0.2 });
        let back = outer.into_frame(outer.out_of(inner));
        assert!((back.x - 1.0).abs() < 1e-9 && (back.y - 4.0).abs() < 1e-9 && (back.heading + 0.2).abs() < 1e-9);
    }
}
