//! All results of a run, for tables, plots, JSON file and report.

use std::time::Duration;

use rospin_measure::machine::Machine;

use super::figures::Figures;

/// All results of a run: what the tables, the JSON file and the report show.
pub(crate) struct Throughput {
    pub(crate) machine: Machine,
    pub(crate) rounds: u32,
    /// Length of the shortest measurements.
    pub(crate) window: Duration,
    pub(crate) busy_poll: Duration,
    pub(crate) figures: Figures,
    /// Remarks for the reader of the results.
    pub(crate) remarks: Vec<String>,
}
