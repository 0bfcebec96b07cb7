//! The Autoware reference system as data: 24 nodes, 36 callbacks, the hot path and the chains.
//!
//! Nodes stand in the order in which the public reference system's builder registers them, since a wait set runs what
//! is ready in order of registration. A topic has the name of the node that publishes it, or of the connection's output
//! for an intersection.

use std::time::Duration;

/// Index of a node in [`NODES`].
pub(crate) type NodeIndex = u8;

/// Number of samples that a subscription keeps, except those of command nodes.
pub(crate) const DEPTH: usize = 1;
/// Number of samples that the subscription of a command node keeps.
pub(crate) const COMMAND_DEPTH: usize = 10;

/// Node of the graph.
#[derive(Debug)]
pub(crate) struct NodeSpec {
    /// The node's name.
    pub(crate) name: &'static str,
    /// Kind of the node.
    pub(crate) kind: Kind,
}

/// Kinds of nodes. Inputs are given by the names of their topics.
#[derive(Debug)]
pub(crate) enum Kind {
    /// Publishes every `period_ms` milliseconds.
    Sensor { period_ms: u64 },
    /// Works on every sample, and passes it on.
    Transform { input: &'static str },
    /// Works once it has a sample of each input.
    Fusion { inputs: [&'static str; 2] },
    /// Keeps the newest sample of each input; works on its timer.
    Cyclic { inputs: &'static [&'static str], period_ms: u64 },
    /// Independent connections from an input to an output topic, each in a callback group of its own.
    Intersection { connections: &'static [(&'static str, &'static str)] },
    /// End of a path: records what came through.
    Command { input: &'static str },
}

const fn sensor(name: &'static str, period_ms: u64) -> NodeSpec {
    NodeSpec { name, kind: Kind::Sensor { period_ms } }
}

const fn transform(name: &'static str, input: &'static str) -> NodeSpec {
    NodeSpec { name, kind: Kind::Transform { input } }
}

const fn fusion(name: &'static str, inputs: [&'static str; 2]) -> NodeSpec {
    NodeSpec { name, kind: Kind::Fusion { inputs } }
}

const fn command(name: &'static str, input: &'static str) -> NodeSpec {
    NodeSpec { name, kind: Kind::Command { input } }
}

/// All nodes in order of registration.
pub(crate) static NODES: [NodeSpec; 24] = [
    sensor("FrontLidarDriver", 100),
    sensor("RearLidarDriver", 100),
    sensor("PointCloudMap", 120),
    sensor("Visualizer", 60),
    sensor("Lanelet2Map", 100),
    sensor("EuclideanClusterSettings", 25),
    transform("PointsTransformerFront", "FrontLidarDriver"),
    transform("PointsTransformerRear", "RearLidarDriver"),
    transform("VoxelGridDownsampler", "PointCloudFusion"),
    transform("PointCloudMapLoader", "PointCloudMap"),
    transform("RayGroundFilter", "PointCloudFusion"),
    transform("ObjectCollisionEstimator", "EuclideanClusterDetector"),
    transform("MPCController", "BehaviorPlanner"),
    transform("ParkingPlanner", "Lanelet2MapLoader"),
    transform("LanePlanner", "Lanelet2MapLoader"),
    fusion("PointCloudFusion", ["PointsTransformerFront", "PointsTransformerRear"]),
    fusion("NDTLocalizer", ["VoxelGridDownsampler", "PointCloudMapLoader"]),
    fusion("VehicleInterface", ["MPCController", "BehaviorPlanner"]),
    fusion("Lanelet2GlobalPlanner", ["Visualizer", "NDTLocalizer"]),
    fusion("Lanelet2MapLoader", ["Lanelet2Map", "Lanelet2GlobalPlanner"]),
    NodeSpec {
        name: "BehaviorPlanner",
        kind: Kind::Cyclic {
            inputs: &[
                "ObjectCollisionEstimator",
                "NDTLocalizer",
                "Lanelet2GlobalPlanner",
                "Lanelet2MapLoader",
                "ParkingPlanner",
                "LanePlanner",
            ],
            period_ms: PLANNER_PERIOD_MS,
        },
    },
    NodeSpec {
        name: "EuclideanClusterDetector",
        kind: Kind::Intersection {
            connections: &[
                ("RayGroundFilter", "EuclideanClusterDetector"),
                ("EuclideanClusterSettings", "EuclideanIntersection"),
            ],
        },
    },
    command("VehicleDBWSystem", "VehicleInterface"),
    command("IntersectionOutput", "EuclideanIntersection"),
];

/// Period of [`PLANNER`]'s timer.
pub(crate) const PLANNER_PERIOD_MS: u64 = 100;
/// The node whose timer period is a figure of merit.
pub(crate) const PLANNER: &str = "BehaviorPlanner";
/// The lidar whose samples are counted as missed when they do not reach [`SINK`].
pub(crate) const FRONT_LIDAR: &str = "FrontLidarDriver";
/// Nodes at which the hot path begins.
pub(crate) const ROOTS: [&str; 2] = [FRONT_LIDAR, "RearLidarDriver"];
/// Node at which the hot path ends.
pub(crate) const SINK: &str = "ObjectCollisionEstimator";
/// The nodes of the hot path.
pub(crate) const HOT_PATH: [&str; 8] = [
    FRONT_LIDAR,
    "RearLidarDriver",
    "PointsTransformerFront",
    "PointsTransformerRear",
    "PointCloudFusion",
    "RayGroundFilter",
    "EuclideanClusterDetector",
    SINK,
];
/// Number of nodes that work one after the other between the later of the two lidar samples and the start of the sink.
pub(crate) const HOT_PATH_WORK: u32 = 4;

/// Returns the index of the node called `name`.
///
/// # Panics
/// If there is no such node. All names are constants of this crate.
pub(crate) fn index_of(name: &str) -> NodeIndex {
    let index = NODES.iter().position(|node| node.name == name);
    let index = index.unwrap_or_else(|| panic!("the reference system has no node {name}"));
    NodeIndex::try_from(index).expect("24 nodes fit")
}

/// Event that makes a callback of a group run.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum Port {
    /// The group's timer.
    Timer,
    /// The subscription with this index in [`GroupSpec::inputs`].
    Input(usize),
}

/// One mutually exclusive callback group: a whole node, or one connection of an intersection.
#[derive(Clone, Debug)]
pub(crate) struct GroupSpec {
    /// Node that the group belongs to.
    pub(crate) node: NodeIndex,
    /// A name that no other group has: that of the node, or that of the connection's output topic.
    pub(crate) name: &'static str,
    /// Topics that the group subscribes to, in the order of registration.
    pub(crate) inputs: Vec<&'static str>,
    /// Number of samples that each subscription of the group keeps.
    pub(crate) depth: usize,
    /// Period of the group's timer; `None` if it has no timer.
    pub(crate) period: Option<Duration>,
    /// Topic that the group publishes to; `None` for a command node.
    pub(crate) output: Option<&'static str>,
}

impl GroupSpec {
    /// Returns the callbacks of the group: the timer first, then subscriptions.
    pub(crate) fn ports(&self) -> impl Iterator<Item = Port> + '_ {
        let timer = self.period.map(|_| Port::Timer);
        timer.into_iter().chain((0..self.inputs.len()).map(Port::Input))
    }
}

/// Returns all callback groups, in order of registration.
pub(crate) fn groups() -> Vec<GroupSpec> {
    NODES.iter().enumerate().flat_map(|(index, node)| groups_of(index as NodeIndex, node)).collect()
}

/// Returns the callback groups of a node: one, or one for each connection of an intersection.
fn groups_of(index: NodeIndex, node: &NodeSpec) -> Vec<GroupSpec> {
    let group = |inputs: &[&'static str], period_ms: Option<u64>| GroupSpec {
        node: index,
        name: node.name,
        inputs: inputs.to_vec(),
        depth: DEPTH,
        period: period_ms.map(Duration::from_millis),
        output: Some(node.name),
    };
    match &node.kind {
        Kind::Sensor { period_ms } => vec![group(&[], Some(*period_ms))],
        Kind::Transform { input } => vec![group(&[*input], None)],
        Kind::Fusion { inputs } => vec![group(inputs, None)],
        Kind::Cyclic { inputs, period_ms } => vec![group(inputs, Some(*period_ms))],
        Kind::Intersection { connections } => connections
            .iter()
            .map(|(input, output)| GroupSpec { name: output, output: Some(output), ..group(&[*input], None) })
            .collect(),
        Kind::Command { input } => {
            vec![GroupSpec { depth: COMMAND_DEPTH, output: None, ..group(&[*input], None) }]
        }
    }
}

/// A chain for the priority variants: callbacks from a source to the end of its data.
#[derive(Debug)]
pub(crate) struct ChainSpec {
    /// The chain's name.
    pub(crate) name: &'static str,
    /// Group name and port of each callback of the chain, from source to end.
    pub(crate) callbacks: &'static [(&'static str, Port)],
}

