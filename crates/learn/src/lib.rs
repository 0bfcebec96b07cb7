//! System files that are learnt from recordings: executors, groups, callbacks with measured execution times, the
//! messages between them, arrivals from outside, and chains.
//!
//! - [`learn`] makes a [`Scenario`] of a [`Model`], with remarks that [`Learned::to_toml`] writes as comments.
//! - [`Comparison`] tells two systems apart.
//! - [`ModelSink`] learns the system file of the program that it runs in.

mod arrivals;
mod callers;
mod compare;
mod execution;
mod graph;
mod learner;
mod messages;
mod names;
mod seen;
mod sink;
mod topics;
mod write;

use rospin_scenario::{CheckError, Scenario};
use rospin_trace::Model;

pub use compare::{Comparison, Execution, Structure};
pub use sink::{ModelSink, SinkError, TEMPLATE, sink_from_env};
pub use write::Remarks;

/// Options of [`learn`].
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Percent that are added to the longest execution time of each callback.
    pub margin: f64,
    /// Percent of the activations whose execution times count: 100 for all. The longer ones are left out.
    pub percentile: f64,
    /// Percent of the activations of a callback that must have sent a message somewhere, so that the message is part of
    /// the system. Rarer ones become remarks.
    pub rare: f64,
    /// True if the callbacks that every node has are part of the system: those of its parameters, its types and its
    /// log.
    pub has_internals: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { margin: 10.0, percentile: 100.0, rare: 1.0, has_internals: false }
    }
}

/// Reasons for which no system can be learnt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// No callback ran from its start to its end.
    #[error("the recording has no callback that ran to its end; record the program while it works")]
    NothingRan,
    /// The result is no valid system: a mistake of this crate.
    #[error("the learnt system is invalid, which is a mistake of rospin: {0}")]
    Invalid(CheckError),
}

/// A system that was learnt.
#[derive(Clone, PartialEq, Debug)]
pub struct Learned {
    /// The system.
    pub scenario: Scenario,
    /// Measurements, and what the recording does not tell.
    pub remarks: Remarks,
}

/// Returns the system whose programs were recorded into the model.
///
/// # Errors
/// If no callback ran to its end, or if the learnt system is invalid, which is a mistake of this crate.
pub fn learn(model: &Model, options: &Options) -> Result<Learned, LearnError> {
    learner::Learner::new(model, options).ok_or(LearnError::NothingRan)?.finish()
}
