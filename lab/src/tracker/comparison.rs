//! All results of a run, for grids, JSON file and report.

use std::time::Duration;

use rospin_measure::machine::Machine;

use super::measure::{Mode, Row};
use super::setup::{CONTENDERS, Cell, Contender};

/// All results of a run: what the grids, the JSON file and the report show.
pub(crate) struct Tracker {
    pub(crate) machine: Machine,
    /// Numbers of robots that were run, ascending.
    pub(crate) robots: Vec<usize>,
    pub(crate) rows: Vec<Row>,
    /// Processor time that a message should take.
    pub(crate) message_us: f64,
    /// Processor time that the list should take, for each pair of robots.
    pub(crate) list_pair_ns: f64,
    /// Number of periods of the list over which each mean is taken.
    pub(crate) iterations: u32,
}

impl Tracker {
    /// Returns all contenders, in the order of the grids.
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

    /// Returns the results of a cell under a contender; `None` if it was not run in this kind of time.
    pub(super) fn row(&self, contender: Contender, cell: Cell, mode: Mode) -> Option<&Row> {
        self.rows.iter().find(|row| (row.contender, row.cell, row.mode) == (contender, cell, mode))
    }
}
