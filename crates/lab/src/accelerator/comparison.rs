//! All results of a run, for table, JSON file and report.

use std::time::Duration;

use rospin_measure::machine::Machine;

use super::contender::Contender;
use super::figures::Row;
use super::workload::Pipeline;

/// The time in which the device runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Time {
    Virtual,
    Real,
}

impl Time {
    pub(crate) const ALL: [Self; 2] = [Self::Virtual, Self::Real];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Real => "real",
        }
    }
}

/// All results and settings of a run.
pub(crate) struct Comparison {
    pub(crate) machine: Machine,
    pub(crate) load: f64,
    pub(crate) durations: [(Time, Duration); 2],
    /// The settings that the threads could not have.
    pub(crate) shortfalls: Vec<String>,
    pub(crate) pipelines: Vec<Pipeline>,
    pub(crate) rows: Vec<Row>,
}

impl Comparison {
    pub(crate) fn row(&self, time: Time, contender: Contender) -> Option<&Row> {
        self.rows.iter().find(|row| (row.time, row.contender) == (time, contender))
    }
}
