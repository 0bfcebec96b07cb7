//! The simulated car: a bicycle model whose wheels turn with a delay and a limited rate.

use super::road::Pose;

/// Distance between the axles in metres.
pub(crate) const WHEELBASE: f64 = 2.9;
/// Time constant of the steering in seconds.
const STEERING_LAG: f64 = 0.1;
/// Fastest turn of the wheels, in radians a second.
const STEERING_RATE: f64 = 0.5;
/// Largest angle of the wheels in radians.
const STEERING_MAX: f64 = 0.5;
/// Strongest braking and acceleration in m/s2.
const ACCELERATION: [f64; 2] = [-6.0, 3.0];
/// Longest time in seconds of a step of the integration.
const STEP: f64 = 0.002;

/// Command of the driver of a car.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wish {
    /// The curvature of the path in 1/m.
    pub(crate) curvature: f64,
    /// The acceleration in m/s2.
    pub(crate) acceleration: f64,
}

/// State of the car.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Car {
    /// Pose of the middle of the rear axle.
    pub(crate) pose: Pose,
    /// Speed in m/s.
    pub(crate) speed: f64,
    /// Angle of the wheels in radians.
    pub(crate) steering: f64,
    /// Acceleration in m/s2.
    pub(crate) acceleration: f64,
}

impl Car {
    /// Moves the car on by so many seconds.
    pub(crate) fn drive(&mut self, wish: Wish, seconds: f64) {
        let steps = (seconds / STEP).ceil().max(1.0);
        let dt = seconds / steps;
        let wanted = (wish.curvature * WHEELBASE).atan().clamp(-STEERING_MAX, STEERING_MAX);
        self.acceleration = wish.acceleration.clamp(ACCELERATION[0], ACCELERATION[1]);
        for _ in 0..steps as usize {
            let rate = ((wanted - self.steering) / STEERING_LAG).clamp(-STEERING_RATE, STEERING_RATE);
            self.steering += rate * dt;
            self.speed = (self.speed + self.acceleration * dt).max(0.0);
            let heading = self.pose.heading + self.yaw_rate() * dt / 2.0;
            self.pose.x += self.speed * heading.cos() * dt;
            self.pose.y += self.speed * heading.sin() * dt;
            self.pose.heading += self.yaw_rate() * dt;
        }
    }

    /// Returns the yaw rate in radians a second.
    pub(crate) fn yaw_rate(&self) -> f64 {
        self.speed * self.steering.tan() / WHEELBASE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_drives_a_circle_of_the_curvature_that_is_wanted() {
        let mut car = Car { speed: 10.0, ..Car::default() };
        car.drive(Wish { curvature: 0.02, acceleration: 0.0 }, 5.0);
        assert!((car.yaw_rate() - 0.2).abs() < 1e-6);
        let before = car.pose;
        car.drive(Wish { curvature: 0.02, acceleration: 0.0 }, std::f64::consts::TAU / 0.2);
        assert!((car.pose.x - before.x).hypot(car.pose.y - before.y) < 0.05, "{before:?} {:?}", car.pose);
    }

    #[test]
    fn it_brakes_to_a_stop_and_not_further() {
        let mut car = Car { speed: 10.0, ..Car::default() };
        car.drive(Wish { curvature: 0.0, acceleration: -20.0 }, 5.0);
        assert_eq!(car.speed, 0.0);
        // From 10 m/s with 6 m/s2.
        assert!((car.pose.x - 100.0 / 12.0).abs() < 0.05, "{}", car.pose.x);
    }
}
