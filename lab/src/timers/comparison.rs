//! All results of a run, for table, plots, JSON file and report.

use std::time::Duration;

use rospin_measure::machine::Machine;
use rospin_measure::setup::Setup;

use super::contender::{Contender, Load};
use super::figures::Row;

/// All results and settings of a run.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) machine: Machine,
    pub(crate) setup: Setup,
    /// Time for which each row was measured, in all rounds together.
    pub(crate) duration: Duration,
    /// Number of turns of each row.
    pub(crate) rounds: u32,
    /// Remarks about what was left out.
    pub(crate) remarks: Vec<String>,
    /// The results, by rate, load and contender.
    pub(crate) rows: Vec<Row>,
}

impl Comparison {
    /// Returns the row of a contender under a load at a rate; `None` if it was not run.
    pub(crate) fn row(&self, contender: Contender, load: Load, rate_hz: u32) -> Option<&Row> {
        self.rows.iter().find(|row| (row.contender, row.load, row.rate_hz) == (contender, load, rate_hz))
    }

    /// Returns the rates that were run, in hertz and ascending.
    pub(crate) fn rates(&self) -> Vec<u32> {
        let mut rates: Vec<u32> = self.rows.iter().map(|row| row.rate_hz).collect();
        rates.dedup();
        rates
    }

    /// Returns the ratio of the row's lateness to that of the floor, at the 99th percentile; `None` if one of the two
    /// was not measured.
    pub(crate) fn to_floor(&self, row: &Row) -> Option<f64> {
        let floor = self.row(Contender::Floor, row.load, row.rate_hz)?.p99()?;
        Some(row.p99()? / floor)
    }
}
