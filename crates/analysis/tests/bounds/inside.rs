//! Effects that callbacks of one executor have on each other, in systems made for that, compared with the simulator.

use std::time::Duration;

use rospin_analysis::{Analysis, Report};
use rospin_core::EntityKind;
use rospin_scenario::{Burst, Callback, Chain, ExecutionTime, Executor, Group, Pattern, Release, Scenario};
use rospin_sim::{Outcome, Simulation};

use crate::common::ms;

const NS: Duration = Duration::from_nanos(1);

/// One core and these executors, each with a group of its name.
fn scenario(executors: &[&str]) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.duration = ms(1000);
    scenario.cores = Some(1);
    for name in executors {
        scenario.executors.push(Executor::new(*name));
        scenario.groups.push(Group::new(*name, *name));
    }
    scenario
}

fn callback(name: &str, kind: EntityKind, group: &str, priority: u32, execution_ms: u64) -> Callback {
    let mut callback = Callback::new(name, kind, group);
    callback.priority = Some(priority);
    callback.execution = ExecutionTime::Fixed(ms(execution_ms));
    callback.depth = 100;
    callback
}

fn timer(name: &str, group: &str, priority: u32, execution_ms: u64, period_ms: u64, offset: Duration) -> Callback {
    let mut timer = callback(name, EntityKind::Timer, group, priority, execution_ms);
    timer.period = Some(ms(period_ms));
    timer.offset = Some(offset);
    timer
}

fn both(scenario: &Scenario) -> (Report, Outcome) {
    let report = Analysis::new(scenario).run().expect("it can be analysed");
    let outcome = Simulation::new(scenario).expect("it makes sense").run().expect("time goes on");
    for (callback, seen) in report.callbacks.iter().zip(&outcome.callbacks) {
        let bound = callback.bound.expect("a bound");
        assert!(seen.response.max <= bound, "`{}` took {:?}, the bound is {bound:?}", seen.name, seen.response.max);
    }
    (report, outcome)
}

/// A timer hands on to two others, beside something that may be running when it is due.
fn chain(priorities: [u32; 3]) -> Scenario {
    let mut scenario = scenario(&["x"]);
    let mut sample = timer("sample", "x", priorities[0], 2, 20, NS);
    let mut filter = callback("filter", EntityKind::Service, "x", priorities[1], 3);
    sample.publishes = vec!["filter".into()];
    filter.publishes = vec!["act".into()];
    let act = callback("act", EntityKind::Service, "x", priorities[2], 4);
    let other = timer("other", "x", 0, 5, 50, Duration::ZERO);
    scenario.callbacks = vec![sample, filter, act, other];
    scenario.chains.push(Chain::new("chain", 1, ["sample", "filter", "act"]));
    scenario
}

#[test]
fn a_chain_in_the_order_of_picas_is_blocked_once() {
    let (report, outcome) = both(&chain([1, 2, 3]));
    let latency = report.chains[0].latency.unwrap();
    assert_eq!(latency, ms(5 + 2 + 3 + 4) - NS);
    assert_eq!(outcome.chains[0].latency.max, latency, "it is reached");
    assert_eq!(report.chains[0].reaction_time, Some(latency + ms(20)));
    assert_eq!(report.callback("filter").unwrap().bound, Some(ms(3)), "nothing less urgent blocks it");
    assert!(report.callbacks.iter().all(|callback| callback.method.contains("inside the executor")), "{report:?}");
}

#[test]
fn against_the_order_of_picas_the_bound_still_holds() {
    for priorities in [[3, 2, 1], [2, 3, 1], [1, 3, 2], [3, 1, 2], [2, 1, 3], [1, 1, 1]] {
        let (report, outcome) = both(&chain(priorities));
        assert!(outcome.chains[0].latency.max <= report.chains[0].latency.unwrap(), "{priorities:?}");
    }
}

/// Under a load of 96 % jitter that adds up along a chain leaves no room for a bound.
#[test]
fn a_loaded_executor_has_bounds() {
    let mut scenario = chain([1, 2, 3]);
    scenario.callbacks[3].execution = ExecutionTime::Fixed(ms(25));
    scenario.callbacks[3].deadline = Some(ms(500));
    let (report, _) = both(&scenario);
    assert!(report.cores[0].utilization > 0.94, "{:?}", report.cores);
}

/// An executor of the same OS priority waits until this one has nothing left to do, less urgent work included; what
/// piles up there meanwhile delays the urgent callback that comes next.
#[test]
fn less_urgent_work_lets_a_peer_pile_up() {
    let mut scenario = scenario(&["x", "y"]);
    scenario.callbacks = vec![
        timer("urgent", "x", 9, 1, 1000, ms(40) + NS),
        callback("batch", EntityKind::Service, "x", 1, 1),
        callback("peer", EntityKind::Service, "y", 0, 1),
    ];
    let mut batch = Release::new(["batch"], Pattern::Periodic { period: ms(1000), offset: ms(0), jitter: ms(0) });
    batch.burst = Some(Burst { count: 40, spacing: Duration::ZERO });
    scenario.releases.push(batch);
    let peer = Pattern::Periodic { period: ms(5), offset: NS, jitter: ms(0) };
    scenario.releases.push(Release::new(["peer"], peer));
    let (_, outcome) = both(&scenario);
    // Eight messages wait at 40 ms, two more arrive while those are handled, and then the callback itself runs.
    assert_eq!(outcome.callbacks[0].response.max, ms(8 + 2 + 1) - NS);
}
