//! All results of a run.

use std::time::Duration;

use rospin_measure::machine::Machine;

use super::measured::Row;
use super::order::{Drive, Executors};
use crate::middleware::Middleware;

/// All results of a run: what table, JSON file and report show.
pub(crate) struct Comparison {
    pub(crate) machine: Machine,
    pub(crate) duration: Duration,
    pub(crate) rows: Vec<Row>,
}

impl Comparison {
    /// Returns the row of this drive, if there is one.
    pub(crate) fn row(&self, middleware: Middleware, executors: Executors, planner: u32) -> Option<&Row> {
        self.rows.iter().find(|row| row.drive == Drive { middleware, executors, planner })
    }
}
