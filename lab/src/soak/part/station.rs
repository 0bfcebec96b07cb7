//! The station: it hears, calls and commands all robots, and tells what comes of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rospin::action::ActionClient;
use rospin::events::{EventCallback, MatchedStatus};
use rospin::msgs::composition_interfaces::srv::{ListNodes, LoadNode, UnloadNode};
use rospin::msgs::example_interfaces::action::Fibonacci;
use rospin::msgs::example_interfaces::srv::AddTwoInts;
use rospin::msgs::lifecycle_msgs::srv::{ChangeState, GetState};
use rospin::msgs::rcl_interfaces::msg::ParameterEvent;
use rospin::parameters::ParameterClient;
use rospin::tf2::{Latest, TransformListener};
use rospin::{Client, Node, Publisher, PublisherOptions, Ros, Service, Subscription, SubscriptionOptions, Timer};
use rospin_engine::LossCause;

use super::super::words::{Count, EarSnapshot, Fact, LATCHED, LineSnapshot, StationSnapshot, TOPICS};
use super::ear::Ear;
use super::lateness::Lateness;
use super::work::Work;
use super::{Asked, Failed, Part, robot, robot_name, seen};

/// Pause between two looks at what is asked for.
const STEP: Duration = Duration::from_millis(20);
/// Period of what is watched for lateness.
const WATCHED: Duration = Duration::from_millis(20);

/// What the station has of one robot.
pub(super) struct Line {
    robot: String,
    ears: Vec<(Arc<Mutex<Ear>>, Subscription, EventCallback)>,
    pub(super) double: Client<AddTwoInts>,
    pub(super) relay: Client<AddTwoInts>,
    pub(super) drive: ActionClient<Fibonacci>,
    pub(super) parameters: ParameterClient,
    pub(super) change: Client<ChangeState>,
    pub(super) state: Client<GetState>,
    pub(super) load: Client<LoadNode>,
    pub(super) unload: Client<UnloadNode>,
    pub(super) list: Client<ListNodes>,
}

/// A running station.
pub(super) struct Station {
    pub(super) part: Part,
    node: Node,
    pub(super) lines: Vec<Line>,
    mission: Publisher<Count>,
    last_mission: Mutex<Count>,
    /// The last value of each robot's parameter that an event told.
    speeds: Arc<Mutex<BTreeMap<String, i64>>>,
    frames: TransformListener,
    work: Mutex<Work>,
    _kept: (Service, Subscription, Timer),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the station until stdin ends, or a signal ends it.
pub(super) fn run(part: &Part) -> Result<(), Failed> {
    let ros = rospin::init()?;
    let station = Arc::new(Station::start(part, &ros)?);
    part.teller.tell(&Fact::Ready);
    let working = Arc::downgrade(&station);
    thread::Builder::new().name("work".to_owned()).spawn(move || {
        while let Some(station) = working.upgrade() {
            let is_paused = station.part.is_paused();
            lock(&station.work).step(&station, is_paused);
            drop(station);
            thread::sleep(STEP);
        }
    })?;
    let (obeying, asked, executor) = (part.clone(), Arc::downgrade(&station), ros.executor().handle());
    thread::Builder::new().name("requests".to_owned()).spawn(move || {
        super::obey(&obeying, &asked);
        executor.halt();
    })?;
    ros.spin()?;
    Ok(())
}

impl Station {
    fn start(part: &Part, ros: &Ros) -> Result<Self, Failed> {
        let node = ros.create_node("station")?;
        let service = robot::double(&node, "/station/double", part)?;
        let options = PublisherOptions::new("/mission").keep_last(1).transient_local();
        let mission = node.create_publisher(options)?;
        let speeds = Arc::new(Mutex::new(BTreeMap::new()));
        let events = hear_events(&node, Arc::clone(&speeds))?;
        let mut lines = Vec::new();
        for host in 1..=part.order.robots {
            lines.push(Line::new(part, &node, &robot_name(host))?);
        }
        let (teller, mut lateness) = (part.teller.clone(), Lateness::new(WATCHED));
        let watched = node.create_timer(WATCHED, move |_| lateness.note(&teller))?;
        let station = Self {
            frames: TransformListener::new(&node)?,
            part: part.clone(),
            lines,
            mission,
            last_mission: Mutex::new(Count { boot: part.order.boot, ..Count::default() }),
            speeds,
            work: Mutex::new(Work::new(&part.order)),
            _kept: (service, events, watched),
            node,
        };
        station.publish_mission();
        Ok(station)
    }

