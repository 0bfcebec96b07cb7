//! The tables of a simulation: response times by callback and by chain.

use std::time::Duration;

use rospin_report::number;
use rospin_report::text_table::{self, Side};
use rospin_scenario::Scenario;
use rospin_sim::{Outcome, Statistics};

/// A table for a terminal or a page.
pub(super) struct Figures {
    pub(super) header: Vec<(&'static str, Side)>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Meaning of the columns of both tables.
pub(super) const LEGEND: &str = "\
Times in ms from release to end, over the runs that ended. misses: ended after the deadline, or late and not run at the end.
Drops by cause: overflow, messages that made room for newer ones; overrun, due times that a timer gave up or that passed.
queued: messages left at the end. empty: notified for nothing.";

impl Figures {
    /// Returns the table as text for a terminal.
    pub(super) fn text(&self) -> String {
        text_table::render(&self.header, &self.rows)
    }
}

/// Returns a table with a row for each callback.
pub(super) fn callbacks(scenario: &Scenario, outcome: &Outcome) -> Figures {
    let header = ["runs", "min", "mean", "p99", "max", "deadline", "misses", "overflow", "overrun", "queued", "empty"];
    let row = |(callback, plan): (&rospin_sim::CallbackOutcome, &rospin_scenario::Callback)| {
        let mut row = vec![callback.name.clone()];
        row.extend(statistics(&callback.response));
        // A callback without a deadline cannot miss it; a timer has no queue.
        let is_timer = plan.kind == rospin_engine::EntityKind::Timer;
        row.push(deadline(plan.relative_deadline()));
        let counts = [
            plan.relative_deadline().map(|_| callback.misses),
            (!is_timer).then_some(callback.dropped),
            is_timer.then_some(callback.overruns),
            (!is_timer).then_some(callback.queued),
            (!is_timer).then_some(callback.empty),
        ];
        row.extend(counts.map(count));
        row
    };
    let rows = outcome.callbacks.iter().zip(&scenario.callbacks).map(row).collect();
    Figures { header: titles("callback", &header), rows }
}

/// Returns a table with a row for each chain.
pub(super) fn chains(scenario: &Scenario, outcome: &Outcome) -> Figures {
    let row = |(chain, plan): (&rospin_sim::ChainOutcome, &rospin_scenario::Chain)| {
        let mut row = vec![chain.name.clone()];
        row.extend(statistics(&chain.latency));
        row.push(deadline(plan.deadline));
        row.push(count(plan.deadline.map(|_| chain.misses)));
        row
    };
    let rows = outcome.chains.iter().zip(&scenario.chains).map(row).collect();
    Figures { header: titles("chain", &["runs", "min", "mean", "p99", "max", "deadline", "misses"]), rows }
}

/// Returns the accelerators' names, and the share of the simulated time for which their lanes are busy in the mean.
pub(super) fn accelerators<'a>(scenario: &'a Scenario, outcome: &Outcome) -> Vec<(&'a str, f64)> {
    let whole = outcome.end.as_nanos().max(1) as f64;
    let share = |(plan, seen): (&'a rospin_scenario::Accelerator, &rospin_sim::AcceleratorOutcome)| {
        (plan.name.as_str(), seen.busy.as_nanos() as f64 / f64::from(plan.lanes.max(1)) / whole)
    };
    scenario.accelerators.iter().zip(&outcome.accelerators).map(share).collect()
}

/// Returns columns: the `first` for names, and the `others` for numbers.
fn titles(first: &'static str, others: &[&'static str]) -> Vec<(&'static str, Side)> {
    let others = others.iter().map(|title| (*title, Side::Right));
    std::iter::once((first, Side::Left)).chain(others).collect()
}

/// Returns the number of values, and their minimum, mean, 99th percentile and maximum in milliseconds; dashes if there
/// are none.
fn statistics(of: &Statistics) -> Vec<String> {
    let time = |time: Duration| if of.count == 0 { "-".to_owned() } else { format!("{:.3}", ms(time)) };
    vec![of.count.to_string(), time(of.min), time(of.mean), time(of.p99), time(of.max)]
}

/// Returns a deadline in milliseconds without zeros behind the point, or a dash for `None`.
fn deadline(of: Option<Duration>) -> String {
    of.map_or_else(|| "-".to_owned(), |of| number::plain(ms(of)))
}

/// Returns a number as text, or a dash for `None`.
fn count(count: Option<u64>) -> String {
    count.map_or_else(|| "-".to_owned(), |count| count.to_string())
}

/// Returns a time in milliseconds.
pub(super) fn ms(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use rospin_sim::Simulation;

    use super::*;

    #[test]
    fn tables_of_the_chain_scenario() {
        let scenario = Scenario::parse(rospin_scenario::examples::CHAIN).unwrap();
        let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
        let text = format!("{}\n{}", callbacks(&scenario, &outcome).text(), chains(&scenario, &outcome).text());
        assert_eq!(text, include_str!("golden/chain_tables.txt"));
    }
}
