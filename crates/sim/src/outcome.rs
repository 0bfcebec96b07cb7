//! What came of a simulation.

use std::time::Duration;

use rospin_core::{Instant, ThreadIndex};
use rospin_scenario::Scenario;

use crate::event::{Event, render};
use crate::statistics::Statistics;

/// An activation that ran to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Run {
    /// The callback, by its number in the scenario.
    pub callback: usize,
    /// The executor, by its number in the scenario.
    pub executor: usize,
    /// The executor's thread that it started on.
    pub thread: ThreadIndex,
    /// Arrival of the message, due time of the timer.
    pub release: Instant,
    /// When it started.
    pub start: Instant,
    /// When it ended, after all that it waited for.
    pub end: Instant,
}

impl Run {
    /// From release to end.
    #[must_use]
    pub fn response(&self) -> Duration {
        self.end.saturating_since(self.release)
    }
}

/// A wait-set policy built a new ready set.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PollingPoint {
    /// When.
    pub at: Instant,
    /// In which executor, by its number in the scenario.
    pub executor: usize,
    /// For which of its threads.
    pub thread: ThreadIndex,
    /// The callbacks in it, by their numbers in the scenario, in the order in which they will be served.
    pub ready_set: Vec<usize>,
}

/// What came of a callback.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CallbackOutcome {
    /// Its name.
    pub name: String,
    /// From release to end, of the activations that ended.
    pub response: Statistics,
    /// From release to start, of the same.
    pub wait: Statistics,
    /// Activations that ended later than their deadline, and those that had not run by the end, which was later than that.
    pub misses: u64,
    /// Activations that were released and had not run by the end; messages that wait are such, a timer has one, and as many
    /// more as it would catch up with.
    pub unfinished: u64,
    /// For how long the oldest of them had waited.
    pub waited: Duration,
    /// Activations that found nothing to take: notified for nothing.
    pub empty: u64,
    /// Messages that made room for newer ones.
    pub dropped: u64,
    /// Timers: due times that were given up, those that passed while it waited at the end included.
    pub overruns: u64,
    /// Messages that are left in the queue.
    pub queued: u64,
}

impl CallbackOutcome {
    /// True if it was released and never ran, although the end was later than its deadline, or if at the end it had waited
    /// for half of a simulation that was so long.
    #[must_use]
    pub fn is_starved(&self, simulated: Duration) -> bool {
        let never = self.response.count == 0 && self.misses > 0;
        self.unfinished > 0 && (never || self.waited >= simulated / 2 && self.waited > 2 * self.response.max)
    }
}

/// What came of a chain.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ChainOutcome {
    /// Its name.
    pub name: String,
    /// From the release of its first callback to the end of its last one, where data went all the way.
    pub latency: Statistics,
    /// Instances that ended later than the deadline, and those that had not ended by the end, which was later than that.
    pub misses: u64,
    /// Releases and latencies, in the order of the ends.
    pub instances: Vec<(Instant, Duration)>,
}

/// What came of a simulation.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The seed that was used.
    pub seed: u64,
    /// When the last callback had ended.
    pub end: Instant,
    /// By callback, in the scenario's order.
    pub callbacks: Vec<CallbackOutcome>,
    /// By chain, in the scenario's order.
    pub chains: Vec<ChainOutcome>,
    /// What ran, in the order of the ends.
    pub runs: Vec<Run>,
    /// When ready sets were built, in order; none with policies that build none.
    pub polling_points: Vec<PollingPoint>,
    /// Everything that happened, if it was asked for.
    pub trace: Vec<Event>,
}

impl Outcome {
    /// What ran of a callback, by its name.
    pub fn runs_of<'a>(&'a self, scenario: &Scenario, name: &str) -> impl Iterator<Item = &'a Run> {
        let callback = scenario.callbacks.iter().position(|callback| callback.name == name);
        self.runs.iter().filter(move |run| Some(run.callback) == callback)
    }

    /// The trace as text.
    #[must_use]
    pub fn trace_text(&self, scenario: &Scenario) -> String {
        render(scenario, &self.trace)
    }
}
