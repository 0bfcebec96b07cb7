//! The reference system as a scenario file, for the analysis and the simulator: under `priority-single` with 5 ms of
//! work a node.
//!
//! A fusion works when it has a sample of each input, but a callback in a scenario works every time. So in the file
//! only one of the two inputs works: the one that completes the pair. Under these priorities, with timers that start
//! together, that is always the same input. The other one only stores its sample.
//! `fusions_are_completed_by_the_same_input` checks that with the nodes themselves.

use std::time::Duration;

use rospin_engine::EntityKind;
use rospin_scenario::{Callback, Chain, ExecutionTime, Executor, Group, Scenario};

use super::graph::{self, GroupSpec, Kind, NODES, Port};
use super::wiring::{entity_name, priorities};

/// Nodes with two inputs, each with the index of the input that completes the pair.
const COMPLETED_BY: [(&str, usize); 5] = [
    ("PointCloudFusion", 1),
    ("NDTLocalizer", 1),
    ("VehicleInterface", 0),
    ("Lanelet2GlobalPlanner", 1),
    ("Lanelet2MapLoader", 1),
];

/// As measured by `rospin lab reference-system --crunch 5` on a virtual machine with two cores: the processor time of a
/// callback that works, and below it that of one that only publishes and of one that only stores. It is the largest
/// 99th percentile of callbacks of the kind (5.078 ms, 36.5 us, 3.1 us), rounded up. Rarely, when the host took the
/// core away, it was longer: up to 6.5 ms in 15 s.
const WORKS: Duration = Duration::from_micros(5_100);
const PUBLISHES: Duration = Duration::from_micros(40);
const STORES: Duration = Duration::from_micros(5);

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Paths of data from a source to its end, with the deadline if there is one. The deadlines say that the hot path ends
/// before the next scan, and that the actuator gets its command before the planner plans again. Through a fusion, a
/// path leads by the input that completes the pair.
const PATHS: [(&str, Option<Duration>, &[&str]); 8] = [
    (
        "hot path",
        Some(ms(100)),
        &[
            "RearLidarDriver/timer",
            "PointsTransformerRear/0",
            "PointCloudFusion/1",
            "RayGroundFilter/0",
            "EuclideanClusterDetector/0",
            "ObjectCollisionEstimator/0",
        ],
    ),
    ("front lidar", None, &["FrontLidarDriver/timer", "PointsTransformerFront/0", "PointCloudFusion/0"]),
    (
        "control",
        Some(ms(100)),
        &["BehaviorPlanner/timer", "MPCController/0", "VehicleInterface/0", "VehicleDBWSystem/0"],
    ),
    (
        "localization",
        None,
        &[
            "RearLidarDriver/timer",
            "PointsTransformerRear/0",
            "PointCloudFusion/1",
            "VoxelGridDownsampler/0",
            "NDTLocalizer/0",
        ],
    ),
    (
        "point cloud map",
        None,
        &[
            "PointCloudMap/timer",
            "PointCloudMapLoader/0",
            "NDTLocalizer/1",
            "Lanelet2GlobalPlanner/1",
            "Lanelet2MapLoader/1",
            "ParkingPlanner/0",
            "BehaviorPlanner/4",
        ],
    ),
    ("lane map", None, &["Lanelet2Map/timer", "Lanelet2MapLoader/0"]),
    ("global plan", None, &["Visualizer/timer", "Lanelet2GlobalPlanner/0"]),
    ("cluster settings", None, &["EuclideanClusterSettings/timer", "EuclideanIntersection/0", "IntersectionOutput/0"]),
];

