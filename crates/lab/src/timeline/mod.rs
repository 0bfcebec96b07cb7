//! Timelines: what ran when, as text for a terminal and as a plot for a report.

mod plot;
mod text;

use rospin_engine::EntityKind;
use rospin_scenario::Scenario;

pub(crate) use plot::{legend, plot};
pub(crate) use text::render;

/// An activation that ran to its end, in virtual or in real time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Activation {
    /// The callback, by its number in the scenario.
    pub(crate) callback: usize,
    /// Executor and which of its threads, where that is known.
    pub(crate) thread: Option<(usize, usize)>,
    /// Arrival of the message, due time of the timer.
    pub(crate) release_ns: u64,
    /// When it started.
    pub(crate) start_ns: u64,
    /// When it ended.
    pub(crate) end_ns: u64,
}

impl Activation {
    /// How long it waited for its start.
    pub(crate) fn wait_ns(&self) -> u64 {
        self.start_ns.saturating_sub(self.release_ns)
    }
}

impl From<&rospin_sim::Run> for Activation {
    fn from(run: &rospin_sim::Run) -> Self {
        Self {
            callback: run.callback,
            thread: Some((run.executor, usize::from(run.thread.0))),
            release_ns: run.release.as_nanos(),
            start_ns: run.start.as_nanos(),
            end_ns: run.end.as_nanos(),
        }
    }
}

/// Rows of bars over one axis of time, which begins at 0.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Timeline {
    /// Where it ends, in nanoseconds.
    pub(crate) end_ns: u64,
    /// From the top down.
    pub(crate) rows: Vec<Row>,
}

/// What one callback or one thread did.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Row {
    pub(crate) label: String,
    /// What the callback is; `None` for a thread.
    pub(crate) kind: Option<EntityKind>,
    pub(crate) bars: Vec<Bar>,
}

/// A run, and how long it waited.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Bar {
    pub(crate) activation: Activation,
    /// Written on the bar if there is room.
    pub(crate) name: Option<String>,
}

/// One row a callback, in the order of registration.
pub(crate) fn by_callback(scenario: &Scenario, activations: &[Activation], end_ns: u64) -> Timeline {
    let row = |(number, callback): (usize, &rospin_scenario::Callback)| {
        let of = activations.iter().filter(|activation| activation.callback == number && activation.start_ns < end_ns);
        let bars = of.map(|activation| Bar { activation: *activation, name: None }).collect();
        Row { label: callback.name.clone(), kind: Some(callback.kind), bars }
    };
    Timeline { end_ns, rows: scenario.callbacks.iter().enumerate().map(row).collect() }
}

/// One row a thread, by executor; what is not known to have run on one is left out.
pub(crate) fn by_thread(scenario: &Scenario, activations: &[Activation], end_ns: u64) -> Timeline {
    let mut rows = Vec::new();
    for (executor, plan) in scenario.executors.iter().enumerate() {
        for thread in 0..usize::from(plan.threads) {
            let here = |activation: &&Activation| {
                activation.thread == Some((executor, thread)) && activation.start_ns < end_ns
            };
            let bar = |activation: &Activation| Bar {
                // A thread's row shows what ran, not what waited.
                activation: Activation { release_ns: activation.start_ns, ..*activation },
                name: Some(scenario.callbacks[activation.callback].name.clone()),
            };
            let bars = activations.iter().filter(here).map(bar).collect();
            rows.push(Row { label: format!("{}/{thread}", plan.name), kind: None, bars });
        }
    }
    Timeline { end_ns, rows }
}

/// A unit in which so long a time has few digits: its name, and nanoseconds in it.
fn unit(end_ns: u64) -> (&'static str, f64) {
    match end_ns {
        0..10_000 => ("ns", 1.0),
        10_000..10_000_000 => ("us", 1e3),
        10_000_000..2_000_000_000 => ("ms", 1e6),
        _ => ("s", 1e9),
    }
}

/// The smallest of 1, 2, 5, 10, 20, ... that is at least `least`.
fn round_up(least: u64) -> u64 {
    let mut decade = 1_u64;
    loop {
        for digit in [1, 2, 5] {
            let Some(step) = decade.checked_mul(digit) else {
                return u64::MAX;
            };
            if step >= least {
                return step;
            }
        }
        decade = decade.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_large_enough() {
        for (least, step) in [(0, 1), (1, 1), (3, 5), (11, 20), (113_000_000, 200_000_000), (u64::MAX, u64::MAX)] {
            assert_eq!(round_up(least), step);
        }
    }
}
