//! All results of a run, as table, plots, JSON file and report show them.

use rospin_measure::machine::Machine;
use rospin_measure::setup::Setup;

use super::figures::Row;
use super::interference::{Case, Turn};

/// Everything that table, plots, JSON file and report show.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) machine: Machine,
    pub(crate) setup: Setup,
    /// Which share of a second real-time threads may have; `None` if it is not limited.
    pub(crate) throttle: Option<f64>,
    /// Whether the process's memory is kept in RAM.
    pub(crate) is_memory_locked: bool,
    pub(crate) turn: Turn,
    /// In the order of the cases.
    pub(crate) rows: Vec<Row>,
}

impl Comparison {
    pub(crate) fn row(&self, case: Case) -> Option<&Row> {
        self.rows.iter().find(|row| row.case == case)
    }
}
