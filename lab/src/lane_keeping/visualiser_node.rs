//! The visualiser's process: what is on the bus as markers, which rviz and Foxglove show in 3D.

use rospin_engine::{Executor, Recorder};
use rospin_msgs::geometry_msgs::msg::Point;
use rospin_msgs::visualization_msgs::msg::{Marker, MarkerArray};
use rospin_node::{Publisher, Ros};

use super::keeper_node::spline;
use super::messages::lane_keeping_msgs::msg::{Lines, Odometry, Trajectory, Vehicles};
use super::order::{Answer, Order};
use super::process::{Failed, Finish, Kept, PERIOD, publish, send, subscribe};
use super::road::Pose;
use super::spline::Spline;

/// Number of points of a line's marker.
const POINTS: usize = 30;
/// Colours as red, green and blue.
const WHITE: [f32; 3] = [1.0, 1.0, 1.0];
const GREEN: [f32; 3] = [0.1, 0.8, 0.3];
const ORANGE: [f32; 3] = [0.9, 0.5, 0.1];

/// State that the subscriptions share.
struct State {
    /// Absolute pose of the car.
    pose: Option<Pose>,
    markers: Publisher<MarkerArray>,
    /// Nanoseconds from the due time of each odometry message to its being stored, after the due time.
    latencies: Vec<(u64, u64)>,
    published: u64,
    unsent: u64,
}

/// Creates the visualiser's node. Returns what reads its result.
///
/// # Errors
/// If the middleware refuses.
pub(crate) fn start(order: &Order, ros: &Ros, executors: &[Executor], kept: &mut Kept) -> Result<Finish, Failed> {
    let node = ros.create_node("visualiser")?;
    let markers = node.create_publisher(publish("markers"))?;
    let room = (order.duration.as_nanos() / PERIOD.as_nanos()) as usize + 100;
    let state = State { pose: None, markers, latencies: Vec::with_capacity(room), published: 0, unsent: 0 };
    let group = executors[0].create_group("visualiser", state);
    let on = node.on(&group);
    let store = |state: &mut State, message: &Odometry| {
        state.pose = Some(Pose { x: message.x, y: message.y, heading: message.heading });
        state.latencies.push((message.due_ns, Recorder::steady_ns().saturating_sub(message.due_ns)));
    };
    kept.subscription(on.create_subscription(subscribe("visualiser", "odometry", "odometry"), store)?);
    let lines = |state: &mut State, message: &Lines| state.lines(message);
    kept.subscription(on.create_subscription(subscribe("visualiser", "lines", "bus/lines"), lines)?);
    let vehicles = |state: &mut State, message: &Vehicles| state.vehicles(message);
    kept.subscription(on.create_subscription(subscribe("visualiser", "vehicles", "bus/vehicles"), vehicles)?);
    let trajectory = |state: &mut State, message: &Trajectory| {
        let points = message.xs.iter().zip(&message.ys).map(|(x, y)| point((*x, *y))).collect();
        state.publish(vec![strip("trajectory", 0, points, GREEN)]);
    };
    kept.subscription(on.create_subscription(subscribe("visualiser", "trajectory", "trajectory"), trajectory)?);
    Ok(Box::new(move |answer: &mut Answer| {
        if let Ok(state) = group.into_payload() {
            answer.chain_ns = state.latencies;
            answer.markers = state.published;
            answer.unsent += state.unsent;
        }
    }))
}

impl State {
    fn publish(&mut self, markers: Vec<Marker>) {
        self.published += 1;
        send(&self.markers, MarkerArray { markers }, &mut self.unsent);
    }

    /// Shows both lines of the lane where the car is.
    fn lines(&mut self, message: &Lines) {
        let Some(pose) = self.pose else { return };
        let lines = [&message.left, &message.right].map(spline);
        let markers = lines.iter().filter(|line| line.is_valid()).enumerate();
        let markers = markers.map(|(number, line)| strip("lines", number as i32, points(pose, line), WHITE)).collect();
        self.publish(markers);
    }

    /// Shows the car, and the others.
    fn vehicles(&mut self, message: &Vehicles) {
        let Some(pose) = self.pose else { return };
        let others = message.vehicles.iter().map(|vehicle| pose.point_out_of(vehicle.x, vehicle.y));
        let all = std::iter::once((pose.x, pose.y)).chain(others).enumerate();
        self.publish(all.map(|(number, at)| cube(number as i32, at, pose.heading)).collect());
    }
}

/// Returns points of the line, in absolute coordinates.
fn points(pose: Pose, line: &Spline) -> Vec<Point> {
    (0..=POINTS)
        .map(|place| line.point(place as f64 / POINTS as f64))
        .map(|(x, y)| point(pose.point_out_of(x, y)))
        .collect()
}

fn point((x, y): (f64, f64)) -> Point {
    Point { x, y, z: 0.0 }
}

/// Returns a marker without points or place.
fn marker(namespace: &str, id: i32, kind: i32, colour: [f32; 3]) -> Marker {
    let mut marker = Marker { ns: namespace.to_owned(), id, r#type: kind, action: Marker::ADD, ..Marker::default() };
    marker.header.frame_id = "map".to_owned();
    marker.pose.orientation.w = 1.0;
    [marker.color.r, marker.color.g, marker.color.b] = colour;
    marker.color.a = 1.0;
    marker
}

fn strip(namespace: &str, id: i32, points: Vec<Point>, colour: [f32; 3]) -> Marker {
    let mut marker = marker(namespace, id, Marker::LINE_STRIP, colour);
    marker.scale.x = 0.15;
    marker.points = points;
    marker
}

/// Returns the marker of a vehicle: number 0 is the car itself.
fn cube(id: i32, at: (f64, f64), heading: f64) -> Marker {
    let mut marker = marker("vehicles", id, Marker::CUBE, if id == 0 { GREEN } else { ORANGE });
    marker.pose.position = point(at);
    (marker.pose.orientation.z, marker.pose.orientation.w) = (heading / 2.0).sin_cos();
    (marker.scale.x, marker.scale.y, marker.scale.z) = (4.7, 1.9, 1.5);
    marker
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_have_the_absolute_place_and_a_turn_of_length_one() {
        let car = cube(0, (3.0, 4.0), 1.0);
        let turn = &car.pose.orientation;
        assert!((turn.z.hypot(turn.w) - 1.0).abs() < 1e-12 && car.pose.position.x == 3.0);
        let straight: Vec<_> = (0..40).map(|x| (f64::from(x), 0.0)).collect();
        let pose = Pose { x: 10.0, y: 20.0, heading: std::f64::consts::FRAC_PI_2 };
        let points = points(pose, &Spline::fit(&straight));
        let last = points.last().unwrap();
        assert!((last.x - 10.0).abs() < 0.01 && (last.y - 59.0).abs() < 0.01, "{last:?}");
    }
}
