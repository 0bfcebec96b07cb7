//! Table of experiments. To add one: a new file or folder that implements [`Experiment`], and one line in [`EXPERIMENTS`].

use crate::accelerator::AcceleratorExperiment;
use crate::callback_order::CallbackOrder;
use crate::experiment::Experiment;
use crate::inversion::Inversion;
#[cfg(feature = "lane-keeping")]
use crate::lane_keeping::LaneKeeping;
use crate::latency::Latency;
use crate::reference_system::ReferenceSystem;
use crate::robot::Robot;
use crate::throughput::ThroughputExperiment;
use crate::timers::Timers;
use crate::tracker::TrackerExperiment;
use crate::wire::Wire;

/// Every experiment, in the order in which `rospin lab list` shows them.
pub(crate) static EXPERIMENTS: &[&dyn Experiment] = &[
    &ReferenceSystem,
    &CallbackOrder,
    &TrackerExperiment,
    &Latency,
    #[cfg(feature = "lane-keeping")]
    &LaneKeeping,
    &Timers,
    &Inversion,
    &AcceleratorExperiment,
    &ThroughputExperiment,
    &Wire,
    &Robot,
];

/// Returns the experiment called `name` on the command line; `None` if there is none.
pub(crate) fn find(name: &str) -> Option<&'static dyn Experiment> {
    EXPERIMENTS.iter().copied().find(|experiment| experiment.name() == name)
}
