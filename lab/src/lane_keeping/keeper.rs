//! The lane keeper without threads or messages: the newest values of the bus, the controllers, the planner's
//! input and the newest plan.

use std::sync::Arc;

use super::car::Wish;
use super::planner::{Begin, Plan};
use super::road::Pose;
use super::spline::Spline;
use super::vehicle::SPEED;

/// Natural frequency of the lateral controller in radians a second; it is critically damped.
const LATERAL: f64 = 1.5;
/// Share of the lateral error that is integrated, per second.
const LATERAL_INTEGRAL: f64 = 0.3;
/// Proportional and integral gain of the speed's controller.
const SPEED_GAINS: [f64; 2] = [0.8, 0.1];
/// Largest integral of an error.
const INTEGRAL_MAX: f64 = 2.0;

/// Controller of three terms. The rate of the error is measured and not computed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pid {
    proportional: f64,
    integral: f64,
    derivative: f64,
    sum: f64,
}

impl Pid {
    /// Returns the answer to an error and its rate, `seconds` after the last one.
    fn answer(&mut self, error: f64, rate: f64, seconds: f64) -> f64 {
        self.sum = (self.sum + error * seconds).clamp(-INTEGRAL_MAX, INTEGRAL_MAX);
        -(self.proportional * error + self.integral * self.sum + self.derivative * rate)
    }
}

/// The middle of the lane, as a spline in the frame of the car when it saw the lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lane {
    pub(crate) frame: Pose,
    pub(crate) middle: Spline,
}

/// Values that the lane keeper stores.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge {
    /// Absolute pose of the start of the drive.
    pub(crate) start: Option<Pose>,
    /// Absolute pose of the car.
    pub(crate) pose: Option<Pose>,
    pub(crate) speed: f64,
    pub(crate) curvature: f64,
    pub(crate) lane: Option<Lane>,
    /// Acceleration to the side, and mean speed of the wheels.
    pub(crate) sideways: f64,
    pub(crate) wheel_speed: f64,
    /// Accelerator, brake and gear.
    pub(crate) pedals_and_gear: [f64; 3],
    /// Distance to the nearest other vehicle in metres.
    pub(crate) nearest: Option<f64>,
    /// The newest plan, and the frame that it is in.
    pub(crate) plan: Option<Arc<(Pose, Plan)>>,
}

impl Knowledge {
    /// Stores a pose relative to the start. Returns the absolute one; `None` while the start is not known.
    pub(crate) fn odometry(&mut self, relative: Pose) -> Option<Pose> {
        self.pose = self.start.map(|start| start.out_of(relative));
        self.pose
    }

    /// Returns the input of the planner; `None` as long as there is no pose or no lane.
    pub(crate) fn planner_input(&self) -> Option<(Begin, Lane)> {
        let (pose, lane) = self.pose.zip(self.lane.as_ref())?;
        let seen = lane.frame.into_frame(pose);
        // The plan begins at the car, and so does its frame.
        let begin = Begin { offset: 0.0, heading: 0.0, curvature: self.curvature };
        let points: Vec<_> =
            (0..=66).map(|x| seen.point_into_frame(f64::from(x), lane.middle.y_at(f64::from(x)))).collect();
        Some((begin, Lane { frame: pose, middle: Spline::fit(&points) }))
    }
}

/// The controllers of the car's path and speed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Controllers {
    lateral: Pid,
    speed: Pid,
}

impl Default for Controllers {
    fn default() -> Self {
        // The lateral error's second derivative is the answer.
        let lateral = Pid {
            proportional: LATERAL * LATERAL,
            integral: LATERAL_INTEGRAL,
            derivative: 2.0 * LATERAL,
            ..Pid::default()
        };
        let [proportional, integral] = SPEED_GAINS;
        Self { lateral, speed: Pid { proportional, integral, ..Pid::default() } }
    }
}

impl Controllers {
    /// Returns what the car should do, `seconds` after the last time; `None` as long as pose or lane are not known.
    pub(crate) fn control(&mut self, known: &Knowledge, seconds: f64) -> Option<Wish> {
        let (pose, lane) = known.pose.zip(known.lane.as_ref())?;
        let seen = lane.frame.into_frame(pose);
        let slope = (lane.middle.y_at(seen.x + 0.5) - lane.middle.y_at(seen.x - 0.5)).atan();
        let (error, rate) = (seen.y - lane.middle.y_at(seen.x), known.speed * (seen.heading - slope).sin());
        let ahead = known.plan.as_deref().and_then(|(frame, plan)| plan.curvature(frame.into_frame(pose).x));
        let speed = known.speed.max(5.0);
        let curvature = ahead.unwrap_or(0.0) + self.lateral.answer(error, rate, seconds) / (speed * speed);
        let acceleration = self.speed.answer(known.speed - SPEED, 0.0, seconds);
        Some(Wish { curvature, acceleration })
    }
}

#[cfg(test)]
mod tests {
    use super::super::planner;
    use super::super::road::Road;
    use super::super::vehicle::Vehicle;
    use super::*;

    /// Drives for so many periods of 20 ms; returns the largest distance from the lane's middle after the first three
    /// seconds.
    fn drive(periods: usize, has_planner: bool) -> f64 {
        let mut vehicle = Vehicle::new(Road::motorway());
        let mut known = Knowledge { start: Some(vehicle.start), ..Knowledge::default() };
        let mut controllers = Controllers::default();
        let (mut wish, mut worst) = (Wish::default(), 0.0_f64);
        for period in 0..periods {
            vehicle.drive(wish, 0.02);
            known.speed = vehicle.car.speed;
            known.curvature = vehicle.car.steering.tan() / super::super::car::WHEELBASE;
            known.odometry(vehicle.start.into_frame(vehicle.car.pose)).unwrap();
            if period % 2 == 0 {
                let [left, right] = vehicle.lines();
                known.lane = Some(Lane { frame: vehicle.car.pose, middle: left.between(&right) });
            }
            wish = controllers.control(&known, 0.02).unwrap();
            if has_planner && period % 15 == 0 {
                let (begin, lane) = known.planner_input().unwrap();
                let planned = planner::plan(begin, 60, |x| lane.middle.y_at(x)).unwrap();
                known.plan = Some(Arc::new((lane.frame, planned)));
            }
            if period > 150 {
                worst = worst.max(vehicle.offset.abs());
            }
        }
        worst
    }

    #[test]
    fn the_car_keeps_to_the_middle_of_its_lane() {
        let worst = drive(700, true);
        assert!(worst < 0.15, "{worst}");
    }

    #[test]
    fn without_a_plan_it_is_worse() {
        assert!(drive(700, false) > 2.0 * drive(700, true));
    }

    #[test]
    fn nothing_is_done_before_pose_and_lane_are_known() {
        let mut known = Knowledge::default();
        assert!(known.odometry(Pose::default()).is_none() && known.planner_input().is_none());
        assert!(Controllers::default().control(&known, 0.02).is_none());
    }
}
