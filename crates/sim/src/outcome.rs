//! Results of a simulation.

use std::time::Duration;

use rospin_core::{Instant, ThreadIndex};
use rospin_scenario::Scenario;

use crate::event::{Event, render};
use crate::statistics::Statistics;

/// Activation that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Run {
    /// Number of the callback in the scenario.
    pub callback: usize,
    /// Number of the executor in the scenario.
    pub executor: usize,
    /// Thread of the executor that the activation started on.
    pub thread: ThreadIndex,
    /// Time of the release: arrival of the message, or due time of the timer. If messages were displaced from the queue
    /// since the last run, it is the arrival of the first of them: the callback has been ready since then.
    pub release: Instant,
    /// Time of the start.
    pub start: Instant,
    /// Time of the end, after all awaits.
    pub end: Instant,
}

impl Run {
    /// Returns the response time, from release to end.
    #[must_use]
    pub fn response(&self) -> Duration {
        self.end.saturating_since(self.release)
    }
}

/// Moment at which a wait-set policy built a new ready set.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PollingPoint {
    /// Time at which the set was built.
    pub at: Instant,
    /// Number of the executor in the scenario.
    pub executor: usize,
    /// Thread for which the set was built.
    pub thread: ThreadIndex,
    /// Callbacks in the set, by their numbers in the scenario, in the order of service.
    pub ready_set: Vec<usize>,
}

/// Results of a callback.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CallbackOutcome {
    /// Name of the callback.
    pub name: String,
    /// Response times of the activations that ended, from release to end.
    pub response: Statistics,
    /// Waiting times of the same activations, from release to start.
    pub wait: Statistics,
    /// Number of missed deadlines: activations that ended after their deadline, and [unfinished](Self::unfinished) ones
    /// whose deadline had passed.
    pub misses: u64,
    /// Number of activations that were released and had not started when the executor stopped, at the latest at the end
    /// of the scenario's duration. Each waiting message counts as one. A timer that is due counts as one, plus the due
    /// times that it would catch up on. An activation that is suspended at an await does not count.
    pub unfinished: u64,
    /// Time that the oldest unfinished activation had waited when the executor stopped.
    pub waited: Duration,
    /// Number of activations that found no message to take, because their notification was spurious.
    pub empty: u64,
    /// Number of messages that newer ones displaced.
    pub dropped: u64,
    /// Number of a timer's due times that were given up, including those that passed while it waited when the executor
    /// stopped.
    pub overruns: u64,
    /// Number of messages that are left in the queue at the end.
    pub queued: u64,
}

impl CallbackOutcome {
    /// Returns true if the callback was released and never ran, although its deadline was before the end; or if at the
    /// end it had waited for half of the simulated time, and for more than twice its longest response time.
    #[must_use]
    pub fn is_starved(&self, simulated: Duration) -> bool {
        let never = self.response.count == 0 && self.misses > 0;
        self.unfinished > 0 && (never || self.waited >= simulated / 2 && self.waited > 2 * self.response.max)
    }
}

/// Results of a chain.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ChainOutcome {
    /// Name of the chain.
    pub name: String,
    /// Latencies of the chain's complete instances, from the release of the first callback to the end of the last one.
    pub latency: Statistics,
    /// Number of missed deadlines: instances that ended after their deadline, and instances whose deadline had passed
    /// while a message of theirs, or their first callback, waited when the executors stopped.
    pub misses: u64,
    /// Release and latency of each instance, in the order of their ends.
    pub instances: Vec<(Instant, Duration)>,
}

/// Results of an accelerator.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct AcceleratorOutcome {
    /// Name of the accelerator.
    pub name: String,
    /// Time of all segments that started, summed up over the lanes.
    pub busy: Duration,
}

/// Results of a simulation.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// Seed of the random execution times and arrivals.
    pub seed: u64,
    /// Time at which the last callback ended, but not before the end of the scenario's duration.
    pub end: Instant,
    /// Results of the callbacks, in the scenario's order.
    pub callbacks: Vec<CallbackOutcome>,
    /// Results of the chains, in the scenario's order.
    pub chains: Vec<ChainOutcome>,
    /// Results of the accelerators, in the scenario's order.
    pub accelerators: Vec<AcceleratorOutcome>,
    /// Activations that ended, in the order of their ends.
    pub runs: Vec<Run>,
    /// Polling points, in the order of time. Policies other than wait sets have none.
    pub polling_points: Vec<PollingPoint>,
    /// Events, if [`Simulation::trace`](crate::Simulation::trace) asked for them.
    pub trace: Vec<Event>,
}

impl Outcome {
    /// Returns the activations of the callback called `name` that ended; nothing if the scenario has no such callback.
    pub fn runs_of<'a>(&'a self, scenario: &Scenario, name: &str) -> impl Iterator<Item = &'a Run> {
        let callback = scenario.callbacks.iter().position(|callback| callback.name == name);
        self.runs.iter().filter(move |run| Some(run.callback) == callback)
    }

    /// Returns the events as text, one per line; empty unless [`Simulation::trace`](crate::Simulation::trace) asked for
    /// them.
    #[must_use]
    pub fn trace_text(&self, scenario: &Scenario) -> String {
        render(scenario, &self.trace)
    }
}
