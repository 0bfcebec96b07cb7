//! Random systems for the benchmark and for the test that each of them has an answer.

#![allow(dead_code, reason = "the benchmark and the test need different ones")]

use std::time::Duration;

use rospin_core::{EntityKind, GroupKind};
use rospin_scenario::draw::Stream;
use rospin_scenario::{Await, Callback, Chain, ExecutionTime, Executor, Group, Pattern, Release, Scenario};

const POLICIES: [&str; 5] = ["fixed-priority", "edf", "fifo", "wait-set-e1", "wait-set-e2"];

/// Returns the system that belongs to `seed`: a policy after the other, so that all are met equally often.
pub(crate) fn random(seed: u64) -> Scenario {
    let rng = &mut Stream::new(seed, "always");
    let threads = 1 + rng.below(4) as u16;
    let count = 4 + rng.below(57);
    let load = 0.3 + rng.below(691) as f64 / 1000.0;
    sized(seed, threads, count as usize, load)
}

/// Returns the system that belongs to `seed` with groups as rclcpp has them by default: all callbacks of a node are in
/// one mutually exclusive group. An executor has one node for each three callbacks, and two at least. No group asks for
/// more than 90 % of a thread. `None` if no executor has several threads.
pub(crate) fn with_default_groups(seed: u64) -> Option<Scenario> {
    let mut scenario = random(seed);
    if scenario.executors.iter().all(|executor| executor.threads == 1) {
        return None;
    }
    let rng = &mut Stream::new(seed, "nodes");
    let nodes = 2.max(scenario.callbacks.len() as u64 / 3);
    let executor = scenario.executors[0].name.clone();
    scenario.groups = (0..nodes).map(|number| Group::new(format!("node{number}"), &executor)).collect();
    for callback in &mut scenario.callbacks {
        callback.group = format!("node{}", rng.below(nodes));
    }
    lighten(&mut scenario, 0.9);
    scenario.check().unwrap_or_else(|error| panic!("{seed}: {error}"));
    Some(scenario)
}

/// Returns a random system with so many threads and callbacks, at this load of each thread.
pub(crate) fn sized(seed: u64, threads: u16, count: usize, load: f64) -> Scenario {
    let rng = &mut Stream::new(seed, "sized");
    let mut scenario = Scenario::default();
    scenario.name = format!("random system {seed}");
    scenario.seed = seed;
    scenario.duration = Duration::from_secs(1);
    scenario.cores = Some(threads);
    // Either one executor has all threads, or each thread has an executor of its own.
    let together = rng.below(2) == 0;
    let executors = if together { 1 } else { threads };
    for number in 0..executors {
        let mut executor = Executor::new(format!("x{number}"));
        POLICIES[(seed + u64::from(number)) as usize % POLICIES.len()].clone_into(&mut executor.policy);
        executor.threads = if together { threads } else { 1 };
        let shares_core = !together && rng.below(4) == 0;
        if !together {
            executor.cores = vec![if shares_core { 0 } else { number }];
        }
        executor.os_priority = 10 + rng.below(3) as u8;
        scenario.executors.push(executor);
        let kinds = [GroupKind::MutuallyExclusive, GroupKind::Reentrant];
        for part in 0..2 {
            let mut group = Group::new(format!("g{number}.{part}"), format!("x{number}"));
            group.kind = kinds[rng.below(2) as usize];
            scenario.groups.push(group);
        }
    }
    // The periods of a system are within some orders of magnitude, anywhere from nanoseconds to seconds.
    let waits = rng.below(8) == 0;
    let (lowest, orders) = (2 + rng.below(6) as u32, 1 + rng.below(4));
    let shares = shares(rng, count, load * f64::from(threads));
    for (number, share) in shares.into_iter().enumerate() {
        callback(rng, &mut scenario, number, share.min(0.95), (lowest, orders), waits);
    }
    link(rng, &mut scenario);
    lighten(&mut scenario, load);
    scenario.check().unwrap_or_else(|error| panic!("{seed}: {error}"));
    scenario
}

/// Returns random shares of a utilization that add up to `total` (UUniFast, Bini and Buttazzo 2005).
pub(crate) fn shares(rng: &mut Stream, count: usize, total: f64) -> Vec<f64> {
    let mut left = total;
    let mut shares = Vec::new();
    for number in 1..count {
        let unit = (rng.below(1 << 30) as f64 + 1.0) / (1_u64 << 30) as f64;
        let next = left * unit.powf(1.0 / (count - number) as f64);
        shares.push(left - next);
        left = next;
    }
    shares.push(left);
    shares
}

