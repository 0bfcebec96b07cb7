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
use super::layout::{entity_name, priorities};
use super::runner::Variant;
use super::virtual_time::{self, Setting};

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

#[test]
fn fusions_are_completed_by_the_same_input() {
    let priorities = priorities().unwrap();
    let (variant, duration) = (Variant::PrioritySingle, ms(60_000));
    for crunch in [Duration::from_micros(4_500), ms(5), WORKS] {
        let setting = Setting { variant, cores: 1, priorities: &priorities, crunch, duration, phases: None };
        let published = virtual_time::run(setting).published;
        for (name, input) in COMPLETED_BY {
            let of = |input| published.get(&entity_name(name, Port::Input(input)));
            assert!(of(input).is_some(), "{name}: {published:?}");
            assert_eq!(of(1 - input), None, "{name} with {crunch:?} of work: {published:?}");
        }
    }
}
