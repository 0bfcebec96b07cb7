//! The graph as a scenario, for the analysis: under any executor, on any number of cores.
//!
//! A fusion is a join of its two topics. So it works once for each pair, whichever sample comes last, and its priority
//! is that of both inputs, which are neighbours under [`paired_priorities`](super::layout::paired_priorities). The time
//! to store the other sample counts as the join's.

use std::time::Duration;

use rospin_engine::{EntityKind, GroupKind, PriorityMap};
use rospin_scenario::{Callback, Chain, ExecutionTime, Executor, Group, Scenario};

use super::graph::{self, GroupSpec, Kind, NODES, Port};
use super::layout::{self, entity_name};
use super::runner::Variant;
use super::virtual_time::{PUBLISHES, STORES};

/// Chain from each lidar's due time to the fusion of both clouds.
pub(super) const TO_FUSION: [&str; 2] = ["front lidar", "rear lidar"];
/// Chain from the fusion to the end of the hot path.
pub(super) const FROM_FUSION: &str = "from the fusion";

/// Returns the scenario of a variant on `cores` cores, with `crunch` of work for each node.
pub(super) fn scenario(variant: Variant, cores: u16, priorities: &PriorityMap, crunch: Duration) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.name = format!("Autoware reference system, {} on {cores} cores", variant.name());
    scenario.duration = Duration::from_secs(6);
    scenario.cores = Some(cores);
    let plans = layout::executors(variant, cores);
    for plan in &plans {
        let mut executor = Executor::new(plan.name);
        plan.policy.clone_into(&mut executor.policy);
        executor.threads = plan.threads();
        executor.os_priority = plan.os_priority;
        executor.cores.clone_from(&plan.cores);
        scenario.executors.push(executor);
    }
    let groups = graph::groups();
    scenario.topics = groups.iter().filter_map(|group| group.output).map(str::to_owned).collect();
    for spec in &groups {
        let executor = plans[layout::executor_of(variant, spec.name)].name;
        let mut group = Group::new(spec.name, executor);
        if variant.is_reentrant() {
            group.kind = GroupKind::Reentrant;
        }
        scenario.groups.push(group);
        scenario.callbacks.extend(callbacks(variant, spec, priorities, crunch));
    }
    let paths = [
        Chain::new(TO_FUSION[0], 0, ["FrontLidarDriver/timer", "PointsTransformerFront/0"]),
        Chain::new(TO_FUSION[1], 0, ["RearLidarDriver/timer", "PointsTransformerRear/0"]),
        Chain::new(
            FROM_FUSION,
            0,
            ["PointCloudFusion/pair", "RayGroundFilter/0", "EuclideanClusterDetector/0", "ObjectCollisionEstimator/0"],
        ),
    ];
    scenario.chains.extend(paths);
    scenario
}

/// Returns the callbacks of a group: one for each port, or a single one for a fusion.
fn callbacks(variant: Variant, spec: &GroupSpec, priorities: &PriorityMap, crunch: Duration) -> Vec<Callback> {
    let level = |port| priorities.get(&entity_name(spec.name, port)).map(|priority| priority.0);
    let kind = &NODES[usize::from(spec.node)].kind;
    let works = crunch + PUBLISHES;
    let new = |name: &str, kind, priority, execution, publishes: bool| {
        let mut callback = Callback::new(name, kind, spec.name);
        callback.priority = priority;
        callback.depth = spec.depth as u32;
        callback.execution = ExecutionTime::Fixed(execution);
        if publishes {
            callback.publishes.extend(spec.output.map(str::to_owned));
        }
        callback
    };
    if let Kind::Fusion { .. } = kind {
        let priority = [0, 1].map(|input| level(Port::Input(input))).into_iter().max().flatten();
        let mut join = new(&format!("{}/pair", spec.name), EntityKind::Subscription, priority, works + STORES, true);
        join.joins = spec.inputs.iter().map(|topic| (*topic).to_owned()).collect();
        return vec![join];
    }
    let of = |port| {
        let name = entity_name(spec.name, port);
        match port {
            Port::Timer => {
                let execution = if matches!(kind, Kind::Cyclic { .. }) { works } else { PUBLISHES };
                let mut timer = new(&name, EntityKind::Timer, level(port), execution, true);
                timer.period = spec.period;
                timer.overrun = layout::overrun(variant);
                timer
            }
            Port::Input(input) => {
                let is_worker = matches!(kind, Kind::Transform { .. } | Kind::Intersection { .. });
                let execution = if is_worker { works } else { STORES };
                let mut subscription = new(&name, EntityKind::Subscription, level(port), execution, is_worker);
                subscription.subscribes = Some(spec.inputs[input].to_owned());
                subscription
            }
        }
    };
    spec.ports().map(of).collect()
}