fn callback(
    rng: &mut Stream,
    scenario: &mut Scenario,
    number: usize,
    share: f64,
    (lowest, orders): (u32, u64),
    waits: bool,
) {
    let group = scenario.groups[rng.below(scenario.groups.len() as u64) as usize].name.clone();
    let is_timer = rng.below(2) == 0;
    let kind = if is_timer { EntityKind::Timer } else { EntityKind::Service };
    let mut callback = Callback::new(format!("c{number}"), kind, group);
    callback.priority = Some(rng.below(100) as u32);
    callback.depth = 1_000;
    let scale = 10_u64.pow(lowest + rng.below(orders) as u32).min(1_000_000_000);
    let period = Duration::from_nanos(scale * (1 + rng.below(9)) + rng.below(scale / 10 + 1));
    callback.execution = ExecutionTime::Fixed(period.mul_f64(share).max(Duration::from_nanos(1)));
    callback.deadline = (rng.below(2) == 0).then(|| period.mul_f64(0.5 + rng.below(100) as f64 / 50.0));
    if waits && rng.below(10) == 0 {
        let ExecutionTime::Fixed(time) = callback.execution else { return };
        callback.execution = ExecutionTime::Fixed(time / 2);
        let wait = ExecutionTime::Fixed(period / 20);
        callback.awaits.push(Await::new(wait, ExecutionTime::Fixed(time - time / 2)));
    }
    if is_timer {
        callback.period = Some(period);
    } else {
        let jitter = if rng.below(3) == 0 { period / 3 } else { Duration::ZERO };
        let pattern = Pattern::Periodic { period, offset: Duration::ZERO, jitter };
        scenario.releases.push(Release::new([callback.name.clone()], pattern));
    }
    scenario.callbacks.push(callback);
}

/// Lets some callbacks hand on to later ones in place of their own releases, at their own rate, and declares chains.
fn link(rng: &mut Stream, scenario: &mut Scenario) {
    if rng.below(2) == 0 {
        return;
    }
    for to in 1..scenario.callbacks.len() {
        let from = to - 1;
        if scenario.callbacks[to].kind == EntityKind::Timer || rng.below(2) == 0 {
            continue;
        }
        let (from_name, to_name) = (scenario.callbacks[from].name.clone(), scenario.callbacks[to].name.clone());
        scenario.releases.retain(|release| release.to != [to_name.clone()]);
        scenario.callbacks[from].publishes.push(to_name.clone());
        match scenario.chains.iter_mut().find(|chain| chain.callbacks.last() == Some(&from_name)) {
            Some(chain) => chain.callbacks.push(to_name),
            None => scenario.chains.push(Chain::new(format!("chain {from}"), 1, [from_name, to_name])),
        }
    }
}

/// Makes everything shorter until no core has more than `load` to do, since links change rates and executors share
/// cores.
fn lighten(scenario: &mut Scenario, load: f64) {
    use rospin_analysis::{Analysis, AnalysisError};
    for _ in 0..64 {
        let factor = match Analysis::new(scenario).utilization() {
            Ok(most) if most <= load + 1e-3 => return,
            Ok(most) => (load / most).min(0.999),
            Err(AnalysisError::NotAnalyzable { .. }) => return,
            Err(error) => panic!("{error}"),
        };
        for callback in &mut scenario.callbacks {
            let runs =
                std::iter::once(&mut callback.execution).chain(callback.awaits.iter_mut().map(|part| &mut part.run));
            for run in runs {
                if let ExecutionTime::Fixed(time) = run {
                    *time = time.mul_f64(factor).max(Duration::from_nanos(1));
                }
            }
        }
        // The execution time of a callback that takes 1 ns cannot be reduced, so its period is doubled.
        let stuck =
            scenario.callbacks.iter().filter(|plan| plan.execution == ExecutionTime::Fixed(Duration::from_nanos(1)));
        if stuck.count() > 0 {
            scenario.callbacks.iter_mut().for_each(|plan| plan.period = plan.period.map(|period| period * 2));
            for release in &mut scenario.releases {
                if let Pattern::Periodic { period, .. } = &mut release.pattern {
                    *period *= 2;
                }
            }
        }
    }
}

/// Returns the system of four callbacks and a chain that once took minutes.
pub(crate) fn four_at_43_percent() -> Scenario {
    let mut scenario = Scenario::default();
    scenario.duration = Duration::from_secs(1);
    scenario.executors.push(Executor::new("main"));
    "fixed-priority".clone_into(&mut scenario.executors[0].policy);
    scenario.groups.push(Group::new("node", "main"));
    let plans = [(3191, 60_000, 5), (3282, 0, 3), (462, 12_000, 1), (3071, 20_000, 2), (1010, 8_000, 4)];
    let us = Duration::from_micros;
    for (number, (execution, period, priority)) in plans.into_iter().enumerate() {
        let mut callback = Callback::new(format!("c{number}"), EntityKind::Service, "node");
        callback.priority = Some(priority);
        callback.execution = ExecutionTime::Fixed(us(execution));
        if period > 0 {
            let pattern = Pattern::Periodic { period: us(period), offset: Duration::ZERO, jitter: Duration::ZERO };
            scenario.releases.push(Release::new([callback.name.clone()], pattern));
        }
        scenario.callbacks.push(callback);
    }
    scenario.callbacks[0].publishes.push("c1".to_owned());
    scenario
}