const HEADER: &str = "\
# The Autoware reference system: 24 nodes, 36 callbacks, as `rospin lab reference-system` runs it under `priority-single`
# with 5 ms of work a node, on one core. A test writes this file from the graph of the experiment; do not edit it.
#
# A fusion works when it has a sample of each of its two inputs. Here the input that completes the pair does all the work, and
# the other one only stores its sample: under these priorities, with timers that start together, it is always the same one.
#
# Execution times were measured on a virtual machine with two cores: of each kind of callback the largest 99th percentile of
# processor time, rounded up. Timers have the end of their period as deadline: that of the cluster settings, 25 ms, cannot
# hold on one core with this load, nor does it in the experiment, whose timer skips most of its due times.
#
# Priorities are those of the experiment, from its chains by the rules of PiCAS. The chains in this file are the ways that data
# takes.


";

/// Returns the text of the scenario file.
fn text() -> String {
    HEADER.to_owned() + &scenario().to_toml()
}

fn scenario() -> Scenario {
    let mut scenario = Scenario::default();
    "Autoware reference system".clone_into(&mut scenario.name);
    scenario.duration = ms(6_000);
    scenario.cores = Some(1);
    let groups = graph::groups();
    scenario.topics = groups.iter().filter_map(|group| group.output).map(str::to_owned).collect();
    scenario.executors.push(Executor::new("main"));
    for group in &groups {
        scenario.groups.push(Group::new(group.name, "main"));
        scenario.callbacks.extend(group.ports().map(|port| callback(group, port)));
    }
    for (name, deadline, callbacks) in PATHS {
        let mut chain = Chain::new(name, 0, callbacks.iter().copied());
        chain.deadline = deadline;
        scenario.chains.push(chain);
    }
    scenario
}

/// Returns the callback of a group's port as the scenario describes it.
fn callback(group: &GroupSpec, port: Port) -> Callback {
    let name = entity_name(group.name, port);
    let kind = if port == Port::Timer { EntityKind::Timer } else { EntityKind::Subscription };
    let mut callback = Callback::new(&name, kind, group.name);
    callback.priority = priorities().expect("the chains are fine").get(&name).map(|priority| priority.0);
    match port {
        Port::Timer => {
            callback.period = group.period;
            // The planner also begins with the others: one period after the start.
            callback.offset = group.period;
        }
        Port::Input(input) => {
            callback.subscribes = Some(group.inputs[input].to_owned());
            callback.depth = group.depth as u32;
        }
    }
    let (execution, publishes) = does(group, port);
    callback.execution = ExecutionTime::Fixed(execution);
    if publishes {
        callback.publishes.extend(group.output.map(str::to_owned));
    }
    callback
}

/// Returns the execution time of a callback, and true if it publishes.
fn does(group: &GroupSpec, port: Port) -> (Duration, bool) {
    match (&NODES[usize::from(group.node)].kind, port) {
        (Kind::Sensor { .. }, _) => (PUBLISHES, true),
        (Kind::Transform { .. } | Kind::Intersection { .. }, _) | (Kind::Cyclic { .. }, Port::Timer) => (WORKS, true),
        (Kind::Fusion { .. }, Port::Input(input)) if COMPLETED_BY.contains(&(group.name, input)) => (WORKS, true),
        _ => (STORES, false),
    }
}

#[test]
fn the_file_is_the_graph() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/scenario/scenarios/reference_system.toml");
    if std::env::var("ROSPIN_BLESS").is_ok_and(|value| value == "1") {
        std::fs::write(path, text()).unwrap();
    }
    let file = std::fs::read_to_string(path).unwrap_or_default();
    assert!(file == text(), "{path} is not what the graph says; ROSPIN_BLESS=1 writes it");
    assert_eq!(Scenario::parse(&file).unwrap(), scenario());
}

mod on_the_nodes {
    use std::collections::{BTreeMap, VecDeque};
    use std::sync::Arc;

    use super::super::kpi::Recorder;
    use super::super::message::Message;
    use super::super::node::Activation;
    use super::super::system::{self, Group};
    use super::*;

