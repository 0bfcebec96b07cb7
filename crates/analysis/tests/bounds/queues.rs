//! Depths of queues: at the depth that the analysis tells, no simulation loses a message; with one place less, some do.

use std::time::Duration;

use rospin_analysis::Analysis;
use rospin_core::EntityKind;
use rospin_scenario::{Burst, Callback, ExecutionTime, Executor, Group, Pattern, Release, Scenario};
use rospin_sim::Simulation;

use crate::common::{ms, seeds};
use crate::{busy, several};

/// Systems of each policy and kind.
const SYSTEMS: u64 = if cfg!(debug_assertions) { 10 } else { 400 };
const POLICIES: [&str; 5] = ["fixed-priority", "edf", "fifo", "wait-set-e1", "wait-set-e2"];

/// Returns the scenario with each queue as deep as the analysis says, and how many of them have such a depth.
fn with_depths(mut scenario: Scenario) -> (Scenario, u64) {
    let Ok(report) = Analysis::new(&scenario).run() else { return (scenario, 0) };
    let mut known = 0;
    for (callback, bound) in scenario.callbacks.iter_mut().zip(&report.callbacks) {
        if let Some(depth) = bound.backlog {
            callback.depth = depth as u32;
            known += 1;
        }
    }
    (scenario, known)
}

/// Returns by callback how many messages a simulation loses.
fn lost(scenario: &Scenario) -> Vec<u64> {
    let outcome = Simulation::new(scenario).unwrap().run().unwrap();
    outcome.callbacks.iter().map(|callback| callback.dropped).collect()
}

#[test]
#[expect(clippy::print_stderr, reason = "how much was compared is worth knowing")]
fn queues_of_the_depth_that_is_told_lose_nothing() {
    let (mut queues, mut deeper) = (0, 0);
    for policy in POLICIES {
        for seed in seeds::chosen(SYSTEMS) {
            for scenario in [busy::random(policy, seed), several::random(policy, several::Kind::Nodes, seed)] {
                let (scenario, known) = with_depths(scenario);
                if known == 0 {
                    continue;
                }
                queues += known;
                let report = Analysis::new(&scenario).run().unwrap();
                deeper += report.callbacks.iter().filter(|bound| bound.backlog.is_some_and(|depth| depth > 1)).count();
                for phase in 0..4 {
                    let mut simulated = scenario.clone();
                    several::rephase(&mut simulated, phase);
                    for (bound, lost) in report.callbacks.iter().zip(lost(&simulated)) {
                        let told = || format!("{bound:?} lost {lost}\n{}", simulated.to_toml());
                        assert!(bound.backlog.is_none() || !bound.may_lose && lost == 0, "{}", told());
                    }
                }
            }
        }
    }
    eprintln!("{queues} queues, {deeper} of them deeper than one");
    assert!(seeds::chosen(SYSTEMS).count() < SYSTEMS as usize || deeper > 4 * SYSTEMS as usize, "{deeper}");
}

/// A callback `scan` whose messages come every 10 ms, on one thread with a timer that takes 35 ms of every 100 ms.
fn scan(policy: &str) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.duration = ms(1_000);
    scenario.executors.push(Executor::new("main"));
    policy.clone_into(&mut scenario.executors[0].policy);
    scenario.groups.push(Group::new("node", "main"));
    let mut plan = Callback::new("plan", EntityKind::Timer, "node");
    (plan.period, plan.offset, plan.priority) = (Some(ms(100)), Some(ms(9)), Some(1));
    plan.execution = ExecutionTime::Fixed(ms(35));
    let mut scan = Callback::new("scan", EntityKind::Subscription, "node");
    scan.execution = ExecutionTime::Fixed(ms(1));
    scan.priority = Some(2);
    scenario.callbacks = vec![plan, scan];
    let pattern = Pattern::Periodic { period: ms(10), offset: ms(0), jitter: Duration::ZERO };
    scenario.releases.push(Release::new(["scan"], pattern));
    scenario
}

/// Checks that the queue of the last callback loses nothing at a depth, which is the one that is told, and something at
/// one less.
fn is_smallest(scenario: &Scenario, depth: u64) {
    let report = Analysis::new(scenario).run().unwrap();
    let last = scenario.callbacks.len() - 1;
    assert_eq!(report.callbacks[last].backlog, Some(depth), "{}", scenario.to_toml());
    for (depth, loses) in [(depth, false), (depth - 1, true)] {
        let mut scenario = scenario.clone();
        scenario.callbacks[last].depth = depth as u32;
        assert_eq!(lost(&scenario)[last] > 0, loses, "depth {depth}");
    }
}

#[test]
fn a_place_less_loses_messages_behind_a_long_callback() {
    for policy in ["fixed-priority", "fifo"] {
        // Those that come 1, 11, 21 and 31 ms after the long callback began wait at once.
        is_smallest(&scan(policy), 4);
    }
    // With a thread for each group, nothing waits.
    let mut apart = scan("fifo");
    apart.executors[0].threads = 2;
    apart.cores = Some(2);
    apart.groups.push(Group::new("own", "main"));
    "own".clone_into(&mut apart.callbacks[1].group);
    let report = Analysis::new(&apart).run().unwrap();
    assert_eq!(report.callbacks[1].backlog, Some(1));
}

#[test]
fn a_place_less_loses_a_message_of_a_burst() {
    let mut scenario = scan("fixed-priority");
    scenario.callbacks.remove(0);
    let pattern = Pattern::Periodic { period: ms(100), offset: ms(0), jitter: Duration::ZERO };
    scenario.releases[0] = Release::new(["scan"], pattern);
    scenario.releases[0].burst = Some(Burst { count: 3, spacing: Duration::ZERO });
    is_smallest(&scenario, 3);
}

#[test]
fn a_place_less_loses_messages_of_two_publishers() {
    let mut scenario = scan("fixed-priority");
    // Both publish when they end, one right after the other, before anything less urgent runs.
    let mut second = scenario.callbacks[0].clone();
    second.name = "second".to_owned();
    scenario.callbacks.insert(0, second);
    for publisher in &mut scenario.callbacks[..2] {
        publisher.execution = ExecutionTime::Fixed(ms(2));
        publisher.offset = Some(ms(0));
        publisher.publishes = vec!["scan".to_owned()];
        publisher.priority = Some(3);
    }
    scenario.releases.clear();
    is_smallest(&scenario, 2);
}