/// All chains, the most critical first; every callback is in exactly one.
///
/// Where paths meet, the shared callbacks belong to the more critical chain. The front lidar is above
/// the rear one so that on one thread the rear sample is taken only when the front one is through its
/// transformer: the path then waits for four nodes, not five.
pub(crate) static CHAINS: [ChainSpec; 9] = {
    use Port::{Input, Timer};
    [
        // The planner's period is a figure of merit of its own, so its timer comes first: it waits for nothing but what
        // is running. It delays the start of the lidar chains, which are released with it, but never stands in their
        // middle.
        ChainSpec { name: "planner", callbacks: &[("BehaviorPlanner", Timer)] },
        ChainSpec {
            name: "front lidar",
            callbacks: &[
                ("FrontLidarDriver", Timer),
                ("PointsTransformerFront", Input(0)),
                ("PointCloudFusion", Input(0)),
                ("RayGroundFilter", Input(0)),
                ("EuclideanClusterDetector", Input(0)),
                ("ObjectCollisionEstimator", Input(0)),
                ("BehaviorPlanner", Input(0)),
            ],
        },
        ChainSpec {
            name: "rear lidar",
            callbacks: &[
                ("RearLidarDriver", Timer),
                ("PointsTransformerRear", Input(0)),
                ("PointCloudFusion", Input(1)),
            ],
        },
        ChainSpec {
            name: "control",
            callbacks: &[
                ("MPCController", Input(0)),
                ("VehicleInterface", Input(1)),
                ("VehicleInterface", Input(0)),
                ("VehicleDBWSystem", Input(0)),
            ],
        },
        ChainSpec {
            name: "localization",
            callbacks: &[("VoxelGridDownsampler", Input(0)), ("NDTLocalizer", Input(0)), ("BehaviorPlanner", Input(1))],
        },
        ChainSpec {
            name: "point cloud map",
            callbacks: &[("PointCloudMap", Timer), ("PointCloudMapLoader", Input(0)), ("NDTLocalizer", Input(1))],
        },
        ChainSpec {
            name: "lane map",
            callbacks: &[
                ("Lanelet2Map", Timer),
                ("Lanelet2MapLoader", Input(0)),
                ("ParkingPlanner", Input(0)),
                ("LanePlanner", Input(0)),
                ("BehaviorPlanner", Input(3)),
                ("BehaviorPlanner", Input(4)),
                ("BehaviorPlanner", Input(5)),
            ],
        },
        ChainSpec {
            name: "global plan",
            callbacks: &[
                ("Visualizer", Timer),
                ("Lanelet2GlobalPlanner", Input(0)),
                ("Lanelet2GlobalPlanner", Input(1)),
                ("Lanelet2MapLoader", Input(1)),
                ("BehaviorPlanner", Input(2)),
            ],
        },
        ChainSpec {
            name: "cluster settings",
            callbacks: &[
                ("EuclideanClusterSettings", Timer),
                ("EuclideanIntersection", Input(0)),
                ("IntersectionOutput", Input(0)),
            ],
        },
    ]
};

