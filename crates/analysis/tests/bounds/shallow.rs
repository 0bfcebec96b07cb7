//! Queues that lose messages, and timers that skip due times: bounds that hold because no more activations than that
//! wait, however long a callback waits.
//!
//! The systems are those of other tests, at higher loads, with queues of one to three messages: so a callback often
//! waits for long, and what it sends then comes all at once.

use std::collections::BTreeMap;
use std::time::Duration;

use rospin_analysis::{Analysis, AnalysisError, Report};
use rospin_core::{EntityKind, Overrun};
use rospin_scenario::draw::Stream;
use rospin_scenario::{Callback, ExecutionTime, Executor, Group, Pattern, Release, Scenario};
use rospin_sim::Simulation;

use crate::common::{self, ms, pick, seeds};
use crate::{circles, polled, several};

const POLICIES: [&str; 5] = ["fixed-priority", "edf", "fifo", "wait-set-e1", "wait-set-e2"];
/// Simulations of each system.
const RUNS: u64 = 6;
/// A depth at which no simulation loses a message.
const DEEP: u32 = 1_000_000;

/// Returns the number of systems of each policy and generator.
fn systems() -> u64 {
    common::systems(4, 150)
}

/// Origin of a system, and its phases and execution times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Circles,
    Several,
    Polled,
}

impl Source {
    /// Returns a system with queues of one to three messages.
    fn system(self, policy: &str, seed: u64) -> Scenario {
        let mut scenario = match self {
            Self::Circles => circles::random(policy, seed),
            Self::Several => several::random(policy, several::Kind::Nodes, seed),
            Self::Polled => polled::random(policy, seed),
        };
        let rng = &mut Stream::new(seed, &format!("shallow {policy}"));
        let factor = 1.0 + rng.below(4) as f64 / 10.0;
        for callback in &mut scenario.callbacks {
            callback.depth = 1 + rng.below(3) as u32;
            if callback.kind == EntityKind::Timer {
                callback.overrun = pick(rng, &[Overrun::Skip, Overrun::ShiftPhase, Overrun::CatchUp(2)]);
            }
            if let ExecutionTime::Uniform(shortest, longest) = &mut callback.execution {
                *longest = longest.mul_f64(factor).max(*shortest);
            }
        }
        scenario
    }

    fn rephase(self, scenario: &mut Scenario, run: u64) {
        match self {
            Self::Circles => circles::rephase(scenario, run),
            Self::Several => several::rephase(scenario, run),
            Self::Polled => polled::rephase(scenario, run),
        }
    }
}

fn analysed(scenario: &Scenario) -> Option<Report> {
    match Analysis::new(scenario).run() {
        Ok(report) => Some(report),
        Err(AnalysisError::Overloaded { .. } | AnalysisError::GroupOverloaded { .. }) => None,
        Err(error) => panic!("{error}\n{}", scenario.to_toml()),
    }
}

#[derive(Default, Debug)]
struct Tally {
    systems: u64,
    bounds: u64,
    unbounded: u64,
    /// Bounds that are missing or longer if queues are deep.
    by_depth: u64,
    /// Messages that the simulations lost.
    lost: u64,
    /// By name of the analysis: bounds, and the largest share of one that was seen.
    methods: BTreeMap<&'static str, (u64, f64)>,
}

