//! A robot: ten nodes in one process, with every kind of entity, and what really happens in them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rospin::action::{ActionServer, CancelResponse, GoalResponse};
use rospin::container::{Components, Container, Setup};
use rospin::errors::CallError;
use rospin::lifecycle::{Fault, Lifecycle, LifecycleHandle, LifecycleNode, State};
use rospin::msgs::example_interfaces::action::{Fibonacci, FibonacciFeedback, FibonacciGoal, FibonacciResult};
use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
use rospin::msgs::geometry_msgs::msg::TransformStamped;
use rospin::parameters::ParametersCallback;
use rospin::tf2::{StaticTransformBroadcaster, TransformBroadcaster};
use rospin::{
    Node, NodeOptions, Parameter, Publisher, PublisherOptions, Ros, Service, ServiceOptions, Subscription,
    SubscriptionOptions, Timer,
};
use rospin_engine::LossCause;
use rospin_node::{ActionServerOptions, GoalHandle, GoalId};

use super::super::words::{Count, End, Fact, LATCHED, RobotSnapshot, TOPICS};
use super::ear::Ear;
use super::lateness::{Lateness, publishing};
use super::{Asked, Failed, Part, Teller, robot_name, seen};

/// Orders that are divisible by these are rejected, not canceled, and aborted.
pub(in super::super) const REJECTED: i32 = 7;
pub(super) const STUBBORN: i32 = 5;
pub(super) const ABORTED: i32 = 9;
/// Speeds that are divisible by this are refused.
pub(in super::super) const TOO_FAST: i64 = 11;
/// The answer of a relay that has none of the station.
pub(super) const NO_ANSWER: i64 = -1;
/// The longest time for which a relay waits for the station.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time between two pieces of feedback.
const FEEDBACK: Duration = Duration::from_millis(200);
/// The time for which a server keeps results. Well before memory is compared, as many of them come as go.
const KEPT: Duration = Duration::from_secs(300);
/// Periods of the reliable topic and the one of best effort, of the latched one, and of what is watched for lateness.
const SENSORS: Duration = Duration::from_millis(50);
const MAPPER: Duration = Duration::from_millis(1500);
const WATCHED: Duration = Duration::from_millis(20);
/// The component that others load.
pub(super) const GUEST: &str = "soak::Guest";

/// A publisher of counts. What it has published is in a file, so that it is known after a SIGKILL.
struct Talker {
    publisher: Publisher<Count>,
    last: Mutex<Count>,
    file: Arc<File>,
    place: u64,
}

