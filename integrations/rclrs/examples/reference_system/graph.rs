//! The graph of the Autoware reference system as data: 24 nodes, and the chains that give rospin its priorities.

use std::time::Duration;

/// A callback group: a node, or one connection of the intersection.
pub(crate) struct Group {
    /// The node's name.
    pub(crate) node: &'static str,
    pub(crate) kind: Kind,
    /// The topics that the group subscribes to.
    pub(crate) inputs: &'static [&'static str],
    /// The topic that it publishes to, and its name. `None` for the end of a path.
    pub(crate) output: Option<&'static str>,
}

/// Kinds of groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Publishes in every period.
    Sensor(Duration),
    /// Works on every sample, and passes it on.
    Transform,
    /// Works once it has a sample of each input.
    Fusion,
    /// Keeps the newest sample of each input, and works in every period.
    Cyclic(Duration),
    /// Ends a path.
    Command,
}

const fn sensor(node: &'static str, period_ms: u64) -> Group {
    Group { node, kind: Kind::Sensor(Duration::from_millis(period_ms)), inputs: &[], output: Some(node) }
}

const fn works(node: &'static str, kind: Kind, inputs: &'static [&'static str]) -> Group {
    Group { node, kind, inputs, output: Some(node) }
}

/// All groups, in the order in which they are created.
pub(crate) static GROUPS: [Group; 25] = [
    sensor("FrontLidarDriver", 100),
    sensor("RearLidarDriver", 100),
    sensor("PointCloudMap", 120),
    sensor("Visualizer", 60),
    sensor("Lanelet2Map", 100),
    sensor("EuclideanClusterSettings", 25),
    works("PointsTransformerFront", Kind::Transform, &["FrontLidarDriver"]),
    works("PointsTransformerRear", Kind::Transform, &["RearLidarDriver"]),
    works("VoxelGridDownsampler", Kind::Transform, &["PointCloudFusion"]),
    works("PointCloudMapLoader", Kind::Transform, &["PointCloudMap"]),
    works("RayGroundFilter", Kind::Transform, &["PointCloudFusion"]),
    works("ObjectCollisionEstimator", Kind::Transform, &["EuclideanClusterDetector"]),
    works("MPCController", Kind::Transform, &["BehaviorPlanner"]),
    works("ParkingPlanner", Kind::Transform, &["Lanelet2MapLoader"]),
    works("LanePlanner", Kind::Transform, &["Lanelet2MapLoader"]),
    works("PointCloudFusion", Kind::Fusion, &["PointsTransformerFront", "PointsTransformerRear"]),
    works("NDTLocalizer", Kind::Fusion, &["VoxelGridDownsampler", "PointCloudMapLoader"]),
    works("VehicleInterface", Kind::Fusion, &["MPCController", "BehaviorPlanner"]),
    works("Lanelet2GlobalPlanner", Kind::Fusion, &["Visualizer", "NDTLocalizer"]),
    works("Lanelet2MapLoader", Kind::Fusion, &["Lanelet2Map", "Lanelet2GlobalPlanner"]),
    works(
        PLANNER,
        Kind::Cyclic(Duration::from_millis(100)),
        &[SINK, "NDTLocalizer", "Lanelet2GlobalPlanner", "Lanelet2MapLoader", "ParkingPlanner", "LanePlanner"],
    ),
    works("EuclideanClusterDetector", Kind::Transform, &["RayGroundFilter"]),
    Group {
        node: "EuclideanClusterDetector",
        kind: Kind::Transform,
        inputs: &["EuclideanClusterSettings"],
        output: Some("EuclideanIntersection"),
    },
    Group { node: "VehicleDBWSystem", kind: Kind::Command, inputs: &["VehicleInterface"], output: None },
    Group { node: "IntersectionOutput", kind: Kind::Command, inputs: &["EuclideanIntersection"], output: None },
];

/// The node whose period is measured.
pub(crate) const PLANNER: &str = "BehaviorPlanner";
/// The node at which the hot path ends.
pub(crate) const SINK: &str = "ObjectCollisionEstimator";
/// The nodes at which it begins.
pub(crate) const LIDARS: [&str; 2] = ["FrontLidarDriver", "RearLidarDriver"];
/// All groups of the hot path.
pub(crate) const HOT_PATH: [&str; 8] = [
    LIDARS[0],
    LIDARS[1],
    "PointsTransformerFront",
    "PointsTransformerRear",
    "PointCloudFusion",
    "RayGroundFilter",
    "EuclideanClusterDetector",
    SINK,
];

/// Chains, the most critical first. Each callback is the group and its input, or `None` for its timer.
static CHAINS: [&[(&str, Option<usize>)]; 9] = [
    &[
        (LIDARS[0], None),
        ("PointsTransformerFront", Some(0)),
        ("PointCloudFusion", Some(0)),
        ("RayGroundFilter", Some(0)),
        ("EuclideanClusterDetector", Some(0)),
        (SINK, Some(0)),
        (PLANNER, Some(0)),
    ],
    &[(LIDARS[1], None), ("PointsTransformerRear", Some(0)), ("PointCloudFusion", Some(1))],
    // Below the lidars: the timers' phases differ from start to start, and the planner may become due in the middle of
    // the hot path.
    &[(PLANNER, None)],
    &[
        ("MPCController", Some(0)),
        ("VehicleInterface", Some(1)),
        ("VehicleInterface", Some(0)),
        ("VehicleDBWSystem", Some(0)),
    ],
    &[("VoxelGridDownsampler", Some(0)), ("NDTLocalizer", Some(0)), (PLANNER, Some(1))],
    &[("PointCloudMap", None), ("PointCloudMapLoader", Some(0)), ("NDTLocalizer", Some(1))],
    &[
        ("Lanelet2Map", None),
        ("Lanelet2MapLoader", Some(0)),
        ("ParkingPlanner", Some(0)),
        ("LanePlanner", Some(0)),
        (PLANNER, Some(3)),
        (PLANNER, Some(4)),
        (PLANNER, Some(5)),
    ],
    &[
        ("Visualizer", None),
        ("Lanelet2GlobalPlanner", Some(0)),
        ("Lanelet2GlobalPlanner", Some(1)),
        ("Lanelet2MapLoader", Some(1)),
        (PLANNER, Some(2)),
    ],
    &[("EuclideanClusterSettings", None), ("EuclideanIntersection", Some(0)), ("IntersectionOutput", Some(0))],
];

impl Group {
    /// Returns a name that no other group has.
    pub(crate) fn name(&self) -> &'static str {
        self.output.unwrap_or(self.node)
    }

    /// Returns the period of the group's timer, if it has one.
    pub(crate) fn period(&self) -> Option<Duration> {
        match self.kind {
            Kind::Sensor(period) | Kind::Cyclic(period) => Some(period),
            _ => None,
        }
    }

    /// Returns the priority of one of its callbacks: that of its chain, and within the chain the later, the more
    /// urgent.
    pub(crate) fn priority(&self, input: Option<usize>) -> u32 {
        let position = |chain: &[(&str, Option<usize>)]| chain.iter().position(|known| *known == (self.name(), input));
        let found = CHAINS.iter().rev().zip(1..).find_map(|(chain, rank)| Some((rank, position(chain)?)));
        found.map_or(0, |(rank, position)| 10 * rank + u32::try_from(position).unwrap_or(9))
    }
}

/// Returns the number of the group that publishes to a topic.
///
/// # Panics
/// If there is no such topic. All names are constants of this example.
pub(crate) fn index_of(output: &str) -> usize {
    let index = GROUPS.iter().position(|group| group.name() == output);
    index.unwrap_or_else(|| panic!("the reference system has no topic {output}"))
}