fn check(source: Source, scenario: &Scenario, tally: &mut Tally) {
    let Some(report) = analysed(scenario) else { return };
    let mut deep = scenario.clone();
    deep.callbacks.iter_mut().for_each(|callback| callback.depth = DEEP);
    let deep = analysed(&deep).unwrap();
    tally.systems += 1;
    let mut seen = vec![Duration::ZERO; report.callbacks.len()];
    for run in 0..RUNS {
        let mut simulated = scenario.clone();
        source.rephase(&mut simulated, run);
        let outcome = Simulation::new(&simulated).unwrap().run().unwrap();
        let told = || format!("{source:?} {}\n{}", scenario.name, simulated.to_toml());
        for (place, (callback, now)) in report.callbacks.iter().zip(&outcome.callbacks).enumerate() {
            let longest = now.response.max.max(now.waited);
            seen[place] = seen[place].max(longest);
            tally.lost += now.dropped;
            assert!(callback.bound.is_none_or(|bound| longest <= bound), "{longest:?}: {callback:?}\n{}", told());
        }
        for (chain, now) in report.chains.iter().zip(&outcome.chains) {
            let (longest, bound) = (now.latency.max, chain.latency);
            assert!(bound.is_none_or(|bound| longest <= bound), "{longest:?}: {chain:?}\n{}", told());
        }
    }
    for ((callback, deep), seen) in report.callbacks.iter().zip(&deep.callbacks).zip(seen) {
        let Some(bound) = callback.bound else {
            tally.unbounded += 1;
            continue;
        };
        tally.bounds += 1;
        tally.by_depth += u64::from(deep.bound.is_none_or(|deep| bound < deep));
        let known = tally.methods.entry(callback.method).or_default();
        *known = (known.0 + 1, known.1.max(seen.as_secs_f64() / bound.as_secs_f64()));
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are asked for")]
fn no_bound_by_what_queues_hold_is_exceeded() {
    let (mut by_depth, mut lost, mut checked) = (0, 0, 0);
    for policy in POLICIES {
        for source in [Source::Circles, Source::Several, Source::Polled] {
            let mut tally = Tally::default();
            for seed in seeds::chosen(systems()) {
                check(source, &source.system(policy, seed), &mut tally);
            }
            eprintln!("{policy}, {source:?}: {tally:?}");
            by_depth += tally.by_depth;
            lost += tally.lost;
            checked += tally.systems;
        }
    }
    eprintln!("{checked} systems, {by_depth} bounds by the depth of queues, {lost} messages lost");
    assert!(seeds::chosen(systems()).count() < systems() as usize || by_depth > checked / 4 && lost > checked);
}

/// Two threads. `one` and `two` keep both busy in the first part of each 100 ms, and `mate` has the group of `last` in
/// the rest, but for a pause after each second: then `last` runs as often as its queue holds messages, and `after`,
/// which it sends to, gets as many at once.
#[test]
fn what_waited_comes_at_once_and_no_more_than_the_queue_holds() {
    let mut scenario = Scenario::default();
    scenario.duration = Duration::from_secs(10);
    scenario.cores = Some(2);
    let mut executor = Executor::new("x");
    "fixed-priority".clone_into(&mut executor.policy);
    executor.threads = 2;
    scenario.executors.push(executor);
    let plans = [("one", "a", 4, ms(45)), ("two", "b", 3, ms(45)), ("mate", "c", 2, ms(56)), ("last", "c", 1, ms(1))];
    for (name, group, priority, execution) in plans.into_iter().chain([("after", "d", 5, ms(4))]) {
        if scenario.groups.iter().all(|known| known.name != group) {
            scenario.groups.push(Group::new(group, "x"));
        }
        let mut callback = Callback::new(name, EntityKind::Subscription, group);
        callback.priority = Some(priority);
        callback.depth = 7;
        callback.execution = ExecutionTime::Fixed(execution);
        if name == "mate" {
            // It takes no time in one of ten runs.
            let mut times = vec![execution; 9];
            times.push(Duration::from_nanos(1));
            callback.execution = ExecutionTime::List(times);
        }
        scenario.callbacks.push(callback);
        if name != "after" {
            let pattern = Pattern::Periodic { period: ms(100), offset: Duration::ZERO, jitter: Duration::ZERO };
            scenario.releases.push(Release::new([name], pattern));
        }
    }
    scenario.callbacks[3].publishes.push("after".to_owned());
    let bound = |scenario: &Scenario| analysed(scenario).unwrap().callback("after").unwrap().bound.unwrap();
    let seen = |scenario: &Scenario| {
        let outcome = Simulation::new(scenario).unwrap().run().unwrap();
        let depth = scenario.callbacks[3].depth as usize;
        assert!(outcome.callbacks[3].dropped > 0 && outcome.callbacks[4].response.count >= 9 * depth);
        outcome.callbacks[4].response.max
    };
    // The messages come at least a millisecond apart, and wait for those before them.
    let (first, longest) = (bound(&scenario), seen(&scenario));
    assert!(longest >= ms(4 + 6 * 3) && longest <= first, "{longest:?}, bound {first:?}");
    scenario.callbacks[3].depth = 3;
    let (less, longest) = (bound(&scenario), seen(&scenario));
    assert!(longest >= ms(4 + 2 * 3) && longest <= less && less < first, "{longest:?}, bound {less:?}, was {first:?}");
}
