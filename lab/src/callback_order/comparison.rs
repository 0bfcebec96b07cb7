//! All results of a run, for tables, JSON file and report, and the kind of time in which they were measured.

use rospin_measure::machine::Machine;

use super::agreement::{self, Cell};
use super::cases;
use super::options::Options;
use super::runs::{self, CaseResult};
use super::verdict;

/// Default duration of all real-time runs together, in seconds.
pub(super) const REAL_TIME_S: f64 = 20.0;
/// Largest difference between two times that count as equal in real time, once they are unscaled: a good part of a
/// callback's 500 ms, and less than lies between two starts whose order matters.
const REAL_TOLERANCE_NS: u64 = 200_000_000;

/// Kind of time that the cases run in.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Time {
    /// Virtual time, in the simulator.
    Virtual,
    /// Real time, on the engine. Every duration of a scenario is multiplied by `scale`.
    Real { scale: f64 },
}

impl Time {
    /// Returns the kind of time that the options ask for.
    pub(super) fn of(options: &Options) -> Self {
        let default = || (REAL_TIME_S / runs::seconds_in_all() * 1e3).round() / 1e3;
        if options.real { Self::Real { scale: options.scale.unwrap_or_else(default) } } else { Self::Virtual }
    }

    /// Returns the largest difference between two times that count as equal.
    pub(super) fn tolerance_ns(self) -> u64 {
        match self {
            Self::Virtual => 0,
            Self::Real { .. } => REAL_TOLERANCE_NS,
        }
    }

    /// Returns the conditions of the run, as the rest of a sentence about its time.
    pub(super) fn describe(self) -> String {
        match self {
            Self::Virtual => "virtual time, so times agree exactly or not at all.".to_owned(),
            Self::Real { scale } => format!(
                "real time on the engine, every duration times {scale}; times are given unscaled and agree if they \
                 differ by at most {} s. What happens at one instant in virtual time would be a race of microseconds: in \
                 Exp2 the second sequence is released {} s earlier and, under {} and fifo, T0 is due {} s later.",
                agreement::seconds(REAL_TOLERANCE_NS),
                cases::AHEAD.as_secs_f64(),
                cases::E2,
                cases::BEHIND.as_secs_f64(),
            ),
        }
    }

    /// Returns the command that repeats the run.
    pub(super) fn replay(self) -> String {
        match self {
            Self::Virtual => "rospin lab callback-order".to_owned(),
            Self::Real { scale } => format!("rospin lab callback-order --real --scale {scale}"),
        }
    }
}

/// All results of a run: what the tables, the JSON file and the report show.
pub(super) struct Comparison {
    pub(super) machine: Machine,
    pub(super) time: Time,
    pub(super) results: Vec<CaseResult>,
    /// Comparisons of the results with the paper.
    pub(super) cells: Vec<Cell>,
}

impl Comparison {
    /// Compares the results with the paper, and adds a description of this machine.
    pub(super) fn new(time: Time, results: Vec<CaseResult>) -> Self {
        let cells = agreement::compare(&results, time.tolerance_ns());
        Self { machine: Machine::read(), time, results, cells }
    }

    /// Returns a sentence about the effect of rospin's policies.
    pub(super) fn sentence(&self) -> String {
        verdict::sentence(&self.results, self.time.tolerance_ns())
    }
}
