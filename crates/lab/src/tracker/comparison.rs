//! All results of a run, for grids, JSON file and report.

use std::time::Duration;

use rospin_measure::machine::Machine;

use super::measure::{Mode, Row};
use super::setup::{CONTENDERS, Cell, Contender};

/// All results of a run: what the grids, the JSON file and the report show.
pub(crate) struct Tracker {
    pub(crate) machine: Machine,
    pub(crate) robots: Vec<usize>,
    pub(crate) rows: Vec<Row>,
    pub(crate) message_us: f64,
    pub(crate) list_pair_ns: f64,
    pub(crate) iterations: u32,
}

impl Tracker {
    pub(super) fn contenders(&self) -> impl Iterator<Item = Contender> {
        CONTENDERS.into_iter()
    }

    /// Returns the modes that were run, real time first.
    pub(super) fn modes(&self) -> Vec<Mode> {
        let modes = [Mode::Real, Mode::Virtual].into_iter();
        modes.filter(|mode| self.rows.iter().any(|row| row.mode == *mode)).collect()
    }

    /// Returns the execution time that the list of this number of robots should have.
    pub(super) fn list(&self, robots: usize) -> Duration {
        Duration::from_secs_f64(self.list_pair_ns * (robots * robots) as f64 / 1e9)
    }

    pub(super) fn row(&self, contender: Contender, cell: Cell, mode: Mode) -> Option<&Row> {
        self.rows.iter().find(|row| (row.contender, row.cell, row.mode) == (contender, cell, mode))
    }
}
