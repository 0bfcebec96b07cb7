//! All results of a run, as table, plots, JSON file and report show them.

use rospin_measure::machine::Machine;

use super::runner::{RunResult, Settings};

/// Everything that the table, the JSON file and the report show.
pub(crate) struct Comparison {
    /// Where it was measured.
    pub(crate) machine: Machine,
    /// How.
    pub(crate) settings: Settings,
    /// What came out, in the order of the runs.
    pub(crate) results: Vec<RunResult>,
}
