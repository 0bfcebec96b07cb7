//! All results of a run, for table, plots, JSON file and report.

use rospin_measure::machine::Machine;
use rospin_measure::setup::Setup;

use super::figures::Row;
use super::interference::{Case, Turn};

/// All results and settings of a run.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) machine: Machine,
    pub(crate) setup: Setup,
    /// Share of the time that the kernel lets real-time threads run on a core; `None` if it sets no limit.
    pub(crate) throttle: Option<f64>,
    /// True if the process's memory is kept in RAM.
    pub(crate) is_memory_locked: bool,
    pub(crate) turn: Turn,
    /// The results, in the order of the cases.
    pub(crate) rows: Vec<Row>,
}

impl Comparison {
    /// Returns the results of a case; `None` if it was not run.
    pub(crate) fn row(&self, case: Case) -> Option<&Row> {
        self.rows.iter().find(|row| row.case == case)
    }
}
