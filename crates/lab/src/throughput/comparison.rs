//! All results of a run, as tables, plots, JSON file and report show them.

use std::time::Duration;

use rospin_measure::machine::Machine;

use super::figures::Figures;

/// Everything that the tables, the JSON file and the report show.
pub(crate) struct Throughput {
    pub(crate) machine: Machine,
    pub(crate) rounds: u32,
    /// Length of the shortest measurements.
    pub(crate) window: Duration,
    pub(crate) busy_poll: Duration,
    pub(crate) figures: Figures,
    /// What the reader has to know.
    pub(crate) remarks: Vec<String>,
}
