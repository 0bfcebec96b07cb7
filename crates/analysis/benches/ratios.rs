//! Compares the bounds of 10,000 random systems with the longest times that are seen in simulations of them. Fails if a
//! simulation exceeds a bound. Prints how many bounds there are of each kind, the median, the mean and the largest
//! ratio of bound to longest time, and how many callbacks without a bound may starve, and how many others there are.
//!
//! The systems are those of the benchmark `always`. Each is simulated as it was drawn, and from critical instants on. A
//! simulation is short, so most callbacks do not meet their worst case: the ratios are upper limits of how far bounds
//! are from it. Systems with several threads are compared twice: with random groups, and with those that rclcpp has by
//! default.
//!
//! `cargo bench -p rospin-analysis --bench ratios`, or with a first seed and how many: `... --bench ratios -- 0 1000`.

#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::collections::BTreeMap;
use std::time::Duration;

use rospin_analysis::{Analysis, AnalysisError, Unbounded};
use rospin_scenario::{Callback, Pattern, Scenario};
use rospin_sim::Simulation;

mod systems;

const SYSTEMS: u64 = 10_000;
/// The number of releases in a simulation, about.
const RELEASES: f64 = 3_000.0;
/// The number of critical instants that are simulated of a system: one with nothing before, and those that begin with
/// the longest callbacks.
const INSTANTS: usize = 9;
/// The end of the names of the kinds in which each node has one mutually exclusive group.
const DEFAULT_GROUPS: &str = ", default groups";

/// Ratios of bounds of one kind to the longest times seen.
#[derive(Default)]
struct Ratios {
    reached: u64,
    ratios: Vec<f64>,
    /// Callbacks that may starve.
    starving: u64,
    /// Others without a bound, and chains.
    unbounded: u64,
}

impl Ratios {
    fn count(&mut self, bound: Duration, seen: Duration) {
        self.reached += u64::from(bound == seen);
        self.ratios.push(bound.as_secs_f64() / seen.as_secs_f64());
    }

    /// Returns a row of the table.
    fn row(&mut self, kind: &str) -> String {
        self.ratios.sort_by(f64::total_cmp);
        let (count, reached) = (self.ratios.len(), self.reached);
        let without = format!("{} | {}", self.starving, self.unbounded);
        let Some(largest) = self.ratios.last() else { return format!("| {kind} | 0 | | | | | {without} |") };
        let (median, mean) = (self.ratios[count / 2], self.ratios.iter().sum::<f64>() / count as f64);
        format!("| {kind} | {count} | {reached} | {median:.2} | {mean:.2} | {largest:.1} | {without} |")
    }
}

