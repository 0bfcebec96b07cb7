//! Assignments of priorities and cores, and margins of deadlines.

use std::time::Duration;

use rospin_analysis::{Analysis, AnalysisError, Assignment, Report};
use rospin_core::EntityKind;
use rospin_scenario::{Callback, Chain, ExecutionTime, Executor, Group, Scenario};

use crate::common::ms;

/// An executor, its OS priority, and its timers: name, priority, period, deadline, execution time in ms.
type Plan<'a> = (&'a str, u8, &'a [(&'a str, u32, u64, u64, u64)]);

fn scenario(cores: u16, plan: &[Plan<'_>]) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.duration = ms(1000);
    scenario.cores = Some(cores);
    for (name, os_priority, timers) in plan {
        let mut executor = Executor::new(*name);
        executor.os_priority = *os_priority;
        executor.cores = vec![0];
        scenario.executors.push(executor);
        scenario.groups.push(Group::new(*name, *name));
        for (timer, priority, period, deadline, execution) in *timers {
            let mut callback = Callback::new(*timer, EntityKind::Timer, *name);
            callback.priority = Some(*priority);
            callback.period = Some(ms(*period));
            callback.deadline = Some(ms(*deadline));
            callback.execution = ExecutionTime::Fixed(ms(*execution));
            scenario.callbacks.push(callback);
        }
    }
    scenario
}

fn holds(scenario: &Scenario) -> bool {
    Analysis::new(scenario).run().is_ok_and(|report| report.holds())
}

/// Returns a system with the opposite of rate monotonic: the slow callback is more urgent.
fn reversed() -> Scenario {
    scenario(1, &[("x", 9, &[("slow", 9, 100, 100, 30)]), ("y", 1, &[("fast", 1, 10, 10, 2), ("mid", 2, 50, 50, 5)])])
}

#[test]
fn monotonic_orders_and_audsleys_mend_a_wrong_one() {
    let wrong = reversed();
    assert!(!holds(&wrong));
    let analysis = Analysis::new(&wrong);
    let found = [
        Assignment::rate_monotonic(&analysis).unwrap(),
        Assignment::deadline_monotonic(&analysis).unwrap(),
        Assignment::audsley(&analysis).unwrap(),
    ];
    for assignment in found {
        assert!(assignment.executors["y"].priority > assignment.executors["x"].priority, "{assignment:?}");
        assert!(holds(&assignment.apply(&wrong)), "{assignment:?}");
    }
}

/// Deadlines shorter than periods: by rate the wrong one is first.
#[test]
fn deadlines_and_not_rates_decide() {
    let system = scenario(1, &[("x", 1, &[("rare", 1, 100, 4, 2)]), ("y", 2, &[("often", 1, 20, 20, 6)])]);
    let analysis = Analysis::new(&system);
    assert!(!holds(&Assignment::rate_monotonic(&analysis).unwrap().apply(&system)));
    assert!(holds(&Assignment::deadline_monotonic(&analysis).unwrap().apply(&system)));
    assert!(holds(&Assignment::audsley(&analysis).unwrap().apply(&system)));
}

/// Audsley finds an order exactly if one of all orders holds.
#[test]
fn audsley_finds_what_trying_all_orders_finds() {
    let mut feasible = 0;
    for seed in 0..300 {
        let rng = &mut rospin_scenario::draw::Stream::new(seed, "audsley");
        let timers: Vec<_> = ["a", "b", "c", "d"]
            .map(|name| {
                let period = 10 + rng.below(60);
                (name, 0, period, period / 2 + rng.below(period / 2), 1 + rng.below(period / 5))
            })
            .to_vec();
        let system = scenario(1, &[("x", 1, &timers)]);
        let Ok(_) = Analysis::new(&system).run() else { continue };
        let any = permutations(4).into_iter().any(|order| {
            let mut tried = system.clone();
            for (callback, place) in tried.callbacks.iter_mut().zip(order) {
                callback.priority = Some(place);
            }
            holds(&tried)
        });
        match Assignment::audsley(&Analysis::new(&system)) {
            Ok(found) => assert!(holds(&found.apply(&system)), "seed {seed}"),
            Err(AnalysisError::NoFeasiblePriorities { .. }) => assert!(!any, "seed {seed}: there is an order"),
            Err(error) => panic!("seed {seed}: {error}"),
        }
        feasible += usize::from(any);
    }
    assert!((30..270).contains(&feasible), "{feasible} of 300 tell nothing");
}

fn permutations(count: u32) -> Vec<Vec<u32>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(count - 1);
    let with = |order: &Vec<u32>| {
        (0..count as usize).map(|place| [&order[..place], &[count], &order[place..]].concat()).collect::<Vec<_>>()
    };
    shorter.iter().flat_map(with).collect()
}

