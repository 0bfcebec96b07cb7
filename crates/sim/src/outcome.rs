//! Results of a simulation.

use std::time::Duration;

use rospin_core::{Instant, ThreadIndex};
use rospin_scenario::Scenario;

use crate::event::{Event, render};
use crate::statistics::Statistics;

/// An activation that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Run {
    /// The callback, by its number in the scenario.
    pub callback: usize,
    /// The executor, by its number in the scenario.
    pub executor: usize,
    /// The executor's thread that it started on.
    pub thread: ThreadIndex,
    /// The release: arrival of the message, or due time of the timer.
    pub release: Instant,
    /// The start time.
    pub start: Instant,
    /// The end time, after all awaits.
    pub end: Instant,
}

impl Run {
    /// Returns the response time, from release to end.
    #[must_use]
    pub fn response(&self) -> Duration {
        self.end.saturating_since(self.release)
    }
}

/// A wait-set policy built a new ready set.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PollingPoint {
    /// The time.
    pub at: Instant,
    /// The executor, by its number in the scenario.
    pub executor: usize,
    /// The thread for which the set was built.
    pub thread: ThreadIndex,
    /// The callbacks in the set, by their numbers in the scenario, in the order of service.
    pub ready_set: Vec<usize>,
}

/// The results of a callback.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CallbackOutcome {
    /// Its name.
    pub name: String,
    /// Response times of the activations that ended, from release to end.
    pub response: Statistics,
    /// Waiting times of the same activations, from release to start.
    pub wait: Statistics,
    /// Number of missed deadlines: activations that ended late, and activations that had not ended when both their
    /// deadline and the simulation were over.
    pub misses: u64,
    /// Number of activations that were released and had not ended. Each waiting message is one. A timer has one, plus
    /// those that it would catch up on.
    pub unfinished: u64,
    /// Time that the oldest of them had waited.
    pub waited: Duration,
    /// Number of activations that found nothing to take, after a spurious notification.
    pub empty: u64,
    /// Number of messages that newer ones displaced.
    pub dropped: u64,
    /// Number of a timer's due times that were given up, including those that passed while it waited at the end.
    pub overruns: u64,
    /// Number of messages that are left in the queue.
    pub queued: u64,
}

impl CallbackOutcome {
    /// Returns true if it was released and never ran, although its deadline was before the end; or if at the end it had
    /// waited for half of the simulated time, and for more than twice its longest response time.
    #[must_use]
    pub fn is_starved(&self, simulated: Duration) -> bool {
        let never = self.response.count == 0 && self.misses > 0;
        self.unfinished > 0 && (never || self.waited >= simulated / 2 && self.waited > 2 * self.response.max)
    }
}

/// The results of a chain.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ChainOutcome {
    /// Its name.
    pub name: String,
    /// Latencies of its complete instances, from the release of the first callback to the end of the last one.
    pub latency: Statistics,
    /// Number of missed deadlines: instances that ended late, and instances that had not ended when both their
    /// deadline and the simulation were over.
    pub misses: u64,
    /// Release and latency of each instance, in the order of their ends.
    pub instances: Vec<(Instant, Duration)>,
}

/// The results of a simulation.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// The time at which the last callback ended.
    pub end: Instant,
    /// The callbacks' results, in the scenario's order.
    pub callbacks: Vec<CallbackOutcome>,
    /// The chains' results, in the scenario's order.
    pub chains: Vec<ChainOutcome>,
    /// All activations that ended, in the order of their ends.
    pub runs: Vec<Run>,
    /// All polling points, in order. Empty for policies that have none.
    pub polling_points: Vec<PollingPoint>,
    /// All events, if they were requested.
    pub trace: Vec<Event>,
}

impl Outcome {
    /// Returns the activations of a callback, by its name.
    pub fn runs_of<'a>(&'a self, scenario: &Scenario, name: &str) -> impl Iterator<Item = &'a Run> {
        let callback = scenario.callbacks.iter().position(|callback| callback.name == name);
        self.runs.iter().filter(move |run| Some(run.callback) == callback)
    }

    /// Returns the events as text.
    #[must_use]
    pub fn trace_text(&self, scenario: &Scenario) -> String {
        render(scenario, &self.trace)
    }
}