    /// The nodes in virtual time, on one thread: of all callbacks that are ready, the most urgent one runs.
    struct Nodes {
        groups: Vec<Group>,
        /// Priority, group, port and waiting samples of every callback.
        callbacks: Vec<(u32, usize, Port, VecDeque<Arc<Message>>)>,
        /// Next due time of each timer, by group.
        due_ns: BTreeMap<usize, u64>,
        now_ns: u64,
        /// Number of messages that the callback of an input published, by group and input; no entry if there were none.
        published: BTreeMap<(&'static str, usize), u32>,
    }

    impl Nodes {
        /// Runs the nodes until `end_ns`, with `crunch_ns` of work a node. Returns the numbers in `published`.
        fn run(crunch_ns: u64, end_ns: u64) -> BTreeMap<(&'static str, usize), u32> {
            let priorities = priorities().unwrap();
            let groups = system::build(&Arc::new(Recorder::new()));
            let level = |name: &str, port| priorities.get(&entity_name(name, port)).unwrap().0;
            let ports = groups.iter().enumerate().flat_map(|(index, group)| {
                group.spec.ports().map(move |port| (level(group.spec.name, port), index, port, VecDeque::new()))
            });
            let callbacks = ports.collect();
            let timers = groups.iter().enumerate().filter_map(|(index, group)| Some((index, group.spec.period?)));
            let due_ns = timers.map(|(index, period)| (index, period.as_nanos() as u64)).collect();
            let mut nodes = Self { groups, callbacks, due_ns, now_ns: 0, published: BTreeMap::new() };
            while nodes.now_ns < end_ns {
                nodes.step(crunch_ns);
            }
            nodes.published
        }

        fn step(&mut self, crunch_ns: u64) {
            let now_ns = self.now_ns;
            let is_ready = |(_, group, port, waiting): &(u32, usize, Port, VecDeque<Arc<Message>>)| match port {
                Port::Timer => self.due_ns[group] <= now_ns,
                Port::Input(_) => !waiting.is_empty(),
            };
            let ready = (0..self.callbacks.len()).filter(|callback| is_ready(&self.callbacks[*callback]));
            let Some(next) = ready.max_by_key(|callback| self.callbacks[*callback].0) else {
                self.now_ns = self.due_ns.values().copied().min().unwrap();
                return;
            };
            let (_, group, port, waiting) = &mut self.callbacks[next];
            let (group, port, message) = (*group, *port, waiting.pop_front());
            let mut work = 1_000;
            let mut crunch = || work += crunch_ns;
            let output = self.groups[group].run(
                port,
                message,
                Activation { start_ns: now_ns, due_ns: None, crunch: &mut crunch },
            );
            self.now_ns += work;
            if port == Port::Timer {
                let period_ns = self.groups[group].spec.period.unwrap().as_nanos() as u64;
                let due_ns = self.due_ns.get_mut(&group).unwrap();
                // The timer skips due times that it missed.
                *due_ns += period_ns * ((now_ns - *due_ns) / period_ns + 1);
            }
            let Some(message) = output.map(Arc::new) else { return };
            if let Port::Input(input) = port {
                *self.published.entry((self.groups[group].spec.name, input)).or_default() += 1;
            }
            let topic = self.groups[group].spec.output.unwrap();
            for (_, group, port, waiting) in &mut self.callbacks {
                let spec = &self.groups[*group].spec;
                if matches!(port, Port::Input(input) if spec.inputs[*input] == topic) {
                    waiting.push_back(Arc::clone(&message));
                    if waiting.len() > spec.depth {
                        waiting.pop_front();
                    }
                }
            }
        }
    }

    #[test]
    fn fusions_are_completed_by_the_same_input() {
        for crunch_ns in [4_500_000, 5_000_000, WORKS.as_nanos() as u64] {
            let published = Nodes::run(crunch_ns, 60_000_000_000);
            for (name, input) in COMPLETED_BY {
                assert!(published.contains_key(&(name, input)), "{name}: {published:?}");
                let other = published.get(&(name, 1 - input));
                assert_eq!(other, None, "{name} at {crunch_ns} ns: {published:?}");
            }
        }
    }
}