#[test]
fn picas_keeps_a_chain_on_a_core() {
    let mut system = scenario(
        2,
        &[("x", 1, &[("a", 0, 10, 10, 3)]), ("y", 1, &[("b", 0, 10, 10, 5)]), ("z", 1, &[("c", 0, 10, 10, 1)])],
    );
    system.callbacks[2] = Callback::new("c", EntityKind::Service, "z");
    system.callbacks[2].execution = ExecutionTime::Fixed(ms(1));
    system.callbacks[0].publishes = vec!["c".into()];
    system.chains.push(Chain::new("critical", 5, ["a", "c"]));
    let assignment = Assignment::picas(&Analysis::new(&system)).unwrap();
    assert_eq!(assignment.executors["x"].cores, assignment.executors["z"].cores);
    assert_ne!(assignment.executors["x"].cores, assignment.executors["y"].cores);
    let os = |name: &str| assignment.executors[name].priority;
    assert!(os("z") > os("x") && os("x") > os("y"), "{assignment:?}");
    assert!(holds(&assignment.apply(&system)));
}

#[test]
fn sensitivity_finds_the_edge() {
    // The executors preempt: `slow` ends after its own 30 ms and the callbacks that interrupt it.
    let system = Assignment::rate_monotonic(&Analysis::new(&reversed())).unwrap().apply(&reversed());
    let sensitivity = Analysis::new(&system).sensitivity().unwrap();
    assert!(sensitivity.advice().is_empty(), "all deadlines hold");
    for (number, margin) in sensitivity.callbacks.iter().enumerate() {
        let max = margin.execution_max.unwrap();
        assert!(max >= margin.execution);
        let with = |execution: Duration| {
            let mut changed = system.clone();
            changed.callbacks[number].execution = ExecutionTime::Fixed(execution);
            holds(&changed)
        };
        assert!(with(max.mul_f64(0.999)), "{margin:?}");
        assert!(!with(max.mul_f64(1.001)), "{margin:?}");
        let min = margin.period_min.unwrap();
        let every = |period: Duration| {
            let mut changed = system.clone();
            changed.callbacks[number].period = Some(period);
            holds(&changed)
        };
        assert!(every(min.mul_f64(1.001)) && !every(min.mul_f64(0.99)), "{margin:?}");
    }
}

#[test]
fn advice_names_what_to_shorten_and_what_to_move() {
    let system = scenario(2, &[("x", 9, &[("slow", 9, 100, 100, 30)]), ("y", 1, &[("fast", 1, 10, 10, 2)])]);
    let advice = Analysis::new(&system).sensitivity().unwrap().advice();
    assert_eq!(advice[0], "give executor `y` OS priority 10 instead of 1", "{advice:?}");
    assert!(advice.contains(&"shorten `slow` from 30ms to 8ms".to_owned()), "{advice:?}");
    assert!(advice.contains(&"move `x` to core 1".to_owned()), "{advice:?}");
    let sensitivity = Analysis::new(&system).sensitivity().unwrap();
    for change in &sensitivity.changes {
        assert!(holds(&change.apply(&system)), "{change:?}");
    }
    let [late] = &sensitivity.late[..] else { panic!("one is late: {:?}", sensitivity.late) };
    assert_eq!((late.name.as_str(), late.by), ("fast", Some(Duration::from_millis(22))));
    assert_eq!(late.causes.len(), 1);
    assert_eq!(late.causes[0].0, "slow");
    let overloaded = scenario(1, &[("x", 9, &[("a", 9, 10, 10, 8)]), ("y", 1, &[("b", 1, 10, 10, 5)])]);
    assert!(Analysis::new(&overloaded).run().is_err());
    let advice = Analysis::new(&overloaded).sensitivity().unwrap().advice();
    assert_eq!(advice[0], "shorten `a` from 8ms to 5ms", "{advice:?}");
    assert!(advice.iter().any(|line| line.starts_with("shorten `b` from 5ms to 2ms")), "{advice:?}");
}

/// Returns the case study III of PiCAS: twelve chains that ask for 97 % of four cores, with the paper's cores and
/// priorities.
fn case_study() -> Scenario {
    Scenario::parse(include_str!("../../../scenario/scenarios/picas_case_study.toml")).unwrap()
}

