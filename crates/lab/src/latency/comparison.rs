//! All results of a run, as table, plots, JSON file and report show them.

use rospin_measure::machine::Machine;

use super::kernel::Kernel;
use super::runner::RunResult;
use super::settings::Settings;

/// Everything that the table, the JSON file and the report show.
pub(crate) struct Comparison {
    /// Where it was measured.
    pub(crate) machine: Machine,
    /// What the kernel there allows.
    pub(crate) kernel: Kernel,
    /// How.
    pub(crate) settings: Settings,
    /// How often each variant ran.
    pub(crate) runs: u32,
    /// What came out, in the order of the runs.
    pub(crate) results: Vec<RunResult>,
}
