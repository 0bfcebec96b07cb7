//! Table of experiments. To add one: a new file or folder that implements [`Experiment`], its `mod` in `lib.rs`, and
//! one line in [`EXPERIMENTS`].

use crate::accelerator::AcceleratorExperiment;
use crate::callback_order::CallbackOrder;
use crate::experiment::Experiment;
use crate::inversion::Inversion;
#[cfg(feature = "lane-keeping")]
use crate::lane_keeping::LaneKeeping;
use crate::latency::Latency;
#[cfg(not(feature = "lane-keeping"))]
use crate::left_out::LeftOut;
use crate::reference_system::ReferenceSystem;
use crate::robot::Robot;
use crate::soak::Soak;
use crate::throughput::ThroughputExperiment;
use crate::timers::Timers;
use crate::tracker::TrackerExperiment;
use crate::wire::Wire;

/// Subject of the experiment `lane-keeping`, whether or not it was built.
pub(crate) const LANE_KEEPING: &str =
    "A simulated car keeps its lane, in three processes: the odometry chain beside a long planner";

/// Every experiment, in the order in which `rospin lab list` shows them.
pub(crate) static EXPERIMENTS: &[&dyn Experiment] = &[
    &ReferenceSystem,
    &CallbackOrder,
    &TrackerExperiment,
    &Latency,
    #[cfg(feature = "lane-keeping")]
    &LaneKeeping,
    #[cfg(not(feature = "lane-keeping"))]
    &LeftOut { name: "lane-keeping", about: LANE_KEEPING },
    &Timers,
    &Inversion,
    &AcceleratorExperiment,
    &ThroughputExperiment,
    &Wire,
    &Robot,
    &Soak,
];

/// Returns the experiment called `name` on the command line; `None` if there is none.
pub(crate) fn find(name: &str) -> Option<&'static dyn Experiment> {
    EXPERIMENTS.iter().copied().find(|experiment| experiment.name() == name)
}
