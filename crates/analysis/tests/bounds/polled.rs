//! Bounds by the ready sets of an emulated wait set on several threads, against simulations that are out for trouble:
//! few groups at high loads, times that are multiples of a millisecond, so that much happens at once or a nanosecond
//! apart, and execution times that change between nothing and the longest.

use std::time::Duration;

use rospin_analysis::{Analysis, AnalysisError};
use rospin_core::{EntityKind, GroupKind};
use rospin_scenario::draw::Stream;
use rospin_scenario::{Await, Burst, Callback, ExecutionTime, Executor, Group, Pattern, Release, Scenario};
use rospin_sim::Simulation;

use crate::common::{self, ms, pick, seeds};
use crate::starvation;

const METHOD: &str = "ready sets of the wait set, by the activations that come before in them";
/// Simulations of each system.
const RUNS: u64 = 12;

/// Returns the number of systems of each wait set.
fn systems() -> u64 {
    common::systems(60, 3_000)
}

pub(crate) fn random(policy: &str, seed: u64) -> Scenario {
    let rng = &mut Stream::new(seed, &format!("polled {policy}"));
    let mut scenario = Scenario::default();
    scenario.name = format!("polled {policy} {seed}");
    scenario.duration = ms(300);
    let mut executor = Executor::new("x");
    policy.clone_into(&mut executor.policy);
    executor.threads = 2 + rng.below(2) as u16;
    scenario.cores = Some(executor.threads);
    scenario.executors.push(executor);
    for number in 0..1 + u64::from(scenario.executors[0].threads) + rng.below(2) {
        let mut group = Group::new(format!("node{number}"), "x");
        if rng.below(5) == 0 {
            group.kind = GroupKind::Reentrant;
        }
        scenario.groups.push(group);
    }
    let waits = rng.below(5) == 0;
    for number in 0..4 + rng.below(5) {
        let kinds = [EntityKind::Timer, EntityKind::Subscription, EntityKind::Waitable];
        let from = (number > 0 && rng.below(3) == 0).then(|| rng.below(number) as usize);
        let kind = if from.is_some() { EntityKind::Subscription } else { pick(rng, &kinds) };
        let mut callback = Callback::new(format!("c{number}"), kind, pick(rng, &scenario.groups).name);
        callback.depth = 1_000;
        let longest = ms(1 + rng.below(6));
        callback.execution = ExecutionTime::Uniform(Duration::ZERO, longest);
        if waits && rng.below(3) == 0 {
            let wait = ExecutionTime::Uniform(Duration::ZERO, ms(rng.below(4)));
            callback.awaits.push(Await::new(wait, ExecutionTime::Uniform(Duration::ZERO, ms(1))));
            callback.releases_group_at_await = rng.below(2) == 0;
        }
        let period = ms(4 + rng.below(30));
        match from {
            Some(from) => scenario.callbacks[from].publishes.push(callback.name.clone()),
            None if kind == EntityKind::Timer => callback.period = Some(period),
            None => {
                let pattern = Pattern::Periodic { period, offset: Duration::ZERO, jitter: Duration::ZERO };
                scenario.releases.push(Release::new([callback.name.clone()], pattern));
            }
        }
        scenario.callbacks.push(callback);
    }
    scenario
}

