//! Locks that executors on one core share: blocking by critical sections of less urgent ones, one of each executor.

use std::time::Duration;

use rospin_analysis::Analysis;
use rospin_core::EntityKind;
use rospin_scenario::draw::Stream;
use rospin_scenario::{Callback, ExecutionTime, Executor, Group, Scenario, Section};
use rospin_sim::Simulation;

use crate::common::{bounded, seeds, us};

const SYSTEMS: u64 = 3_000;

/// Executors with one or two callbacks each, most of which take one of two locks.
fn random(seed: u64) -> Scenario {
    let rng = &mut Stream::new(seed, "locks");
    let mut scenario = Scenario::default();
    scenario.seed = seed;
    scenario.duration = us(40_000);
    scenario.cores = Some(1);
    scenario.locks = vec!["a".to_owned(), "b".to_owned()];
    let count = 2 + rng.below(3);
    for number in 0..count {
        let mut executor = Executor::new(format!("x{number}"));
        executor.os_priority = 10 + number as u8;
        if rng.below(6) == 0 {
            executor.os_priority = 10;
        }
        ["fixed-priority", "fixed-priority", "edf", "fifo", "wait-set-e2"][rng.below(5) as usize]
            .clone_into(&mut executor.policy);
        scenario.groups.push(Group::new(format!("g{number}"), &executor.name));
        scenario.executors.push(executor);
        for part in 0..1 + rng.below(2) {
            let period = [1_000, 2_000, 3_000, 4_000, 6_000, 12_000][rng.below(6) as usize];
            let cost = (period * (10 + rng.below(40)) / 100 / count).max(3);
            let mut callback = Callback::new(format!("c{number}{part}"), EntityKind::Timer, format!("g{number}"));
            callback.priority = Some(rng.below(3) as u32);
            callback.period = Some(us(period));
            // The less urgent callback has often just taken a lock when the others are released.
            callback.offset = Some(us(if rng.below(2) == 0 { 5 * number } else { rng.below(period) }));
            callback.execution = ExecutionTime::Fixed(us(cost));
            let after = if rng.below(2) == 0 { 0 } else { rng.below(cost / 2) };
            let hold = 1 + rng.below(cost - after);
            if rng.below(4) > 0 {
                let lock = scenario.locks[rng.below(2) as usize].clone();
                callback.locks.push(Section { lock, after: us(after), hold: us(hold) });
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
    let mut blocked = 0;
    let compared = bounded::compare(seeds, random, |scenario, _, outcome| {
        let mut free = scenario.clone();
        free.callbacks.iter_mut().for_each(|callback| callback.locks.clear());
        let free = Analysis::new(&free).run().unwrap();
        let pairs = free.callbacks.iter().zip(&outcome.callbacks);
        // Counts responses that are longer than is possible without locks.
        blocked += pairs.filter(|(free, seen)| free.bound.is_some_and(|free| seen.response.max > free)).count();
    });
    eprintln!("{compared:?}, mean {:.3}, {blocked} beyond without locks", compared.mean());
    if all {
        let (bounds, mean, largest) = (compared.bounds, compared.mean(), compared.largest);
        assert!(bounds > 5_000 && mean > 0.5 && largest > 0.999 && blocked > 100, "{compared:?} {blocked}");
    }
}

/// An urgent callback waits for one section of each less urgent executor, whatever else these do: 3 and 2, not 3 alone.
const TWO: &str = r#"
    duration = "1 s"
    cores = 1
    locks = ["a", "b"]
    [[executor]]
    name = "low"
    os_priority = 1
    [[executor]]
    name = "middle"
    os_priority = 2
    [[executor]]
    name = "high"
    os_priority = 3
    [[group]]
    name = "l"
    executor = "low"
    [[group]]
    name = "m"
    executor = "middle"
    [[group]]
    name = "h"
    executor = "high"
    [[callback]]
    name = "low"
    kind = "timer"
    group = "l"
    offset = "0 s"
    period = "100 ms"
    execution = "9 ms"
    locks = [{ lock = "a", hold = "3 ms" }]
    [[callback]]
    name = "middle"
    kind = "timer"
    group = "m"
    offset = "1 us"
    period = "100 ms"
    execution = "8 ms"
    locks = [{ lock = "b", hold = "2 ms" }]
    [[callback]]
    name = "high"
    kind = "timer"
    group = "h"
    offset = "2 us"
    period = "100 ms"
    execution = "4 ms"
    locks = [{ lock = "a", hold = "1 ms" }, { lock = "b", after = "2 ms", hold = "1 ms" }]
"#;

#[test]
fn each_less_urgent_executor_blocks_once() {
    let scenario = Scenario::parse(TWO).unwrap();
    let report = Analysis::new(&scenario).run().unwrap();
    let high = report.callback("high").unwrap();
    assert_eq!(high.bound, Some(Duration::from_millis(9)), "4 of its own, 3 and 2");
    assert!(high.method.contains("priority inheritance"), "{}", high.method);
    // `low` blocks `middle` although `middle` does not take that lock, because `high` may wait for it.
    assert_eq!(report.callback("middle").unwrap().bound, Some(Duration::from_millis(8 + 4 + 3)));
    let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
    assert_eq!(outcome.callbacks[2].response.max, us(4_000 + 2_999 + 1_999));
}

/// The low one hands the lock to the middle one, which waited for it, so the high one waits for both, although there is
/// one lock only.
#[test]
fn a_lock_is_handed_over_to_who_waited() {
    let scenario = Scenario::parse(&TWO.replace("lock = \"b\"", "lock = \"a\"")).unwrap();
    let report = Analysis::new(&scenario).run().unwrap();
    assert_eq!(report.callback("high").unwrap().bound, Some(Duration::from_millis(4 + 3 + 2)));
    let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
    assert_eq!(outcome.callbacks[2].response.max, us(4_000 + 2_998 + 2_000));
}

#[test]
fn what_has_no_bound_is_refused() {
    let apart =
        TWO.replace("cores = 1\n", "cores = 2\n").replace("os_priority = 3", "os_priority = 3\n    cores = [1]");
    let apart = apart.replace("os_priority = 2", "os_priority = 2\n    cores = [0]");
    let apart = apart.replace("os_priority = 1\n", "os_priority = 1\n    cores = [0]\n");
    let error = Analysis::new(&Scenario::parse(&apart).unwrap()).run().unwrap_err().to_string();
    assert!(error.contains("shares lock `a` with `low`, which runs on another core; move both to one core"), "{error}");
    let awaits = format!(
        "{TWO}\n    [[callback]]\n    name = \"late\"\n    kind = \"timer\"\n    group = \"l\"\n    period = \"1 s\"\n    execution = \"1 ms\"\n    awaits = [{{ wait = \"1 ms\" }}]\n"
    );
    let error = Analysis::new(&Scenario::parse(&awaits).unwrap()).run().unwrap_err().to_string();
    assert!(error.contains("`late` cannot be analysed: it awaits, on a core where lock `a` is shared"), "{error}");
}