impl Talker {
    fn publish(&self, teller: &Teller) {
        let mut last = lock(&self.last);
        *last = last.next(self.publisher.subscription_count() == 0);
        // Before it is published: a number that nobody can have heard is better than one that nobody knows.
        let bytes = [last.number, last.unmatched_with()].map(i64::to_le_bytes).concat();
        let written = self.file.write_all_at(&bytes, self.place * bytes.len() as u64);
        teller.check(written.is_ok(), || "the file of published numbers cannot be written".to_owned());
        if let Err(error) = publishing(|| self.publisher.publish(*last)) {
            teller.tell(&Fact::Wrong { text: format!("{}: {error}", TOPICS[self.place as usize]) });
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A managed node whose callbacks all succeed.
struct Arm {
    teller: Teller,
}

impl Arm {
    fn ran(&self, callback: &str, from: State) -> Result<(), Fault> {
        self.teller.tell(&Fact::Transition { callback: callback.to_owned(), from: format!("{from:?}") });
        Ok(())
    }
}

impl Lifecycle for Arm {
    fn on_configure(&mut self, _: &LifecycleHandle<Self>, from: State) -> Result<(), Fault> {
        self.ran("configure", from)
    }
    fn on_cleanup(&mut self, _: &LifecycleHandle<Self>, from: State) -> Result<(), Fault> {
        self.ran("cleanup", from)
    }
    fn on_activate(&mut self, _: &LifecycleHandle<Self>, from: State) -> Result<(), Fault> {
        self.ran("activate", from)
    }
    fn on_deactivate(&mut self, _: &LifecycleHandle<Self>, from: State) -> Result<(), Fault> {
        self.ran("deactivate", from)
    }
}

/// A running robot.
struct Robot {
    part: Part,
    /// The node that looks at the graph.
    node: Node,
    /// Nodes whose entities do not keep them.
    _nodes: [Node; 8],
    talkers: Arc<[Talker; 3]>,
    speed: Parameter<i64>,
    /// The last value that the robot sets itself.
    own_speed: Mutex<i64>,
    arm: LifecycleNode<Arm>,
    server: ActionServer,
    services: [Service; 2],
    mission: Arc<Mutex<Option<Count>>>,
    _kept: (ParametersCallback, Subscription, [Timer; 4]),
}

/// Runs a robot until stdin ends, or a signal ends it.
pub(super) fn run(part: &Part) -> Result<(), Failed> {
    let ros = rospin::init()?;
    let mut container = Container::new(ros.context());
    let components = Components::new().register(GUEST, |setup: Setup| guest(&setup));
    let name = robot_name(part.order.host);
    container.serve(&components, &ros, NodeOptions::new("components").namespace(format!("/{name}")))?;
    let ending = container.handle();
    let container = thread::Builder::new().name("container".to_owned()).spawn(move || container.run().is_ok())?;
    let robot = Arc::new(Robot::start(part, &ros)?);
    part.teller.tell(&Fact::Ready);
    let (obeying, asked, executor) = (part.clone(), Arc::downgrade(&robot), ros.executor().handle());
    thread::Builder::new().name("requests".to_owned()).spawn(move || {
        super::obey(&obeying, &asked);
        executor.halt();
    })?;
    ros.spin()?;
    ending.end("the robot ends");
    let has_ended = container.join().unwrap_or(false);
    part.teller.check(has_ended, || "the container has failed".to_owned());
    Ok(())
}

/// A component: it hears its robot's map and the station, and has a service. Only the station hears the other topics,
/// so that their publishers know whether it is there.
fn guest(setup: &Setup) -> Result<(Subscription, Subscription, Service), Failed> {
    let node = setup.create_node()?;
    let mission = SubscriptionOptions::new("/mission").keep_last(1).transient_local();
    let mission = node.create_subscription(mission, |_: Count| {})?;
    let map = SubscriptionOptions::new("map").keep_last(1).transient_local();
    let map = node.create_subscription(map, |_: Count| {})?;
    let answer = |request: AddTwoIntsRequest| AddTwoIntsResponse { sum: request.a + request.b };
    let service = node.create_service::<AddTwoInts, _>("guest", answer)?;
    Ok((mission, map, service))
}

impl Robot {
    fn start(part: &Part, ros: &Ros) -> Result<Self, Failed> {
        let robot = robot_name(part.order.host);
        let node = |name: &str| ros.create_node(NodeOptions::new(name).namespace(format!("/{robot}")));
        let nodes = [
            node("sensors")?,
            node("mapper")?,
            node("server")?,
            node("driver")?,
            node("tuner")?,
            node("frames")?,
            node("relay")?,
            node("listener")?,
        ];
        let [sensors, mapper, server, driver, tuner, frames, relay, listener] = &nodes;
        let talkers = talkers(part, sensors, mapper)?;
        let (speed, check) = speed(part, tuner)?;
        let arm = NodeOptions::new("arm").namespace(format!("/{robot}"));
        let executor = ros.executor().handle();
        let arm = LifecycleNode::new(ros, &executor, arm, Arm { teller: part.teller.clone() })?;
        let mission = Arc::new(Mutex::new(None));
        let heard = hear_mission(part, listener, Arc::clone(&mission))?;
        let services = [double(server, "double", part)?, relay_to_station(relay)?];
        let timers = [
            publish_regularly(part, sensors, SENSORS, &talkers, &[0, 1])?,
            publish_regularly(part, mapper, MAPPER, &talkers, &[LATCHED])?,
            send_frames(part, frames, &robot)?,
            watch(part, listener)?,
        ];
        let server = serve(part, driver)?;
        Ok(Self {
            part: part.clone(),
            node: listener.clone(),
            _nodes: nodes,
            talkers,
            speed,
            own_speed: Mutex::new(-part.order.boot),
            arm,
            server,
            services,
            mission,
            _kept: (check, heard, timers),
        })
    }
}

impl Asked for Robot {
    fn publish_once(&self) {
        for talker in self.talkers.iter() {
            talker.publish(&self.part.teller);
        }
        // An event tells the station of it.
        let mut own = lock(&self.own_speed);
        *own -= 1_000_000;
        let set = self.speed.set(*own);
        self.part.teller.check(set.is_ok(), || format!("the robot cannot set its own speed: {set:?}"));
    }

    fn snapshot(&self) {
        let lost = |cause: LossCause| {
            let services = self.services.iter().map(|service| service.lost(cause)).sum::<u64>();
            services + self.server.lost(cause)
        };
        let snapshot = RobotSnapshot {
            published: [0, 1, 2].map(|topic| *lock(&self.talkers[topic].last)),
            speed: self.speed.get(),
            arm: format!("{:?}", self.arm.handle().state()),
            active_goals: self.server.active_goals(),
            mission: *lock(&self.mission),
            seen: seen(&self.node, self.part.order.robots),
            lost_requests: LossCause::ALL.into_iter().map(lost).sum(),
            unsent: self.services.iter().map(Service::unsent_responses).sum::<u64>() + self.server.unsent_responses(),
        };
        self.part.teller.tell(&Fact::RobotSnapshot(Box::new(snapshot)));
    }

    fn roll_call(&self) {}
}

fn talkers(part: &Part, sensors: &Node, mapper: &Node) -> Result<Arc<[Talker; 3]>, Failed> {
    let file = Arc::new(File::create(&part.order.published)?);
    let last = Count { boot: part.order.boot, ..Count::default() };
    let options = [
        PublisherOptions::new(TOPICS[0]).keep_last(5),
        PublisherOptions::new(TOPICS[1]).best_effort(),
        PublisherOptions::new(TOPICS[2]).keep_last(1).transient_local(),
    ];
    let mut talkers = Vec::new();
    for (place, options) in options.into_iter().enumerate() {
        let node = if place == LATCHED { mapper } else { sensors };
        let publisher = node.create_publisher(options)?;
        talkers.push(Talker { publisher, last: Mutex::new(last), file: Arc::clone(&file), place: place as u64 });
    }
    let talkers: [Talker; 3] = talkers.try_into().map_err(|_| "there are three topics")?;
    Ok(Arc::new(talkers))
}

fn publish_regularly(
    part: &Part,
    node: &Node,
    period: Duration,
    talkers: &Arc<[Talker; 3]>,
    topics: &'static [usize],
) -> Result<Timer, Failed> {
    let (part, talkers) = (part.clone(), Arc::clone(talkers));
    let publish = move |_| {
        if !part.is_paused() {
            for topic in topics {
                talkers[*topic].publish(&part.teller);
            }
        }
    };
    Ok(node.create_timer(period, publish)?)
}

/// Watches how late a callback is.
fn watch(part: &Part, node: &Node) -> Result<Timer, Failed> {
    let (teller, mut lateness) = (part.teller.clone(), Lateness::new(WATCHED));
    Ok(node.create_timer(WATCHED, move |_| lateness.note(&teller))?)
}

/// Declares the parameter that the station sets. Negative values are the robot's own.
fn speed(part: &Part, node: &Node) -> Result<(Parameter<i64>, ParametersCallback), Failed> {
    let teller = part.teller.clone();
    let check = node.add_on_set_parameters_callback(move |settings| {
        for setting in settings.iter().filter(|setting| setting.name == "speed") {
            let Some(value) = setting.value.as_i64() else { continue };
            if value > 0 && value % TOO_FAST == 0 {
                return Err("it is too fast".to_owned());
            }
            teller.tell(&Fact::Speed { value });
        }
        Ok(())
    });
    Ok((node.declare_parameter("speed", -part.order.boot)?, check))
}

fn hear_mission(part: &Part, node: &Node, mission: Arc<Mutex<Option<Count>>>) -> Result<Subscription, Failed> {
    let (teller, mut ear) = (part.teller.clone(), Ear::default());
    let hear = move |count: Count| {
        *lock(&mission) = Some(count);
        let is_right = ear.hear(count, true);
        teller.check(is_right, || format!("mission {count:?} came too late"));
    };
    let options = SubscriptionOptions::new("/mission").keep_last(1).transient_local();
    Ok(node.create_subscription(options, hear)?)
}

/// Creates a service that doubles numbers, and tells of each request.
pub(super) fn double(node: &Node, name: &str, part: &Part) -> Result<Service, Failed> {
    let teller = part.teller.clone();
    let double = move |request: AddTwoIntsRequest| {
        teller.tell(&Fact::Effect { id: request.a });
        AddTwoIntsResponse { sum: request.a + request.b }
    };
    let options = ServiceOptions::new(name).keep_last(200);
    Ok(node.create_service::<AddTwoInts, _>(options, double)?)
}

/// Creates a service that asks the station's service inside its callback.
fn relay_to_station(node: &Node) -> Result<Service, Failed> {
    let client = node.create_client::<AddTwoInts>("/station/double")?;
    let limits = node.clone();
    let relay = move |request: AddTwoIntsRequest| {
        let call = limits.timeout(PATIENCE, client.call(request));
        async move {
            let sum = match call.await {
                Ok(Ok(response)) => response.sum,
                Ok(Err(CallError::Unavailable { .. } | CallError::Unanswered { .. })) | Err(_) => NO_ANSWER,
                Ok(Err(error)) => panic!("{error}"),
            };
            AddTwoIntsResponse { sum }
        }
    };
    let options = ServiceOptions::new("relay").keep_last(200).max_in_flight(100);
    Ok(node.create_service::<AddTwoInts, _>(options, relay)?)
}

/// Sends the robot's transforms: where it is, and where its sensor is.
fn send_frames(part: &Part, node: &Node, robot: &str) -> Result<Timer, Failed> {
    let frame = |parent: String, child: String| {
        let mut frame = TransformStamped { child_frame_id: child, ..TransformStamped::default() };
        frame.header.frame_id = parent;
        frame.transform.rotation.w = 1.0;
        frame
    };
    let mount = StaticTransformBroadcaster::new(node)?;
    mount.send([frame(format!("{robot}/base"), format!("{robot}/sensor"))])?;
    let broadcaster = TransformBroadcaster::new(node)?;
    let mut base = frame("map".to_owned(), format!("{robot}/base"));
    let (clock, teller) = (node.clone(), part.teller.clone());
    let send = move |_| {
        // Keeps the static transforms' publisher.
        let _mount = &mount;
        base.header.stamp = clock.now().into();
        base.transform.translation.x += 0.01;
        let sent = publishing(|| broadcaster.send_transform(base.clone()));
        teller.check(sent.is_ok(), || format!("a transform is not sent: {sent:?}"));
    };
    Ok(node.create_timer(Duration::from_millis(100), send)?)
}

/// Executes a goal: some feedback, then the end.
async fn drive(node: Node, goal: GoalHandle<Fibonacci>, teller: Teller) {
    let id = goal.id().to_string();
    let order = goal.goal().order;
    let ended = |state: &str, result: Vec<i32>| {
        // Told before it is sent: nobody hears of an end that is not known.
        teller.tell(&Fact::Ended { goal: id.clone(), end: End { state: state.to_owned(), result } });
    };
    for number in 0..order % 20 {
        if goal.is_cancel_requested() {
            ended("Canceled", vec![number]);
            // It fails if its server was dropped meanwhile, and nobody hears of the goal any more.
            let _ = goal.canceled(FibonacciResult { sequence: vec![number] });
            return;
        }
        // It is not sent if nobody hears it.
        let _ = publishing(|| goal.publish_feedback(FibonacciFeedback { sequence: vec![number] }));
        match node.sleep(FEEDBACK) {
            Ok(sleep) => _ = sleep.await,
            Err(_) => return,
        }
    }
    if order % ABORTED == 0 {
        ended("Aborted", vec![order]);
        goal.abort(FibonacciResult { sequence: vec![order] });
    } else {
        ended("Succeeded", vec![order]);
        goal.succeed(FibonacciResult { sequence: vec![order] });
    }
}

fn serve(part: &Part, node: &Node) -> Result<ActionServer, Failed> {
    let teller = part.teller.clone();
    let on_goal = move |id: GoalId, goal: &FibonacciGoal| {
        if goal.order % REJECTED == 0 {
            return GoalResponse::Reject;
        }
        teller.tell(&Fact::Accepted { goal: id.to_string(), order: goal.order });
        GoalResponse::AcceptAndExecute
    };
    let teller = part.teller.clone();
    let on_cancel = move |id: GoalId, goal: &FibonacciGoal| {
        if goal.order % STUBBORN == 0 {
            return CancelResponse::Reject;
        }
        teller.tell(&Fact::Canceling { goal: id.to_string() });
        CancelResponse::Accept
    };
    let (driver, teller) = (node.clone(), part.teller.clone());
    let on_begin = move |goal: GoalHandle<Fibonacci>| drive(driver.clone(), goal, teller.clone());
    let options = ActionServerOptions::new("drive").max_executing(64).result_timeout(KEPT);
    Ok(node.create_action_server(options, on_goal, on_cancel, on_begin)?)
}
