//! All results of a run, for table, plots, JSON file and report.

use std::path::PathBuf;

use rospin_measure::machine::Machine;

use super::runner::{RunResult, Settings};

/// All results of a run: what the table, the JSON file and the report show.
pub(crate) struct Comparison {
    /// Machine of the measurement.
    pub(crate) machine: Machine,
    /// Settings of the runs.
    pub(crate) settings: Settings,
    /// Results, in the order of the runs.
    pub(crate) results: Vec<RunResult>,
    /// Results of the same runs once more, recorded; empty if they were not asked for.
    pub(crate) recorded: Vec<RunResult>,
    /// The folder with the recordings, if there are any.
    pub(crate) folder: Option<PathBuf>,
}