fn main() {
    let numbers: Vec<u64> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let (first, count) = (numbers.first().copied().unwrap_or(0), numbers.get(1).copied().unwrap_or(SYSTEMS));
    let mut kinds: BTreeMap<String, Ratios> = BTreeMap::new();
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
    for seed in first..first + count {
        let drawn = [(Some(systems::random(seed)), ""), (systems::with_default_groups(seed), DEFAULT_GROUPS)];
        for (scenario, groups) in drawn {
            let Some(scenario) = scenario else { continue };
            if let Err(reason) = compare(&scenario, seed, groups, &mut kinds) {
                *refused.entry(reason).or_default() += 1;
            }
        }
    }
    println!("| kind | bounds | reached | median bound / seen | mean | largest | may starve | no known bound |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    kinds.iter_mut().for_each(|(kind, ratios)| println!("{}", ratios.row(kind)));
    let bounds: usize = kinds.values().map(|kind| kind.ratios.len()).sum();
    let starving: u64 = kinds.values().map(|kind| kind.starving).sum();
    let unbounded: u64 = kinds.values().map(|kind| kind.unbounded).sum();
    println!(
        "{count} systems, {bounds} bounds, none exceeded; {starving} callbacks may starve, {unbounded} others and chains have no known bound"
    );
    refused.iter().for_each(|(reason, times)| println!("{times} refused: {reason}"));
}

/// Analyses and simulates one system. The names of its kinds end with `groups`.
fn compare(scenario: &Scenario, seed: u64, groups: &str, kinds: &mut BTreeMap<String, Ratios>) -> Result<(), String> {
    let analysis = Analysis::new(scenario);
    let report = match analysis.run() {
        Ok(report) => report,
        Err(AnalysisError::NotAnalyzable { reason, .. }) => return Err(reason),
        Err(error) => panic!("{seed}: {error}"),
    };
    let duration = duration(scenario);
    let mut drawn = scenario.clone();
    drawn.duration = duration;
    let mut instants = analysis.critical_instants(duration);
    instants.sort_by_key(|instant| std::cmp::Reverse(first_cost(instant)));
    instants.truncate(INSTANTS);
    let mut longest = vec![Duration::ZERO; scenario.callbacks.len()];
    let mut latencies = vec![Duration::ZERO; scenario.chains.len()];
    for simulated in std::iter::once(&drawn).chain(&instants) {
        let outcome = Simulation::new(simulated).unwrap().run().unwrap();
        let callbacks = outcome.callbacks.iter().map(|seen| seen.response.max);
        longest.iter_mut().zip(callbacks).for_each(|(longest, seen)| *longest = seen.max(*longest));
        let chains = outcome.chains.iter().map(|seen| seen.latency.max);
        latencies.iter_mut().zip(chains).for_each(|(longest, seen)| *longest = seen.max(*longest));
    }
    let told = |name: &str, seen, bound| format!("seed {seed}: `{name}` takes {seen:?}, the bound is {bound:?}");
    let waits = scenario.callbacks.iter().any(|callback| !callback.awaits.is_empty());
    for ((bound, seen), plan) in report.callbacks.iter().zip(longest).zip(&scenario.callbacks) {
        let ratios = kinds.entry(kind(scenario, &plan.group, waits) + groups).or_default();
        let Some(bound) = bound.bound else {
            let may_starve = bound.unbounded == Some(Unbounded::MayStarve);
            *(if may_starve { &mut ratios.starving } else { &mut ratios.unbounded }) += 1;
            continue;
        };
        assert!(seen <= bound, "{}", told(&plan.name, seen, bound));
        if !seen.is_zero() {
            ratios.count(bound, seen);
        }
    }
    for (chain, seen) in report.chains.iter().zip(latencies) {
        let ratios = kinds.entry(format!("chains{groups}")).or_default();
        let Some(bound) = chain.latency else {
            ratios.unbounded += 1;
            continue;
        };
        assert!(seen <= bound, "{}", told(&chain.name, seen, bound));
        if !seen.is_zero() {
            ratios.count(bound, seen);
        }
    }
    Ok(())
}

/// Returns the kind of a callback, which is a row of the table: policy and threads of its executor, and "some callbacks
/// asynchronous" if any callback of the system waits.
fn kind(scenario: &Scenario, group: &str, waits: bool) -> String {
    let group = scenario.groups.iter().find(|known| known.name == group).unwrap();
    let executor = scenario.executors.iter().find(|known| known.name == group.executor).unwrap();
    let on_core = |core| scenario.executors.iter().filter(|other| other.cores.contains(core)).count();
    let place = match executor.threads {
        1 if executor.cores.iter().any(|core| on_core(core) > 1) => "core shared".to_owned(),
        1 => "1 thread".to_owned(),
        threads => format!("{threads} threads"),
    };
    let waits = if waits { ", some callbacks asynchronous" } else { "" };
    format!("{}, {place}{waits}", executor.policy)
}

/// Returns the execution time of the callback that a critical instant begins with; the longest one if it begins with
/// none.
fn first_cost(instant: &Scenario) -> Duration {
    let begins = |pattern: &Pattern| match pattern {
        Pattern::Periodic { offset, .. } => offset.is_zero(),
        Pattern::List(times) => times.contains(&Duration::ZERO),
        _ => false,
    };
    let first = instant.releases.iter().find(|release| begins(&release.pattern)).map(|release| &release.to[0]);
    let is_first = |plan: &&Callback| plan.offset == Some(Duration::ZERO) || Some(&plan.name) == first;
    instant.callbacks.iter().find(is_first).map_or(Duration::MAX, |plan| plan.execution.longest())
}

/// Returns how long a simulation takes that has about [`RELEASES`].
fn duration(scenario: &Scenario) -> Duration {
    let periods = scenario.callbacks.iter().filter_map(|callback| callback.period);
    let outside = scenario.releases.iter().filter_map(|release| match release.pattern {
        Pattern::Periodic { period, .. } => Some(period),
        _ => None,
    });
    let rate: f64 = periods.chain(outside).map(|period| 1.0 / period.as_secs_f64()).sum();
    Duration::from_secs_f64((RELEASES / rate).min(1e6)).max(Duration::from_nanos(100))
}
