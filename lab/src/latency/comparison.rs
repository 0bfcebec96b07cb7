//! All results of a run, for table, plots, JSON file and report.

use rospin_measure::machine::Machine;

use super::kernel::Kernel;
use super::overhead::Overhead;
use super::runner::RunResult;
use super::settings::Settings;

/// All results of a run: what the table, the JSON file and the report show.
pub(crate) struct Comparison {
    /// Machine of the measurement.
    pub(crate) machine: Machine,
    /// Limits of the kernel for real-time threads.
    pub(crate) kernel: Kernel,
    /// Settings of the runs.
    pub(crate) settings: Settings,
    /// Overhead of a message, besides its callback; `None` if it could not be measured.
    pub(crate) overhead: Option<Overhead>,
    /// Number of runs of each variant.
    pub(crate) runs: u32,
    /// Results, in the order of the runs.
    pub(crate) results: Vec<RunResult>,
}
