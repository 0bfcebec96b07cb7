//! The lane keeper's process: callbacks that store, the timer with the controllers, and the planner.

use std::sync::Arc;
use std::time::Duration;

use rospin_engine::{CallbackGroup, Executor, Mutex};
use rospin_node::{Message, Node, Publisher, Ros};

use super::car::WHEELBASE;
use super::keeper::{Controllers, Knowledge, Lane};
use super::messages::lane_keeping_msgs::msg::{
    Command, Gps, Imu, Lines, Odometry, Signal, Spline as SplineMessage, Trajectory, Vehicles, WheelSpeeds,
};
use super::order::{Answer, Order};
use super::planner::{self, STEPS};
use super::process::{Failed, Finish, Kept, PERIOD, every, executor_of, publish, send, subscribe};
use super::road::Pose;
use super::spline::Spline;
use super::vehicle_node::{SIGNALS, odometry};

/// Number of the timer's periods after which the planner runs: 300 ms.
const PLAN_EVERY: u32 = 15;
/// Time after the odometry at which the timer is due: shortly before the next one, so that a long callback on the same
/// thread is in its way. The planner is due with the timer.
const CONTROL_AFTER: Duration = Duration::from_millis(18);
/// Number of points of a trajectory's message.
const POINTS: usize = 60;

/// Knowledge that the threads of the lane keeper share. The lock passes priorities on.
type Shared = Arc<Mutex<Knowledge>>;

/// State that the subscriptions share among themselves.
struct Stores {
    known: Shared,
    absolute: Publisher<Odometry>,
    unsent: u64,
}

/// State of the timer.
struct Control {
    known: Shared,
    controllers: Controllers,
    command: Publisher<Command>,
    unsent: u64,
}

/// State of the planner.
struct Planner {
    known: Shared,
    steps: usize,
    trajectory: Publisher<Trajectory>,
    /// Number of plans, and of those that could not be made.
    plans: [u64; 2],
    unsent: u64,
}

/// Creates the lane keeper's node. Returns what reads its result.
///
/// # Errors
/// If the middleware refuses.
pub(crate) fn start(order: &Order, ros: &Ros, executors: &[Executor], kept: &mut Kept) -> Result<Finish, Failed> {
    let node = ros.create_node("keeper")?;
    let known = Shared::new(Mutex::new(Knowledge::default()));
    let on = |place| executor_of(executors, order.drive.executors, place);
    let absolute = node.create_publisher(publish("odometry"))?;
    let stores = Stores { known: Arc::clone(&known), absolute, unsent: 0 };
    let stores = on(0).create_group("subscribers", stores);
    store(&node, &stores, kept)?;
    let command = node.create_publisher(publish("command"))?;
    let control = Control { known: Arc::clone(&known), controllers: Controllers::default(), command, unsent: 0 };
    let control = on(1).create_group("control", control);
    let timer = every(PERIOD, "keeper/control", order, CONTROL_AFTER);
    kept.timer(control.create_timer(timer, |control: &mut Control, _| control.run())?);
    let trajectory = node.create_publisher(publish("trajectory"))?;
    let steps = STEPS * order.drive.planner as usize;
    let planner = on(2).create_group("planner", Planner { known, steps, trajectory, plans: [0; 2], unsent: 0 });
    let timer = every(PERIOD * PLAN_EVERY, "keeper/planner", order, CONTROL_AFTER + PERIOD * PLAN_EVERY);
    kept.timer(planner.create_timer(timer, |planner: &mut Planner, _| planner.run())?);
    Ok(Box::new(move |answer: &mut Answer| {
        answer.unsent += stores.into_payload().map_or(0, |stores| stores.unsent);
        answer.unsent += control.into_payload().map_or(0, |control| control.unsent);
        if let Ok(planner) = planner.into_payload() {
            answer.plans = planner.plans;
            answer.unsent += planner.unsent;
        }
    }))
}

