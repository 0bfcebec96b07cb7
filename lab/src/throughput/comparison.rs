//! All results of a run, for tables, plots, JSON file and report.

use std::time::Duration;

use rospin_measure::machine::Machine;

use super::figures::Figures;

/// All results of a run: what the tables, the JSON file and the report show.
pub(crate) struct Throughput {
    pub(crate) machine: Machine,
    /// Number of measurements of each contender in each cell.
    pub(crate) rounds: u32,
    /// Length of a measurement. At a fixed rate, measurements are five times as long.
    pub(crate) window: Duration,
    /// Time for which the threads of rospin's executors look for work before they sleep.
    pub(crate) busy_poll: Duration,
    pub(crate) figures: Figures,
    /// Remarks for the reader of the results.
    pub(crate) remarks: Vec<String>,
}
