//! Large systems: margins of all callbacks, within the budget.

use std::time::Duration;

use rospin_analysis::Analysis;
use rospin_core::EntityKind;
use rospin_scenario::draw::Stream;
use rospin_scenario::{Callback, ExecutionTime, Executor, Group, Pattern, Release, Scenario};

use crate::common::seeds;
use crate::systems::shares;

/// Returns so many timers on one thread, at a load of 70 %, with periods from 1 ms to 1 s.
fn timers(policy: &str, count: usize) -> Scenario {
    let rng = &mut Stream::new(count as u64, "large");
    let mut scenario = Scenario::default();
    scenario.duration = Duration::from_secs(1);
    let mut executor = Executor::new("main");
    policy.clone_into(&mut executor.policy);
    scenario.executors.push(executor);
    scenario.groups.push(Group::new("node", "main"));
    for (number, share) in shares(rng, count, 0.7).into_iter().enumerate() {
        let mut timer = Callback::new(format!("t{number}"), EntityKind::Timer, "node");
        let period =
            Duration::from_nanos(1_000_000 * 10_u64.pow(rng.below(3) as u32) * (1 + rng.below(10)) + rng.below(1_000));
        timer.period = Some(period);
        timer.priority = Some((1_000_000_000 / period.as_micros()) as u32);
        // No callback blocks another one for longer than its deadline.
        timer.execution =
            ExecutionTime::Fixed(period.mul_f64(share).clamp(Duration::from_nanos(100), Duration::from_micros(500)));
        if policy != "edf" {
            timer.deadline = Some(Duration::from_secs(2));
        }
        scenario.callbacks.push(timer);
    }
    scenario
}

/// Returns how many margins are not known, and how many need not be the largest.
fn margins(policy: &str, count: usize, steps: Option<u64>) -> (usize, usize) {
    let scenario = timers(policy, count);
    let analysis = Analysis::new(&scenario);
    let analysis = steps.map_or(analysis.clone(), |steps| analysis.work(steps));
    let sensitivity = analysis.sensitivity().unwrap();
    assert_eq!(sensitivity.callbacks.len(), count);
    (sensitivity.unknown, sensitivity.callbacks.iter().filter(|margin| margin.early).count())
}

#[test]
fn all_margins_of_large_systems_are_known() {
    for (policy, count) in [("edf", 60), ("edf", 250), ("edf", 1_000), ("fifo", 60), ("fifo", 1_000)] {
        assert_eq!(margins(policy, count, None), (0, 0), "{policy} {count}");
    }
    for policy in ["fixed-priority", "wait-set-e1", "wait-set-e2"] {
        assert_eq!(margins(policy, 1_000, None).0, 0, "{policy}");
    }
}

/// Callbacks share what is known of the demand, so margins of a large system take few steps: of those that there are by
/// default, a twentieth is enough.
#[test]
fn margins_by_demand_take_few_steps() {
    for policy in ["edf", "fifo"] {
        assert_eq!(margins(policy, 1_000, Some(30_000_000)), (0, 0), "{policy}");
    }
}

#[test]
fn the_number_of_steps_can_be_set() {
    assert!(margins("edf", 60, Some(10_000)).0 > 0);
    let few = margins("fixed-priority", 20, Some(1_000_000));
    assert!(few.0 == 0 && few.1 > margins("fixed-priority", 20, Some(500_000_000)).1, "{few:?}");
}

/// Returns a system with a few callbacks on one thread: deadlines of all kinds or none, messages with jitter, chains of
/// one.
fn small(policy: &str, seed: u64) -> Scenario {
    let rng = &mut Stream::new(seed, policy);
    let mut scenario = timers(policy, 1 + rng.below(6) as usize);
    let load = 0.2 + rng.below(65) as f64 / 100.0;
    let shares = shares(rng, scenario.callbacks.len(), load);
    for (callback, share) in scenario.callbacks.iter_mut().zip(shares) {
        let period = Duration::from_micros(1_000 * (1 + rng.below(20)) + rng.below(10));
        callback.execution = ExecutionTime::Fixed(period.mul_f64(share).max(Duration::from_nanos(1)));
        let limits = [None, Some(period), Some(period * 3), Some(period.mul_f64(0.6 + share))];
        callback.deadline = limits[rng.below(4) as usize];
        callback.period = Some(period);
        if rng.below(3) == 0 {
            callback.kind = EntityKind::Service;
            callback.period = None;
            let pattern = Pattern::Periodic { period, offset: Duration::ZERO, jitter: period / 4 };
            scenario.releases.push(Release::new([callback.name.clone()], pattern));
        }
    }
    scenario
}