/// Creates the subscriptions of the eleven topics of the bus. Each stores what it gets.
fn store(node: &Node, group: &CallbackGroup<Stores>, kept: &mut Kept) -> Result<(), Failed> {
    fn on<M: Message>(
        node: &Node,
        group: &CallbackGroup<Stores>,
        name: &str,
        mut store: impl FnMut(&mut Stores, &M) + Send + 'static,
    ) -> Result<rospin_node::Subscription, Failed> {
        let options = subscribe("keeper", name, &format!("bus/{name}"));
        Ok(node
            .on(group)
            .create_subscription(options, move |stores: &mut Stores, message: &M| store(stores, message))?)
    }
    kept.subscription(on(node, group, "odometry", |stores, message: &Odometry| stores.odometry(message))?);
    kept.subscription(on(node, group, "gps", |stores, message: &Gps| {
        let (x, y, heading) = (message.start_x, message.start_y, message.start_heading);
        stores.known.lock().start = Some(Pose { x, y, heading });
    })?);
    kept.subscription(on(node, group, "imu", |stores, message: &Imu| {
        stores.known.lock().sideways = message.sideways;
    })?);
    kept.subscription(on(node, group, "wheel_speeds", |stores, message: &WheelSpeeds| {
        stores.known.lock().wheel_speed = message.speeds.iter().sum::<f64>() / 4.0;
    })?);
    for (place, name) in SIGNALS.into_iter().enumerate() {
        kept.subscription(on(node, group, name, move |stores, message: &Signal| {
            let mut known = stores.known.lock();
            match place {
                0 => known.speed = message.value,
                1 => known.curvature = message.value.tan() / WHEELBASE,
                _ => known.pedals_and_gear[place - 2] = message.value,
            }
        })?);
    }
    kept.subscription(on(node, group, "lines", |stores, message: &Lines| stores.lines(message))?);
    kept.subscription(on(node, group, "vehicles", |stores, message: &Vehicles| {
        let nearest = message.vehicles.iter().map(|vehicle| vehicle.x.hypot(vehicle.y)).reduce(f64::min);
        stores.known.lock().nearest = nearest;
    })?);
    Ok(())
}

impl Stores {
    /// Stores the absolute pose, and publishes it for the visualiser.
    fn odometry(&mut self, message: &Odometry) {
        let absolute = self.known.lock().odometry(pose(message));
        if let Some(absolute) = absolute {
            send(&self.absolute, odometry([message.time_ns, message.due_ns], absolute), &mut self.unsent);
        }
    }

    /// Stores the lane's middle, if the lines are valid.
    fn lines(&self, message: &Lines) {
        let (left, right) = (spline(&message.left), spline(&message.right));
        if !left.is_valid() || !right.is_valid() || left.xs.len() != right.xs.len() {
            return;
        }
        let middle = left.between(&right);
        let mut known = self.known.lock();
        let frame = known.start.map(|start| start.out_of(pose(&message.pose)));
        known.lane = frame.map(|frame| Lane { frame, middle });
    }
}

impl Control {
    /// Computes the command and publishes it. The lock is held only for the copy.
    fn run(&mut self) {
        let known = self.known.lock().clone();
        if let Some(wish) = self.controllers.control(&known, PERIOD.as_secs_f64()) {
            let command = Command { curvature: wish.curvature, acceleration: wish.acceleration };
            send(&self.command, command, &mut self.unsent);
        }
    }
}

impl Planner {
    /// Plans the path ahead, stores it and publishes it. The lock is not held while it plans.
    fn run(&mut self) {
        let input = self.known.lock().planner_input();
        let Some((begin, lane)) = input else { return };
        let Some(plan) = planner::plan(begin, self.steps, |x| lane.middle.y_at(x)) else {
            self.plans[1] += 1;
            return;
        };
        self.plans[0] += 1;
        let every = (plan.offsets.len() / POINTS).max(1);
        let points = plan.offsets.iter().enumerate().step_by(every);
        let points = points.map(|(place, offset)| lane.frame.point_out_of((place + 1) as f64 * plan.step, *offset));
        let (xs, ys) = points.unzip();
        self.known.lock().plan = Some(Arc::new((lane.frame, plan)));
        send(&self.trajectory, Trajectory { xs, ys }, &mut self.unsent);
    }
}

fn pose(message: &Odometry) -> Pose {
    Pose { x: message.x, y: message.y, heading: message.heading }
}

/// Returns a spline of a message, which may be invalid.
pub(crate) fn spline(message: &SplineMessage) -> Spline {
    Spline { length: message.length, xs: message.xs.clone(), ys: message.ys.clone() }
}
