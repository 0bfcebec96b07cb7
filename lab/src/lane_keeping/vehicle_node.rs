//! The vehicle's process: the car, and the adapter of its bus with eleven topics at 50 and 25 Hz.

use std::time::Duration;

use rospin_engine::{Executor, Tick};
use rospin_node::{Publisher, Ros};

use super::car::Wish;
use super::messages::lane_keeping_msgs::msg::{
    Command, Gps, Imu, Lines, Odometry, Signal, Spline as SplineMessage, Vehicle as VehicleMessage, Vehicles,
    WheelSpeeds,
};
use super::order::{Answer, Order, Place};
use super::process::{Failed, Finish, Kept, PERIOD, every, publish, send, subscribe};
use super::road::{Pose, Road};
use super::spline::Spline;
use super::vehicle::Vehicle;

/// Time by which lines and vehicles come after the odometry, as from a camera that runs by itself.
const CAMERA_AFTER: Duration = Duration::from_millis(10);
/// The quantities that are one number each.
pub(crate) const SIGNALS: [&str; 5] = ["speed", "steering_angle", "acceleration", "brake", "gear"];

/// State that the callbacks of the vehicle share.
struct State {
    vehicle: Vehicle,
    wish: Wish,
    topics: Topics,
    periods: u64,
    path: Vec<Place>,
    unsent: u64,
}

/// Publishers of the bus.
struct Topics {
    odometry: Publisher<Odometry>,
    imu: Publisher<Imu>,
    gps: Publisher<Gps>,
    wheel_speeds: Publisher<WheelSpeeds>,
    signals: Vec<Publisher<Signal>>,
    lines: Publisher<Lines>,
    vehicles: Publisher<Vehicles>,
}

/// Creates the vehicle's node. Returns what reads its result.
///
/// # Errors
/// If the middleware refuses.
pub(crate) fn start(order: &Order, ros: &Ros, executors: &[Executor], kept: &mut Kept) -> Result<Finish, Failed> {
    let node = ros.create_node("vehicle")?;
    let topics = Topics {
        odometry: node.create_publisher(publish("bus/odometry"))?,
        imu: node.create_publisher(publish("bus/imu"))?,
        gps: node.create_publisher(publish("bus/gps"))?,
        wheel_speeds: node.create_publisher(publish("bus/wheel_speeds"))?,
        signals: SIGNALS
            .iter()
            .map(|name| node.create_publisher(publish(&format!("bus/{name}"))))
            .collect::<Result<_, _>>()?,
        lines: node.create_publisher(publish("bus/lines"))?,
        vehicles: node.create_publisher(publish("bus/vehicles"))?,
    };
    let room = (order.duration.as_nanos() / PERIOD.as_nanos()) as usize + 100;
    let state = State {
        vehicle: Vehicle::new(Road::motorway()),
        wish: Wish::default(),
        topics,
        periods: 0,
        path: Vec::with_capacity(room),
        unsent: 0,
    };
    let group = executors[0].create_group("vehicle", state);
    let command = |state: &mut State, message: &Command| {
        state.wish = Wish { curvature: message.curvature, acceleration: message.acceleration };
    };
    kept.subscription(node.on(&group).create_subscription(subscribe("vehicle", "command", "command"), command)?);
    let timer = every(PERIOD, "vehicle/odometry", order, Duration::ZERO);
    kept.timer(group.create_timer(timer, |state: &mut State, tick: Tick| state.drive(tick.due.as_nanos()))?);
    let timer = every(PERIOD * 2, "vehicle/lines", order, CAMERA_AFTER);
    kept.timer(group.create_timer(timer, |state: &mut State, _| state.see())?);
    Ok(Box::new(move |answer: &mut Answer| {
        if let Ok(state) = group.into_payload() {
            answer.path = state.path;
            answer.unsent += state.unsent;
        }
    }))
}

impl State {
    /// Moves the car on by a period, and publishes what is on the bus at 50 Hz, the odometry first.
    fn drive(&mut self, due_ns: u64) {
        self.vehicle.drive(self.wish, PERIOD.as_secs_f64());
        self.periods += 1;
        let time_ns = self.time_ns();
        let (travelled_m, offset_m) = (self.vehicle.travelled, self.vehicle.offset);
        self.path.push(Place { time_s: time_ns as f64 / 1e9, travelled_m, offset_m });
        let (car, start, unsent) = (self.vehicle.car, self.vehicle.start, &mut self.unsent);
        send(&self.topics.odometry, odometry([time_ns, due_ns], start.into_frame(car.pose)), unsent);
        let sideways = car.speed * car.yaw_rate();
        let imu = Imu { time_ns, forward: car.acceleration, sideways, yaw_rate: car.yaw_rate() };
        send(&self.topics.imu, imu, unsent);
        let gps = Gps {
            time_ns,
            start_x: start.x,
            start_y: start.y,
            start_heading: start.heading,
            x: car.pose.x,
            y: car.pose.y,
        };
        send(&self.topics.gps, gps, unsent);
        send(&self.topics.wheel_speeds, WheelSpeeds { time_ns, speeds: [car.speed; 4] }, unsent);
        let values = [car.speed, car.steering, car.acceleration.max(0.0), (-car.acceleration).max(0.0), 5.0];
        for (publisher, value) in self.topics.signals.iter().zip(values) {
            send(publisher, Signal { time_ns, value }, unsent);
        }
    }

    /// Fits the road lines, and publishes what is on the bus at 25 Hz.
    fn see(&mut self) {
        let time_ns = self.time_ns();
        let [left, right] = self.vehicle.lines().map(spline);
        let pose = odometry([time_ns, 0], self.vehicle.start.into_frame(self.vehicle.car.pose));
        send(&self.topics.lines, Lines { time_ns, pose, left, right }, &mut self.unsent);
        let speed = self.vehicle.car.speed;
        let vehicles = self.vehicle.others().map(|(x, y)| VehicleMessage { x, y, speed }).into();
        send(&self.topics.vehicles, Vehicles { time_ns, vehicles }, &mut self.unsent);
    }

    /// Returns the time on the vehicle's clock, which is that of its simulation.
    fn time_ns(&self) -> u64 {
        self.periods * PERIOD.as_nanos() as u64
    }
}

/// Returns a pose as a message with its times: on the vehicle's clock, and when it was due.
pub(crate) fn odometry([time_ns, due_ns]: [u64; 2], pose: Pose) -> Odometry {
    Odometry { time_ns, due_ns, x: pose.x, y: pose.y, heading: pose.heading }
}

fn spline(Spline { length, xs, ys }: Spline) -> SplineMessage {
    SplineMessage { length, xs, ys }
}