/// With a margin that was found early all deadlines hold, by the bounds.
#[test]
fn early_margins_are_enough() {
    let (mut compared, mut longer) = (0, 0);
    for policy in ["fixed-priority", "wait-set-e1", "wait-set-e2"] {
        for seed in seeds::chosen(200) {
            let scenario = small(policy, seed);
            // Enough for the margins that are sure, and for no others.
            let sensitivity = Analysis::new(&scenario).work(2_000).sensitivity().unwrap();
            let early = sensitivity.callbacks.iter().enumerate().filter(|(_, margin)| margin.early);
            for (place, margin) in early {
                let with = |execution: Option<Duration>, period: Option<Duration>| {
                    let mut changed = scenario.clone();
                    if let Some(execution) = execution {
                        changed.callbacks[place].execution = ExecutionTime::Fixed(execution);
                    }
                    set_period(&mut changed, place, period);
                    Analysis::new(&changed).run().is_ok_and(|report| report.holds())
                };
                let told = format!("{policy} {seed} {margin:?}\n{}", scenario.to_toml());
                assert!(margin.execution_max.is_none() || with(margin.execution_max, None), "{told}");
                assert!(margin.period_min.is_none() || with(None, margin.period_min), "{told}");
                compared += 1;
                longer += u32::from(margin.execution_max.is_some_and(|most| most > margin.execution));
            }
        }
    }
    assert!(compared > 100 && longer > 50, "{compared}, {longer}");
}

/// Changes the time between two releases of a callback.
fn set_period(scenario: &mut Scenario, place: usize, changed: Option<Duration>) {
    let Some(changed) = changed else { return };
    let callback = &mut scenario.callbacks[place];
    callback.period = callback.period.map(|_| changed);
    for release in scenario.releases.iter_mut().filter(|release| release.to.contains(&callback.name)) {
        if let Pattern::Periodic { period, .. } = &mut release.pattern {
            *period = changed;
        }
    }
}

/// With its margin a callback lets all deadlines hold, by the bounds; with a nanosecond more it does not, unless the
/// thread has hardly any time left or the margin is as large as margins get.
#[test]
fn margins_by_demand_are_those_of_the_bounds() {
    let mut compared = 0;
    for policy in ["edf", "fifo"] {
        for seed in seeds::chosen(400) {
            let scenario = small(policy, seed);
            if !Analysis::new(&scenario).run().unwrap().holds() {
                continue;
            }
            let sensitivity = Analysis::new(&scenario).sensitivity().unwrap();
            for (place, margin) in sensitivity.callbacks.iter().enumerate() {
                let told = format!("{policy} {seed} {margin:?}\n{}", scenario.to_toml());
                // The load with other times, and if all deadlines hold then.
                let with = |execution: Duration, period: Option<Duration>| {
                    let mut changed = scenario.clone();
                    changed.callbacks[place].execution = ExecutionTime::Fixed(execution);
                    set_period(&mut changed, place, period);
                    let analysis = Analysis::new(&changed);
                    (analysis.utilization().unwrap(), analysis.run().is_ok_and(|report| report.holds()))
                };
                let (most, now) = (margin.execution_max.unwrap(), margin.execution);
                assert!(with(most, margin.period).1, "{told}");
                let more = with(most + (most - now) / 500 + Duration::from_nanos(1), margin.period);
                assert!(most == 64 * now || more.0 > 0.99 || !more.1, "{told}");
                let (Some(period), Some(least)) = (margin.period, margin.period_min) else { continue };
                assert!(with(now, Some(least)).1, "{told}");
                let denser = with(now, Some(least - (least / 500).max(Duration::from_nanos(1))));
                let is_least = least.as_nanos() == period.as_nanos().div_ceil(64);
                assert!(is_least || denser.0 > 0.99 || !denser.1, "{told}");
                compared += 1;
            }
        }
    }
    assert!(seeds::chosen(400).count() < 400 || compared > 500, "{compared}");
}
