//! Timelines: the activations of a system over time, as text for a terminal and as a plot for a report.

mod plot;
mod text;

use rospin_core::EntityKind;
use rospin_scenario::Scenario;

pub use plot::{legend, plot};
pub use text::render;

/// An activation that ran to its end, in virtual or in real time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Activation {
    /// Number of the callback in the scenario.
    pub callback: usize,
    /// Number of the executor, and of its thread; `None` if that is not known.
    pub thread: Option<(usize, usize)>,
    /// Time of its release (a message's arrival, a timer's due time), in nanoseconds since the scenario began.
    pub release_ns: u64,
    /// Time of its start, in nanoseconds since the scenario began.
    pub start_ns: u64,
    /// Time of its end, in nanoseconds since the scenario began.
    pub end_ns: u64,
}

impl Activation {
    /// Returns the time from the activation's release to its start, in nanoseconds.
    #[must_use]
    pub fn wait_ns(&self) -> u64 {
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
pub struct Timeline {
    /// End of the axis, in nanoseconds since the scenario began.
    pub end_ns: u64,
    /// Rows, from the top down.
    pub rows: Vec<TimelineRow>,
}

/// The bars of one callback or one thread.
#[derive(Clone, PartialEq, Debug)]
pub struct TimelineRow {
    /// Name at the left of the row.
    pub label: String,
    /// Kind of the callback; `None` for a thread.
    pub kind: Option<EntityKind>,
    /// Bars, in the order of time.
    pub bars: Vec<Bar>,
}

/// Bar of one activation.
#[derive(Clone, PartialEq, Debug)]
pub struct Bar {
    /// Activation, with the times of its release, start and end. In the row of a thread, its release is set to its
    /// start.
    pub activation: Activation,
    /// Name that is written on the bar if there is room: that of the callback, in the row of a thread. `None` in the
    /// row of a callback.
    pub name: Option<String>,
}

/// Returns a timeline from 0 to `end_ns` with a row for each callback, in the order of registration. Activations that
/// start at `end_ns` or later are left out.
#[must_use]
pub fn by_callback(scenario: &Scenario, activations: &[Activation], end_ns: u64) -> Timeline {
    let row = |(number, callback): (usize, &rospin_scenario::Callback)| {
        let of = activations.iter().filter(|activation| activation.callback == number && activation.start_ns < end_ns);
        let bars = of.map(|activation| Bar { activation: *activation, name: None }).collect();
        TimelineRow { label: callback.name.clone(), kind: Some(callback.kind), bars }
    };
    Timeline { end_ns, rows: scenario.callbacks.iter().enumerate().map(row).collect() }
}

/// Returns a timeline from 0 to `end_ns` with a row for each thread, by executor. Activations that start at `end_ns` or
/// later, or whose thread is not known, are left out.
#[must_use]
pub fn by_thread(scenario: &Scenario, activations: &[Activation], end_ns: u64) -> Timeline {
    let mut rows = Vec::new();
    for (executor, plan) in scenario.executors.iter().enumerate() {
        for thread in 0..usize::from(plan.threads) {
            let here = |activation: &&Activation| {
                activation.thread == Some((executor, thread)) && activation.start_ns < end_ns
            };
            let bar = |activation: &Activation| Bar {
                // A thread's row shows the activations that ran, without their waiting time.
                activation: Activation { release_ns: activation.start_ns, ..*activation },
                name: Some(scenario.callbacks[activation.callback].name.clone()),
            };
            let bars = activations.iter().filter(here).map(bar).collect();
            rows.push(TimelineRow { label: format!("{}/{thread}", plan.name), kind: None, bars });
        }
    }
    Timeline { end_ns, rows }
}

/// Returns a unit in which the time `end_ns` has few digits: the unit's name, and the number of nanoseconds in it.
fn unit(end_ns: u64) -> (&'static str, f64) {
    match end_ns {
        0..10_000 => ("ns", 1.0),
        10_000..10_000_000 => ("us", 1e3),
        10_000_000..2_000_000_000 => ("ms", 1e6),
        _ => ("s", 1e9),
    }
}

/// Returns the smallest of 1, 2, 5, 10, 20, ... that is at least `least`.
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