    /// Publishes the latched topic that all robots hear.
    pub(super) fn publish_mission(&self) {
        let mut last = lock(&self.last_mission);
        last.number += 1;
        let published = self.mission.publish(*last);
        self.part.teller.check(published.is_ok(), || format!("a mission is not published: {published:?}"));
    }
}

impl Asked for Station {
    fn publish_once(&self) {
        self.publish_mission();
    }

    fn snapshot(&self) {
        let lines = self.lines.iter().map(|line| line.snapshot(self)).collect();
        // One lock after the other: the work publishes missions.
        let mission = Some(*lock(&self.last_mission));
        let open = lock(&self.work).open();
        let seen = seen(&self.node, self.part.order.robots);
        let snapshot = StationSnapshot { mission, lines, seen, open };
        self.part.teller.tell(&Fact::StationSnapshot(Box::new(snapshot)));
    }

    fn roll_call(&self) {
        let answers = lock(&self.work).roll_call(self);
        self.part.teller.tell(&Fact::RollCalled { answers });
    }
}

/// Hears the values of the robots' parameters by their events.
fn hear_events(node: &Node, speeds: Arc<Mutex<BTreeMap<String, i64>>>) -> Result<Subscription, Failed> {
    let hear = move |event: ParameterEvent| {
        for speed in event.new_parameters.iter().chain(&event.changed_parameters) {
            if speed.name == "speed" {
                lock(&speeds).insert(event.node.clone(), speed.value.integer_value);
            }
        }
    };
    Ok(node.create_subscription(SubscriptionOptions::new("/parameter_events").keep_last(1000), hear)?)
}

impl Line {
    fn new(part: &Part, node: &Node, robot: &str) -> Result<Self, Failed> {
        let mut ears = Vec::new();
        for (place, topic) in TOPICS.into_iter().enumerate() {
            let name = format!("/{robot}/{topic}");
            let options = SubscriptionOptions::new(name.clone());
            let options = match place {
                0 => options.keep_last(1000),
                1 => options.keep_last(1000).best_effort(),
                _ => options.keep_last(1).transient_local(),
            };
            let ear = Arc::new(Mutex::new(Ear::default()));
            let (heard, teller) = (Arc::clone(&ear), part.teller.clone());
            let hear = move |count: Count| {
                let is_right = lock(&heard).hear(count, place == LATCHED);
                teller.check(is_right, || format!("{name}: {count:?} came twice or too late"));
            };
            let subscription = node.create_subscription(options, hear)?;
            let matching = Arc::clone(&ear);
            let note = move |status: MatchedStatus| lock(&matching).note_matches(status.current, status.total);
            let matches = node.create_event_callback(&subscription, note)?;
            ears.push((ear, subscription, matches));
        }
        let at = |name: &str| format!("/{robot}/{name}");
        Ok(Self {
            ears,
            double: node.create_client(at("double").as_str())?,
            relay: node.create_client(at("relay").as_str())?,
            drive: node.create_action_client(at("drive").as_str())?,
            parameters: node.create_parameter_client(&at("tuner"))?,
            change: node.create_client(at("arm/change_state").as_str())?,
            state: node.create_client(at("arm/get_state").as_str())?,
            load: node.create_client(at("components/_container/load_node").as_str())?,
            unload: node.create_client(at("components/_container/unload_node").as_str())?,
            list: node.create_client(at("components/_container/list_nodes").as_str())?,
            robot: robot.to_owned(),
        })
    }

    fn snapshot(&self, station: &Station) -> LineSnapshot {
        let mut ears: [EarSnapshot; 3] = Default::default();
        for (snapshot, (ear, subscription, _)) in ears.iter_mut().zip(&self.ears) {
            // Counted first: a message that is counted meanwhile may be missing, and not the other way round.
            let counted = subscription.lost(LossCause::QueueFull);
            *snapshot = lock(ear).snapshot(counted);
        }
        let sensor = format!("{}/sensor", self.robot);
        let found = station.frames.buffer().lookup_transform("map", &sensor, Latest);
        LineSnapshot {
            ears,
            speed: lock(&station.speeds).get(&format!("/{}/tuner", self.robot)).copied(),
            frames: found.err().map(|error| error.to_string()),
        }
    }
}