/// Returns the case study with executors that have no cores.
fn without_cores() -> Scenario {
    let mut scenario = case_study();
    for executor in &mut scenario.executors {
        executor.cores.clear();
        executor.os_priority = 1;
    }
    scenario
}

/// Bounds in microseconds, by the formula and with the allocation of the paper's `picas_casestudy.m`.
const PAPER_US: [u128; 12] =
    [18_400, 75_600, 63_100, 45_100, 47_900, 378_000, 248_200, 569_700, 421_000, 712_800, 406_800, 794_400];

fn held(report: &Report) -> usize {
    report.chains.iter().filter(|chain| chain.holds).count()
}

#[test]
fn the_allocation_of_the_case_study_has_bounds_as_the_paper_or_below() {
    let report = Analysis::new(&case_study()).run().unwrap();
    for (chain, paper) in report.chains.iter().zip(PAPER_US) {
        let bound = chain.latency.unwrap().as_micros();
        assert!(bound <= paper, "{}: {bound} us, the paper has {paper} us", chain.name);
    }
    assert_eq!(held(&report), 6);
}

/// More chains hold, and none has a longer bound than in the paper, nor than with the paper's allocation.
#[test]
fn picas_betters_the_allocation_of_the_case_study() {
    let scenario = case_study();
    let before = Analysis::new(&scenario).run().unwrap();
    let assignment = Assignment::picas(&Analysis::new(&scenario)).unwrap();
    let after = Analysis::new(&assignment.apply(&scenario)).run().unwrap();
    for ((after, before), paper) in after.chains.iter().zip(&before.chains).zip(PAPER_US) {
        let bound = after.latency.unwrap();
        assert!(bound.as_micros() <= paper, "{}: {bound:?}, the paper has {paper} us", after.name);
        // The comparison is in microseconds, so differences of some nanoseconds are ignored.
        assert!(bound.as_micros() <= before.latency.unwrap().as_micros(), "{}: {bound:?}, {before:?}", after.name);
    }
    assert!(held(&after) >= 7, "{} of 12, the paper's allocation holds 6", held(&after));
}

#[test]
fn picas_finds_cores_for_the_case_study() {
    let scenario = without_cores();
    let without = Analysis::new(&scenario).run().unwrap();
    let first = without.callbacks[0].not_proven.as_ref().unwrap();
    assert!(first.ends_with("give each one core"), "{first}");
    let assignment = Assignment::picas(&Analysis::new(&scenario)).unwrap();
    let report = Analysis::new(&assignment.apply(&scenario)).run().unwrap();
    assert!(held(&report) >= 8, "{} of 12, the paper's allocation holds 6", held(&report));
    assert!(report.chains[..6].iter().all(|chain| chain.holds), "the critical ones: {:?}", report.chains);
    for assigned in [Assignment::rate_monotonic, Assignment::deadline_monotonic] {
        let assignment = assigned(&Analysis::new(&scenario)).unwrap();
        assert!(assignment.executors.values().all(|executor| executor.cores.len() == 1));
    }
}

/// Two chains want one core each, or the critical one misses: the allocation that is there favours the other one.
#[test]
fn a_critical_chain_comes_before_what_is_there() {
    let mut system = scenario(
        2,
        &[
            ("x", 1, &[("a", 1, 10, 10, 5)]),
            ("y", 2, &[("b", 1, 10, 100, 4)]),
            ("z", 3, &[("c", 1, 20, 6, 6)]),
            ("w", 4, &[("d", 1, 20, 7, 5)]),
        ],
    );
    for (number, executor) in system.executors.iter_mut().enumerate() {
        executor.cores = vec![[0, 0, 1, 1][number]];
    }
    system.callbacks.iter_mut().for_each(|callback| callback.deadline = Some(ms(1_000)));
    for (name, criticality, deadline) in [("c", 1, 11), ("d", 2, 5), ("a", 3, 5), ("b", 4, 4)] {
        let mut chain = Chain::new(format!("chain {name}"), criticality, [name]);
        chain.deadline = Some(ms(deadline));
        system.chains.push(chain);
    }
    let before = Analysis::new(&system).run().unwrap();
    assert!(before.chain("chain b").unwrap().holds && !before.chain("chain a").unwrap().holds);
    let assignment = Assignment::picas(&Analysis::new(&system)).unwrap();
    let after = Analysis::new(&assignment.apply(&system)).run().unwrap();
    for name in ["chain a", "chain b"] {
        assert!(after.chain(name).unwrap().holds, "{after:?}");
    }
    assert_eq!(Assignment::picas(&Analysis::new(&system)).unwrap(), assignment, "the same every time");
}