pub(crate) fn rephase(scenario: &mut Scenario, seed: u64) {
    let rng = &mut Stream::new(seed, &scenario.name);
    let shift = |rng: &mut Stream| ms(rng.below(20)) + Duration::from_nanos(rng.below(3));
    for release in &mut scenario.releases {
        if let Pattern::Periodic { offset, .. } = &mut release.pattern {
            *offset = shift(rng);
        }
    }
    let changes = rng.below(2) == 0;
    for callback in &mut scenario.callbacks {
        callback.offset = callback.period.map(|_| shift(rng));
        let parts = callback.awaits.iter_mut().flat_map(|part| [&mut part.wait, &mut part.run]);
        for time in std::iter::once(&mut callback.execution).chain(parts) {
            let longest = time.longest();
            let mut times = vec![longest];
            for _ in 0..rng.below(6) {
                let short = Duration::from_nanos(1).min(longest);
                times.push([longest, Duration::ZERO, longest / 2, short][rng.below(4) as usize]);
            }
            *time = if changes { ExecutionTime::List(times) } else { ExecutionTime::Fixed(longest) };
        }
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are asked for")]
fn no_bound_by_ready_sets_is_exceeded() {
    for policy in ["wait-set-e1", "wait-set-e2"] {
        let (mut analysed, mut bounds, mut by_sets, mut largest) = (0, 0, 0, 0.0_f64);
        for seed in seeds::chosen(systems()) {
            let scenario = random(policy, seed);
            let report = match Analysis::new(&scenario).run() {
                Ok(report) => report,
                Err(AnalysisError::Overloaded { .. } | AnalysisError::GroupOverloaded { .. }) => continue,
                Err(error) => panic!("{error}\n{}", scenario.to_toml()),
            };
            analysed += 1;
            let mut seen = vec![Duration::ZERO; report.callbacks.len()];
            for run in 0..RUNS {
                let mut simulated = scenario.clone();
                rephase(&mut simulated, run);
                let outcome = Simulation::new(&simulated).unwrap().run().unwrap();
                for (place, callback) in report.callbacks.iter().enumerate() {
                    let longest = outcome.callbacks[place].response.max.max(outcome.callbacks[place].waited);
                    seen[place] = seen[place].max(longest);
                    let is_kept = callback.bound.is_none_or(|bound| longest <= bound);
                    assert!(is_kept, "{longest:?}: {callback:?}\n{}\n{}", scenario.name, simulated.to_toml());
                }
            }
            for (callback, seen) in report.callbacks.iter().zip(seen) {
                let Some(bound) = callback.bound else { continue };
                bounds += 1;
                if callback.method == METHOD {
                    by_sets += 1;
                    largest = largest.max(seen.as_secs_f64() / bound.as_secs_f64());
                }
            }
        }
        eprintln!(
            "{policy}: {analysed} systems, {bounds} bounds, {by_sets} of them by ready sets, of which up to {largest:.3} was seen"
        );
        assert!(by_sets > analysed / 4 || analysed < 20, "{by_sets}");
    }
}

/// In a wait set, `last` starves behind `mate`, which comes before it. If it comes first, it has a bound, although the
/// others have as much to do.
#[test]
fn the_first_of_its_group_has_a_bound() {
    for policy in ["wait-set-e1", "wait-set-e2"] {
        let mut scenario = starvation::starving(policy);
        scenario.callbacks.swap(2, 3);
        let release = scenario.releases.iter_mut().find(|release| release.to == ["last"]).unwrap();
        release.pattern = Pattern::Periodic { period: ms(300), offset: Duration::ZERO, jitter: Duration::ZERO };
        let report = Analysis::new(&scenario).run().unwrap();
        let last = report.callback("last").unwrap();
        let bound = last.bound.unwrap();
        assert_eq!(last.method, METHOD, "{policy}");
        let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
        let seen = &outcome.callbacks[2].response;
        assert!(seen.count > 90 && seen.max <= bound, "{policy}: {seen:?}, bound {bound:?}");
        assert!(bound <= ms(300), "{policy}: {bound:?}");
    }
}

/// Timers outside the ready set go first, by registration, so they have bounds where others starve.
#[test]
fn timers_outside_the_ready_set_are_served_by_registration() {
    let mut scenario = starvation::starving("wait-set-e1");
    scenario.releases.retain(|release| release.to != ["last"]);
    let last = scenario.callbacks.iter_mut().find(|callback| callback.name == "last").unwrap();
    last.kind = EntityKind::Timer;
    last.period = Some(ms(100));
    let bound = Analysis::new(&scenario).run().unwrap().callback("last").unwrap().bound.unwrap();
    let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
    let seen = &outcome.callbacks[3].response;
    assert!(seen.count > 290 && seen.max <= bound, "{seen:?}, bound {bound:?}");
}

/// As many ready sets pass as the theorem counts. `first` and `second` have a thread each, five times: what is left of
/// the set when `last` is released, the set that is there when `after` ends, the next one up to `mate`, the one that is
/// there when `mate` ends, and the next one up to `last`. One of them ends while `after` and `mate` run, so its thread
/// polls while the group is held, and both end at once when the group is free.
#[test]
fn as_many_ready_sets_pass_as_are_counted() {
    const NANOSECOND: Duration = Duration::from_nanos(1);
    for policy in ["wait-set-e1", "wait-set-e2"] {
        let mut scenario = Scenario::default();
        scenario.duration = ms(200);
        scenario.cores = Some(2);
        let mut executor = Executor::new("x");
        policy.clone_into(&mut executor.policy);
        executor.threads = 2;
        scenario.executors.push(executor);
        let plans = [
            ("first", "a", ms(10) + NANOSECOND, 5, Duration::ZERO),
            ("second", "b", ms(10), 5, Duration::ZERO),
            ("mate", "c", 2 * NANOSECOND, 1, NANOSECOND),
            ("last", "c", NANOSECOND, 1, NANOSECOND),
            ("after", "c", 2 * NANOSECOND, 1, Duration::ZERO),
        ];
        for (name, group, execution, count, at) in plans {
            if scenario.groups.iter().all(|known| known.name != group) {
                scenario.groups.push(Group::new(group, "x"));
            }
            let mut callback = Callback::new(name, EntityKind::Waitable, group);
            callback.execution = ExecutionTime::Fixed(execution);
            scenario.callbacks.push(callback);
            let mut release = Release::new([name], Pattern::List(vec![at]));
            release.burst = Some(Burst { count, spacing: Duration::ZERO });
            scenario.releases.push(release);
        }
        let bound = Analysis::new(&scenario).run().unwrap().callback("last").unwrap().bound.unwrap();
        let seen = Simulation::new(&scenario).unwrap().run().unwrap().callbacks[3].response.max;
        assert!(seen >= ms(50) && seen <= bound, "{policy}: {seen:?}, bound {bound:?}");
        assert!(bound < ms(50) + 10 * NANOSECOND, "{policy}: {bound:?}");
    }
}
