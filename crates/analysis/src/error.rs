//! Errors of the analysis: systems that it refuses.

use std::time::Duration;

use rospin_core::ChainError;
use rospin_scenario::CheckError;

/// Reasons for which a system cannot be analysed. Each message names the remedy.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// The scenario does not pass its check. For example, it names an unknown callback, executor, group or topic.
    #[error("the scenario cannot be analysed: {0}")]
    Scenario(#[from] CheckError),
    /// The callback's execution time is zero.
    #[error("`{callback}` has no execution time; give it an `execution`, the longest one that was measured")]
    NoExecutionTime {
        /// Name of the callback.
        callback: String,
    },
    /// The callback has no period, no known publisher and no releases from outside.
    #[error("nothing releases `{callback}`; add a [[release]] for it, or let a callback publish to it")]
    NeverReleased {
        /// Name of the callback.
        callback: String,
    },
    /// Messages flow in a cycle: a callback receives what follows from its own messages.
    #[error("callbacks release each other in a circle: {}; break it where data is only cached, with a timer", .path.join(" -> "))]
    Cycle {
        /// Names of the cycle's callbacks; the first one is repeated at the end.
        path: Vec<String>,
    },
    /// The load of a core, or of a reservation on it, exceeds 1.
    #[error(
        "core {core} is overloaded: {} of its time is asked for, by {}; shorten a callback, lengthen a period, or \
         move an executor to another core", share(*.utilization), .executors.join(", ")
    )]
    Overloaded {
        /// Number of the core, or of the first core of a multi-threaded executor.
        core: u16,
        /// Load of the core or reservation, as a share of its time, above 1; averaged over the cores of a
        /// multi-threaded executor.
        utilization: f64,
        /// Names of the executors on the core, or of the one with the reservation.
        executors: Vec<String>,
    },
    /// A mutually exclusive group is asked for more than all of the time of one thread.
    #[error(
        "group `{group}` is overloaded: {} of the time of a thread is asked for, by {}, of which no two run at once; \
         shorten a callback, lengthen a period, or give one of them another group", share(*.utilization), .callbacks.join(", ")
    )]
    GroupOverloaded {
        /// Name of the group.
        group: String,
        /// Load of the group, as a share of the time of one thread, above 1.
        utilization: f64,
        /// Names of the group's callbacks.
        callbacks: Vec<String>,
    },
    /// The load of an accelerator exceeds 1, so that waits for it have no bound.
    #[error(
        "accelerator `{accelerator}` is overloaded, so that waits for it have no bound: {} of its time is asked for, by {}; \
         shorten a segment, lengthen a period, or let a callback do without it", share(*.utilization), .callbacks.join(", ")
    )]
    AcceleratorOverloaded {
        /// Name of the accelerator.
        accelerator: String,
        /// Load of the accelerator, as a share of the time of all its lanes, above 1.
        utilization: f64,
        /// Names of the callbacks that use it.
        callbacks: Vec<String>,
    },
    /// The analysis knows no sound bound for this callback.
    #[error("`{callback}` cannot be analysed: {reason}; {fix}")]
    NotAnalyzable {
        /// Name of the callback.
        callback: String,
        /// Property of the system for which no bound is known.
        reason: String,
        /// Change that makes it analysable.
        fix: String,
    },
    /// No executor has this name.
    #[error("there is no executor `{executor}` to give a reservation to; known are {known}")]
    UnknownExecutor {
        /// Name that was given.
        executor: String,
        /// Names of the executors that exist.
        known: String,
    },
    /// The reservation's budget is zero, or longer than its period.
    #[error(
        "the reservation of `{executor}` has a budget of {budget:?} every {period:?}; the budget is above zero and at \
         most the period"
    )]
    Reservation {
        /// Name of the executor.
        executor: String,
        /// Budget of the reservation.
        budget: Duration,
        /// Period of the reservation.
        period: Duration,
    },
    /// Priorities cannot be derived from the chains.
    #[error(transparent)]
    Chains(#[from] ChainError),
    /// No order of priorities was found with which all deadlines hold.
    #[error(
        "no priority order makes all deadlines hold: `{callback}`, or another of those that are left, misses its deadline \
         even at priority {level}, below all that are more urgent; shorten it or move it to another core"
    )]
    NoFeasiblePriorities {
        /// A callback that misses its deadline at this level.
        callback: String,
        /// Priority at which the search ended; 1 is the lowest.
        level: u32,
    },
}

/// Formats a load with few digits.
fn share(utilization: f64) -> String {
    if utilization < 10.0 { format!("{:.1} %", utilization * 100.0) } else { "more than ten times 100 %".to_owned() }
}

impl AnalysisError {
    pub(crate) fn not_analyzable(
        callback: impl Into<String>,
        reason: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self::NotAnalyzable { callback: callback.into(), reason: reason.into(), fix: fix.into() }
    }
}
