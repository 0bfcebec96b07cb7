//! Executors of every variant, with their threads and cores, and the executor of each group: the same for measured
//! runs, runs in virtual time, and the analysis.

use rospin_engine::{Chain, ChainError, Overrun, PriorityMap};

use super::graph::{CHAINS, Kind, NODES, Port};
use super::runner::Variant;

/// One executor of a variant.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ExecutorPlan {
    /// Name of the executor.
    pub(crate) name: &'static str,
    /// Name of its policy in the engine.
    pub(crate) policy: &'static str,
    /// Index of the core of each of its threads.
    pub(crate) cores: Vec<u16>,
    /// Priority of its threads under `SCHED_FIFO`, which counts where executors share a core.
    pub(crate) os_priority: u8,
}

impl ExecutorPlan {
    /// Returns the number of threads.
    pub(crate) const fn threads(&self) -> u16 {
        self.cores.len() as u16
    }
}

/// Groups on the first of two executors: those of the two lidar chains, of the planner's chain and of the control
/// chain. All other groups are on the second one. That leaves each executor with about half of the load, and no chain
/// from a lidar to the actuator uses both.
const HALF: [&[&str]; 2] = [LIDAR, PLANNING];

/// Groups of the two lidar chains, which are the hot path.
const LIDAR: &[&str] = &[
    "FrontLidarDriver",
    "RearLidarDriver",
    "PointsTransformerFront",
    "PointsTransformerRear",
    "PointCloudFusion",
    "RayGroundFilter",
    "EuclideanClusterDetector",
    "ObjectCollisionEstimator",
];
/// Groups of the planner's and of the control chain.
const PLANNING: &[&str] = &["BehaviorPlanner", "MPCController", "VehicleInterface", "VehicleDBWSystem"];
/// Groups of the chains that end at the localizer.
const LOCALIZATION: &[&str] = &["VoxelGridDownsampler", "NDTLocalizer", "PointCloudMap", "PointCloudMapLoader"];

/// Names of four executors, the most urgent first, and their groups: as PiCAS allocates nodes, each chain stays on one
/// of them. The last one has all other groups.
///
/// On two cores, the hot path shares its core with the localization and the planner shares its own with the maps, so
/// that neither of the two that count waits for the other.
const QUARTERS: [(&str, &[&str]); 4] =
    [("lidar", LIDAR), ("planning", PLANNING), ("localization", LOCALIZATION), ("maps", &[])];

/// Returns the executors of a variant on `cores` cores.
pub(crate) fn executors(variant: Variant, cores: u16) -> Vec<ExecutorPlan> {
    let main =
        |policy, threads| vec![ExecutorPlan { name: "main", policy, cores: (0..threads).collect(), os_priority: 1 }];
    // Executors with one thread go to the cores in turn. The first one is the most urgent.
    let single = |names: &[&'static str]| {
        let plan = |(number, name): (usize, &&'static str)| ExecutorPlan {
            name,
            policy: "fixed-priority",
            cores: vec![number as u16 % cores],
            os_priority: (names.len() - number) as u8,
        };
        names.iter().enumerate().map(plan).collect()
    };
    match variant {
        Variant::WaitSetSingle => main("wait-set-e2", 1),
        Variant::WaitSetMulti => main("wait-set-e2", cores),
        Variant::FifoSingle => main("fifo", 1),
        Variant::PrioritySingle => main("fixed-priority", 1),
        Variant::PriorityMulti => single(&["lidar", "others"]),
        Variant::PriorityPartitioned => single(&QUARTERS.map(|(name, _)| name)),
        Variant::PriorityShared | Variant::PriorityReentrant => main("fixed-priority", cores),
    }
}

/// Returns the index of the executor that has the group called `group`.
pub(crate) fn executor_of(variant: Variant, group: &str) -> usize {
    match variant {
        Variant::PriorityMulti => usize::from(!HALF.iter().any(|groups| groups.contains(&group))),
        Variant::PriorityPartitioned => {
            let quarter = QUARTERS.iter().position(|(_, groups)| groups.contains(&group));
            quarter.unwrap_or(QUARTERS.len() - 1)
        }
        _ => 0,
    }
}

/// Returns the treatment of due times that a timer missed: rclcpp's events executor queues every one of them, the other
/// executors skip them.
pub(crate) fn overrun(variant: Variant) -> Overrun {
    match variant {
        Variant::FifoSingle => Overrun::CatchUp(u32::MAX),
        _ => Overrun::Skip,
    }
}

