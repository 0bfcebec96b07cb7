//! The worst-case response times of the five topics of Skoudlil et al. (2025).

use rospin_analysis::Analysis;
use rospin_core::EntityKind;
use rospin_scenario::{Callback, ExecutionTime, Executor, Group, Pattern, Release, Scenario};

use crate::common::ms;

/// Period and execution time in ms, and the response time that the paper gives.
const TOPICS: [(u64, u64, u64); 5] = [(10, 2, 2), (20, 4, 6), (50, 5, 13), (100, 15, 36), (200, 50, 170)];

/// A thread for each callback, rate-monotonic OS priorities, all on one core.
fn scenario() -> Scenario {
    let mut scenario = Scenario::default();
    scenario.duration = ms(1000);
    scenario.cores = Some(1);
    for (number, (period, execution, _)) in TOPICS.into_iter().enumerate() {
        let name = format!("topic {}", number + 1);
        let mut executor = Executor::new(&name);
        executor.os_priority = 20 - number as u8;
        scenario.executors.push(executor);
        scenario.groups.push(Group::new(&name, &name));
        let mut callback = Callback::new(&name, EntityKind::Subscription, &name);
        callback.execution = ExecutionTime::Fixed(ms(execution));
        callback.deadline = Some(ms(period));
        scenario.callbacks.push(callback);
        let pattern = Pattern::Periodic { period: ms(period), offset: ms(0), jitter: ms(0) };
        scenario.releases.push(Release::new([name], pattern));
    }
    scenario
}

#[test]
fn the_bounds_are_those_of_the_paper() {
    let report = Analysis::new(&scenario()).run().unwrap();
    let bounds: Vec<_> = report.callbacks.iter().map(|callback| callback.bound.unwrap()).collect();
    assert_eq!(bounds, TOPICS.map(|(_, _, bound)| ms(bound)));
    assert!(report.holds());
    assert!((report.cores[0].utilization - 0.9).abs() < 1e-9, "{:?}", report.cores);
}

#[test]
fn the_simulator_reaches_them() {
    let scenario = scenario();
    let outcome = rospin_sim::Simulation::new(&scenario).unwrap().run().unwrap();
    let longest: Vec<_> = outcome.callbacks.iter().map(|callback| callback.response.max).collect();
    assert_eq!(longest, TOPICS.map(|(_, _, bound)| ms(bound)));
}
