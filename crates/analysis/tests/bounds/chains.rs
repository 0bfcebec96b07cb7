//! Chains: by hand, and in the simulator.

use std::time::Duration;

use rospin_analysis::{Analysis, Overheads};
use rospin_core::EntityKind;
use rospin_scenario::{Callback, Chain, ExecutionTime, Executor, Group, Pattern, Release, Scenario};
use rospin_sim::Simulation;

use crate::common::ms;

/// A timer hands on to a subscription in another executor on another core, beside which something else runs.
fn scenario() -> Scenario {
    let mut scenario = Scenario::default();
    scenario.duration = ms(2000);
    scenario.topics = vec!["/data".into()];
    for name in ["x", "y"] {
        scenario.executors.push(Executor::new(name));
        scenario.groups.push(Group::new(name, name));
    }
    let mut sample = Callback::new("sample", EntityKind::Timer, "x");
    sample.period = Some(ms(20));
    sample.execution = ExecutionTime::Uniform(ms(1), ms(3));
    sample.publishes = vec!["/data".into()];
    let mut act = Callback::new("act", EntityKind::Subscription, "y");
    act.subscribes = Some("/data".into());
    act.execution = ExecutionTime::Fixed(ms(2));
    act.priority = Some(2);
    let mut other = Callback::new("other", EntityKind::Timer, "y");
    other.period = Some(ms(30));
    other.execution = ExecutionTime::Fixed(ms(5));
    other.priority = Some(1);
    scenario.callbacks = vec![sample, act, other];
    let mut chain = Chain::new("chain", 1, ["sample", "act"]);
    chain.deadline = Some(ms(10));
    scenario.chains.push(chain);
    scenario
}

#[test]
fn latency_reaction_time_and_data_age() {
    let scenario = scenario();
    let report = Analysis::new(&scenario).run().unwrap();
    let chain = report.chain("chain").unwrap();
    // 3 ms of its own, less than 5 ms of blocking, and 2 ms. An event can have missed the sample by less than 20 ms.
    let ns = Duration::from_nanos(1);
    assert_eq!(chain.latency, Some(ms(10) - ns));
    assert_eq!(chain.reaction_time, Some(ms(30) - ns));
    assert_eq!(chain.data_age, Some(ms(30) - ns));
    assert!(chain.holds && report.holds());
    let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
    assert!(outcome.chains[0].latency.max <= chain.latency.unwrap());
    assert_eq!(outcome.chains[0].latency.max, ms(7), "the phases that it has");
}

/// The sender's jitter lets messages come close together.
#[test]
fn jitter_is_passed_on() {
    let mut scenario = scenario();
    scenario.callbacks[0].period = Some(ms(4));
    scenario.callbacks[0].execution = ExecutionTime::Uniform(ms(0), ms(4));
    let report = Analysis::new(&scenario).run().unwrap();
    let act = report.callback("act").unwrap();
    let waits = act.bound.unwrap().as_nanos() - 2_000_000 + 1;
    assert_eq!(act.backlog, Some(waits.div_ceil(4_000_000) as u64 + 1));
    scenario.callbacks[0].execution = ExecutionTime::Fixed(ms(4));
    let steady = Analysis::new(&scenario).run().unwrap();
    assert!(steady.callback("act").unwrap().bound < act.bound);
}

#[test]
fn what_may_lose_messages_has_neither_reaction_time_nor_data_age() {
    let mut scenario = scenario();
    scenario.callbacks[0].period = Some(ms(5));
    scenario.callbacks[1].depth = 1;
    let report = Analysis::new(&scenario).run().unwrap();
    let chain = report.chain("chain").unwrap();
    assert!(report.callback("act").unwrap().may_lose);
    assert!(chain.latency.is_some(), "what arrives is in time");
    assert_eq!((chain.reaction_time, chain.data_age, chain.lossy.as_slice()), (None, None, &["act".to_owned()][..]));
}

/// A chain that messages start reacts to them; nothing says how rarely listed ones come.
#[test]
fn chains_that_messages_start() {
    let mut scenario = scenario();
    scenario.callbacks[0] = Callback::new("sample", EntityKind::Service, "x");
    scenario.callbacks[0].execution = ExecutionTime::Fixed(ms(3));
    scenario.callbacks[0].publishes = vec!["/data".into()];
    scenario.releases.push(Release::new(["sample"], Pattern::List(vec![ms(1), ms(50)])));
    let report = Analysis::new(&scenario).run().unwrap();
    let chain = report.chain("chain").unwrap();
    assert_eq!((chain.reaction_time, chain.data_age), (chain.latency, None));
}

#[test]
fn overheads_are_added() {
    let scenario = scenario();
    let us = Duration::from_micros;
    let bound = |overheads| Analysis::new(&scenario).overheads(overheads).run().unwrap();
    let none = bound(Overheads::default());
    assert!(none.assumptions.iter().any(|text| text.contains("take no time")));
    let dispatch = bound(Overheads { dispatch: us(10), ..Overheads::default() });
    assert!(!dispatch.assumptions.iter().any(|text| text.contains("take no time")));
    let of = |report: &rospin_analysis::Report, name: &str| report.callback(name).unwrap().bound.unwrap();
    assert_eq!(of(&dispatch, "sample") - of(&none, "sample"), us(10));
    assert_eq!(of(&dispatch, "act") - of(&none, "act"), us(20), "its own, and that of what blocks it");
    let receive = bound(Overheads { receive: us(50), ..Overheads::default() });
    assert_eq!(of(&receive, "sample"), of(&none, "sample"), "a timer receives nothing, nor does its core");
    assert!(of(&receive, "act") - of(&none, "act") >= us(50));
    assert!(of(&receive, "other") - of(&none, "other") >= us(50), "it is interrupted by the receive thread");
}