/// Returns the PiCAS priorities of the graph's chains. The first chain is the most critical one.
pub(crate) fn priorities() -> Result<PriorityMap, ChainError> {
    let criticalities = (1..=CHAINS.len() as u32).rev();
    let chains = CHAINS.iter().zip(criticalities).map(|(chain, criticality)| {
        let names = chain.callbacks.iter().map(|(group, port)| entity_name(group, *port));
        Chain::new(chain.name, criticality, names)
    });
    PriorityMap::picas(&chains.collect::<Vec<_>>())
}

/// Returns the same priorities, except that the two inputs of a fusion are neighbours, at the level of the more urgent
/// one. So the fusion's work is as urgent whichever input comes last.
pub(crate) fn paired_priorities() -> Result<PriorityMap, ChainError> {
    let given = priorities()?;
    let mut rising: Vec<(u32, String)> = given.iter().map(|(name, level)| (level.0, name.to_owned())).collect();
    rising.sort_unstable();
    let mut rising: Vec<String> = rising.into_iter().map(|(_, name)| name).collect();
    for node in &NODES {
        if let Kind::Fusion { .. } = node.kind {
            let place = |rising: &[String], input| {
                let name = entity_name(node.name, Port::Input(input));
                rising.iter().position(|known| *known == name).expect("every input is in a chain")
            };
            let (one, other) = (place(&rising, 0), place(&rising, 1));
            let moved = rising.remove(one.min(other));
            rising.insert(one.max(other) - 1, moved);
        }
    }
    // In a chain, the later callback is the more urgent one.
    PriorityMap::picas(&[Chain::new("all", 1, rising)])
}

/// Returns the name that a callback of the group has in the engine.
pub(crate) fn entity_name(group: &str, port: Port) -> String {
    match port {
        Port::Timer => format!("{group}/timer"),
        Port::Input(input) => format!("{group}/{input}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::graph;
    use super::*;

    #[test]
    fn every_group_that_is_placed_exists_and_is_placed_once() {
        let groups: Vec<_> = graph::groups().iter().map(|group| group.name).collect();
        let placed: Vec<_> = QUARTERS.iter().flat_map(|(_, groups)| groups.iter().copied()).collect();
        for name in &placed {
            assert!(groups.contains(name), "{name}");
        }
        assert_eq!(placed.iter().collect::<BTreeSet<_>>().len(), placed.len());
    }

    #[test]
    fn executors_with_one_thread_take_the_cores_in_turn() {
        let cores = |cores| {
            let plans = executors(Variant::PriorityPartitioned, cores);
            plans.iter().map(|plan| (plan.cores.clone(), plan.os_priority)).collect::<Vec<_>>()
        };
        assert_eq!(cores(2), [(vec![0], 4), (vec![1], 3), (vec![0], 2), (vec![1], 1)]);
        assert_eq!(cores(4), [(vec![0], 4), (vec![1], 3), (vec![2], 2), (vec![3], 1)]);
    }

    #[test]
    fn every_executor_has_groups_and_every_policy_exists() {
        for variant in Variant::EVERY {
            let plans = executors(variant, 2);
            let used: BTreeSet<_> = graph::groups().iter().map(|group| executor_of(variant, group.name)).collect();
            assert_eq!(used, (0..plans.len()).collect(), "{}", variant.name());
            for plan in plans {
                assert!(rospin_engine::policy::by_name(plan.policy).is_ok(), "{}", plan.policy);
            }
        }
    }

    #[test]
    fn every_callback_has_a_priority_of_its_own() {
        for priorities in [priorities().unwrap(), paired_priorities().unwrap()] {
            let mut levels: Vec<_> = priorities.iter().map(|(_, priority)| priority).collect();
            levels.sort_unstable();
            levels.dedup();
            assert_eq!(levels.len(), 36);
            for group in graph::groups() {
                for port in group.ports() {
                    assert!(priorities.get(&entity_name(group.name, port)).is_some());
                }
            }
        }
    }

    #[test]
    fn inputs_of_a_fusion_are_neighbours_and_nothing_else_moves() {
        let (given, paired) = (priorities().unwrap(), paired_priorities().unwrap());
        let level = |priorities: &PriorityMap, name: &str| priorities.get(name).unwrap().0;
        let is_fusion =
            |name: &str| NODES.iter().any(|n| matches!(n.kind, Kind::Fusion { .. }) && name.starts_with(n.name));
        for node in NODES.iter().filter(|node| is_fusion(node.name)) {
            let [one, other] = [0, 1].map(|input| level(&paired, &entity_name(node.name, Port::Input(input))));
            assert_eq!(one.abs_diff(other), 1, "{}", node.name);
        }
        let mut others: Vec<_> = given.iter().map(|(name, _)| name).filter(|name| !is_fusion(name)).collect();
        others.sort_unstable_by_key(|name| level(&given, name));
        assert!(others.is_sorted_by_key(|name| level(&paired, name)));
    }
}
