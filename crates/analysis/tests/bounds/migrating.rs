//! Executors that share several cores: no simulation of a random system exceeds a bound.

use rospin_analysis::Analysis;
use rospin_core::EntityKind;
use rospin_scenario::draw::Stream;
use rospin_scenario::{Callback, Chain, ExecutionTime, Executor, Group, Scenario};
use rospin_sim::Simulation;

use crate::common::{bounded, seeds, us};

const SYSTEMS: u64 = 2_000;

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
    let seeds = seeds::chosen(SYSTEMS);
    let all = seeds.clone().count() as u64 == SYSTEMS;
    let compared = bounded::compare(seeds, random, |_, _, _| {});
    eprintln!("{compared:?}, mean {:.3}", compared.mean());
    if all {
        assert!(compared.bounds > 5_000 && compared.mean() > 0.3 && compared.largest > 0.999, "{compared:?}");
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
    // Only these two executors can delay them, and they do not delay each other.
    assert_eq!(bounds[..2], [us(400), us(300)]);
    let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
    assert_eq!(outcome.callbacks[2].response.max, us(400), "from the end of the shorter one on");
    assert!(bounds[2] >= us(400) && bounds[2] <= us(450), "{:?}", bounds[2]);
    // If one executor has another set of cores, there is no bound.
    scenario.executors[2].cores = vec![1];
    let error = Analysis::new(&scenario).run().unwrap_err().to_string();
    assert!(error.contains("they move between these") && error.contains("all the same cores"), "{error}");
}
