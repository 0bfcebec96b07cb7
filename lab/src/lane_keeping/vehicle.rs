//! The vehicle: the car on its road, and what its sensors tell of them.

use super::car::{Car, Wish};
use super::road::{LANE_WIDTH, Pose, Road};
use super::spline::Spline;

/// Speed in m/s with which the drive begins: 90 km/h.
pub(crate) const SPEED: f64 = 25.0;
/// Distances in metres from the vehicle at which a road line's camera finds its points: the first, the last, and
/// between two.
const SEEN: [f64; 3] = [-4.0, 64.0, 1.0];
/// Largest error of a point of a road line to the side, in metres.
const NOISE: f64 = 0.03;

/// The car, its road, and how far it came.
#[derive(Clone, Debug)]
pub(crate) struct Vehicle {
    pub(crate) car: Car,
    road: Road,
    /// Distance along the road in metres.
    pub(crate) travelled: f64,
    /// Distance to the left of the lane's middle in metres.
    pub(crate) offset: f64,
    /// Pose at the start of the drive.
    pub(crate) start: Pose,
    noise: Noise,
}

impl Vehicle {
    /// Returns a car that begins its drive 20 cm beside the lane's middle.
    pub(crate) fn new(road: Road) -> Self {
        let (x, y) = road.pose(10.0).point_out_of(0.0, 0.2);
        let start = Pose { x, y, heading: road.pose(10.0).heading };
        let car = Car { pose: start, speed: SPEED, ..Car::default() };
        Self { car, road, travelled: 10.0, offset: 0.2, start, noise: Noise(1) }
    }

    /// Drives on by so many seconds.
    pub(crate) fn drive(&mut self, wish: Wish, seconds: f64) {
        self.car.drive(wish, seconds);
        let near = self.travelled + self.car.speed * seconds;
        (self.travelled, self.offset) = self.road.project(self.car.pose.x, self.car.pose.y, near);
    }

    /// Returns the left and the right line of the lane, in the frame of the car: points with errors, fitted as splines.
    pub(crate) fn lines(&mut self) -> [Spline; 2] {
        let [first, last, step] = SEEN;
        let count = ((last - first) / step) as usize;
        [LANE_WIDTH / 2.0, -LANE_WIDTH / 2.0].map(|left| {
            let points: Vec<_> = (0..=count)
                .map(|point| {
                    let middle = self.road.pose(self.travelled + first + point as f64 * step);
                    let (x, y) = middle.point_out_of(0.0, left + NOISE * self.noise.next());
                    self.car.pose.point_into_frame(x, y)
                })
                .collect();
            Spline::fit(&points)
        })
    }

    /// Returns other vehicles in sight, in the frame of the car: one ahead in the lane, and one in the lane to the
    /// left.
    pub(crate) fn others(&self) -> [(f64, f64); 2] {
        [(45.0, 0.0), (20.0, LANE_WIDTH)].map(|(ahead, left)| {
            let (x, y) = self.road.pose(self.travelled + ahead).point_out_of(0.0, left);
            self.car.pose.point_into_frame(x, y)
        })
    }
}

/// Numbers from -1 to 1 that look random, the same in every run.
#[derive(Clone, Copy, Debug)]
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_half_a_lane_to_each_side() {
        let mut vehicle = Vehicle::new(Road::motorway());
        let [left, right] = vehicle.lines();
        assert!((left.y_at(0.0) - (LANE_WIDTH / 2.0 - 0.2)).abs() < NOISE, "{}", left.y_at(0.0));
        assert!((right.y_at(0.0) + LANE_WIDTH / 2.0 + 0.2).abs() < NOISE, "{}", right.y_at(0.0));
        assert!((vehicle.others()[1].1 - (LANE_WIDTH - 0.2)).abs() < 0.1);
    }

    #[test]
    fn a_car_that_does_not_steer_leaves_the_lane() {
        let mut vehicle = Vehicle::new(Road::motorway());
        for _ in 0..500 {
            vehicle.drive(Wish::default(), 0.02);
        }
        assert!(vehicle.offset.abs() > LANE_WIDTH, "{}", vehicle.offset);
        assert!((vehicle.travelled - 260.0).abs() < 10.0, "{}", vehicle.travelled);
    }

    #[test]
    fn noise_is_the_same_in_every_run_and_has_no_bias() {
        let (mut one, mut other) = (Noise(1), Noise(1));
        let sum: f64 = (0..1000).map(|_| one.next()).sum();
        assert!(sum.abs() < 60.0 && (0..1000).map(|_| other.next()).sum::<f64>() == sum);
    }
}
