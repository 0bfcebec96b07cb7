//! Executors that share several cores: no simulation of a random system exceeds a bound.

use std::time::Duration;

use rospin_analysis::{Analysis, AnalysisError};
use rospin_core::EntityKind;
use rospin_scenario::draw::Stream;
use rospin_scenario::{Callback, Chain, ExecutionTime, Executor, Group, Scenario};
use rospin_sim::Simulation;

#[path = "../../sim/tests/common/seeds.rs"]
mod seeds;

const SYSTEMS: u64 = 2_000;

const fn us(count: u64) -> Duration {
    Duration::from_micros(count)
}

/// Three to five executors on two or three cores, some of which send messages to each other.
fn random(seed: u64) -> Scenario {
    let rng = &mut Stream::new(seed, "migrating");
    let mut scenario = Scenario::default();
    scenario.seed = seed;
    scenario.duration = us(40_000);
    let cores = 2 + rng.below(2);
    scenario.cores = Some(cores as u16);
    let count = cores + 1 + rng.below(2);
    for number in 0..count {
        let mut executor = Executor::new(format!("x{number}"));
        executor.os_priority = 10 + rng.below(count) as u8;
        ["fixed-priority", "fixed-priority", "edf", "fifo", "wait-set-e2"][rng.below(5) as usize]
            .clone_into(&mut executor.policy);
        scenario.groups.push(Group::new(format!("g{number}"), &executor.name));
        scenario.executors.push(executor);
        for part in 0..1 + rng.below(2) {
            let period = [1_000, 2_000, 3_000, 4_000, 6_000][rng.below(5) as usize];
            let name = format!("c{number}{part}");
            let mut callback = Callback::new(&name, EntityKind::Timer, format!("g{number}"));
            callback.priority = Some(rng.below(3) as u32);
            callback.execution = ExecutionTime::Fixed(us((period * (5 + rng.below(50)) * cores / 100 / count).max(2)));
            callback.depth = 1_000;
            let before = scenario.callbacks.last_mut().filter(|_| rng.below(4) == 0);
            if let Some(before) = before.filter(|before| before.kind == EntityKind::Timer) {
                callback.kind = EntityKind::Service;
                callback.execution = ExecutionTime::Fixed(us(20));
                before.publishes.push(name.clone());
                scenario.chains.push(Chain::new(format!("to {name}"), 1, [before.name.clone(), name]));
            } else {
                callback.period = Some(us(period));
                callback.offset = Some(us(if rng.below(2) == 0 { rng.below(3) } else { rng.below(period) }));
            }
            scenario.callbacks.push(callback);
        }
    }
    scenario.check().unwrap_or_else(|error| panic!("{seed}: {error}\n{}", scenario.to_toml()));
    scenario
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are asked for")]
fn no_simulation_exceeds_a_bound() {
    let (mut bounds, mut unbounded, mut ratios, mut largest) = (0, 0, 0.0, 0.0_f64);
    let seeds = seeds::chosen(SYSTEMS);
    let all = seeds.clone().count() as u64 == SYSTEMS;
    for seed in seeds {
        let scenario = random(seed);
        let report = match Analysis::new(&scenario).run() {
            Ok(report) => report,
            Err(AnalysisError::Overloaded { .. }) => continue,
            Err(error) => panic!("{error}\n{}", scenario.to_toml()),
        };
        let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
        let pairs = report
            .callbacks
            .iter()
            .map(|callback| callback.bound)
            .zip(outcome.callbacks.iter().map(|seen| &seen.response));
        let chains =
            report.chains.iter().map(|chain| chain.latency).zip(outcome.chains.iter().map(|seen| &seen.latency));
        for (bound, seen) in pairs.chain(chains) {
            let Some(bound) = bound else {
                unbounded += 1;
                continue;
            };
            assert!(seen.max <= bound, "{seed}: {:?}, bound {bound:?}\n{}", seen.max, scenario.to_toml());
            let ratio = seen.max.as_secs_f64() / bound.as_secs_f64();
            (bounds, ratios, largest) = (bounds + 1, ratios + ratio, largest.max(ratio));
        }
    }
    let mean = ratios / f64::from(bounds.max(1));
    eprintln!("{bounds} bounds, mean of longest seen / bound {mean:.3}, largest {largest:.3}; {unbounded} unbounded");
    if all {
        assert!(bounds > 5_000 && mean > 0.3 && largest > 0.999, "{bounds} {mean} {largest}");
    }
}

/// Two cores, three threads: two that are more urgent keep both cores for as long as both run.
#[test]
fn what_is_less_urgent_waits_while_all_cores_are_taken() {
    let mut scenario = Scenario::default();
    scenario.duration = us(100_000);
    scenario.cores = Some(2);
    for (number, cost) in [400, 300, 100].into_iter().enumerate() {
        let mut executor = Executor::new(format!("x{number}"));
        executor.os_priority = 50 - number as u8;
        scenario.groups.push(Group::new(format!("g{number}"), &executor.name));
        scenario.executors.push(executor);
        let mut callback = Callback::new(format!("c{number}"), EntityKind::Timer, format!("g{number}"));
        callback.period = Some(us(1_000));
        callback.execution = ExecutionTime::Fixed(us(cost));
        scenario.callbacks.push(callback);
    }
    let report = Analysis::new(&scenario).run().unwrap();
    let bounds: Vec<_> = report.callbacks.iter().map(|callback| callback.bound.unwrap()).collect();
    // Nobody but the two can keep them waiting, and not each other.
    assert_eq!(bounds[..2], [us(400), us(300)]);
    let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
    assert_eq!(outcome.callbacks[2].response.max, us(400), "from the end of the shorter one on");
    assert!(bounds[2] >= us(400) && bounds[2] <= us(450), "{:?}", bounds[2]);
    // With other cores for one of them, there is none.
    scenario.executors[2].cores = vec![1];
    let error = Analysis::new(&scenario).run().unwrap_err().to_string();
    assert!(error.contains("they move between these") && error.contains("all the same cores"), "{error}");
}