/// Returns the number, from 0, of the process that `node` is in if the graph is distributed over `processes` processes.
/// Nodes of a chain are in the same one as far as the sizes of the processes allow it.
pub(crate) fn process_of(node: NodeIndex, processes: u16) -> u16 {
    let mut in_order: Vec<NodeIndex> = Vec::new();
    for (name, _) in CHAINS.iter().flat_map(|chain| chain.callbacks) {
        let index = groups().iter().find(|group| group.name == *name).map(|group| group.node);
        in_order.extend(index.filter(|index| !in_order.contains(index)));
    }
    let position = in_order.iter().position(|other| *other == node).unwrap_or_default();
    (position * usize::from(processes) / NODES.len()) as u16
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn callbacks() -> Vec<(&'static str, Port)> {
        let groups = groups();
        groups.iter().flat_map(|g| g.ports().map(|port| (g.name, port))).collect()
    }

    #[test]
    fn twenty_four_nodes_and_thirty_six_callbacks() {
        let names: BTreeSet<_> = NODES.iter().map(|node| node.name).collect();
        assert_eq!(names.len(), 24);
        assert_eq!(callbacks().len(), 36);
        let group_names: BTreeSet<_> = groups().iter().map(|group| group.name).collect();
        assert_eq!(group_names.len(), 25);
    }

    #[test]
    fn every_input_is_some_output_and_every_output_is_read() {
        let groups = groups();
        let outputs: BTreeSet<_> = groups.iter().filter_map(|group| group.output).collect();
        let inputs: BTreeSet<_> = groups.iter().flat_map(|group| group.inputs.clone()).collect();
        assert_eq!(inputs, outputs);
    }

    #[test]
    fn command_nodes_keep_ten_and_all_others_one() {
        for group in groups() {
            let command = group.output.is_none();
            assert_eq!(group.depth, if command { 10 } else { 1 }, "{}", group.name);
        }
    }

    #[test]
    fn hot_path_is_connected_and_has_four_nodes_between_root_and_sink() {
        let groups = groups();
        let mut topic = ROOTS[1];
        let mut steps = 0;
        while topic != SINK {
            let next = groups.iter().find(|g| g.inputs.contains(&topic) && HOT_PATH.contains(&g.name)).unwrap();
            topic = next.output.unwrap();
            steps += 1;
        }
        // The sink's own work comes after its start, and the latency ends at its start.
        assert_eq!(steps - 1, HOT_PATH_WORK);
    }

    #[test]
    fn every_callback_is_in_exactly_one_chain() {
        let mut chained: Vec<_> = CHAINS.iter().flat_map(|c| c.callbacks.iter().copied()).collect();
        chained.sort_unstable();
        let mut all = callbacks();
        all.sort_unstable();
        assert_eq!(chained, all);
    }

    #[test]
    fn every_process_has_its_share_and_two_of_them_one_lidar_path() {
        for processes in [1, 2, 3, 5, 24] {
            let mut shares = vec![0; usize::from(processes)];
            (0..24).for_each(|node| shares[usize::from(process_of(node, processes))] += 1);
            let fair = 24 / usize::from(processes);
            assert!(shares.iter().all(|share| (fair..=fair + 1).contains(share)), "{shares:?}");
        }
        for name in HOT_PATH {
            assert_eq!(process_of(index_of(name), 2), 0, "{name}");
        }
    }

    #[test]
    #[should_panic(expected = "no node Nobody")]
    fn unknown_name_is_a_bug() {
        index_of("Nobody");
    }
}
