//! Callbacks without a bound on several threads: small systems in which they starve, or in which their responses grow
//! without end, and what the analysis says of them.

use std::time::Duration;

use rospin_analysis::{Analysis, CallbackBound, Report, Unbounded};
use rospin_core::{EntityKind, GroupKind};
use rospin_scenario::{Burst, Callback, ExecutionTime, Executor, Group, Pattern, Release, Scenario};
use rospin_sim::Simulation;

use crate::common::{ms, us};

/// An executor `x` with two threads.
fn on_two_threads(policy: &str) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.duration = Duration::from_secs(30);
    scenario.cores = Some(2);
    let mut executor = Executor::new("x");
    policy.clone_into(&mut executor.policy);
    executor.threads = 2;
    scenario.executors.push(executor);
    scenario
}

fn add(scenario: &mut Scenario, name: &str, group: &str, priority: u32, execution: Duration) {
    if scenario.groups.iter().all(|known| known.name != group) {
        scenario.groups.push(Group::new(group, "x"));
    }
    let mut callback = Callback::new(name, EntityKind::Waitable, group);
    callback.priority = Some(priority);
    callback.depth = 100_000;
    callback.execution = ExecutionTime::Fixed(execution);
    scenario.callbacks.push(callback);
}

fn release(scenario: &mut Scenario, name: &str, period: Duration) {
    let pattern = Pattern::Periodic { period, offset: Duration::ZERO, jitter: Duration::ZERO };
    scenario.releases.push(Release::new([name], pattern));
}

/// In the first part of each 100 ms, `one` and `two` keep both threads busy. In the rest, `mate` has the group of
/// `last`.
pub(crate) fn starving(policy: &str) -> Scenario {
    let mut scenario = on_two_threads(policy);
    for (name, group, priority, execution) in
        [("one", "a", 4, ms(45)), ("two", "b", 3, ms(45)), ("mate", "c", 2, ms(56)), ("last", "c", 1, ms(1))]
    {
        add(&mut scenario, name, group, priority, execution);
        release(&mut scenario, name, ms(100));
    }
    // Without a deadline, EDF serves it after all others.
    scenario.callbacks[..3].iter_mut().for_each(|callback| callback.deadline = Some(ms(100)));
    scenario
}

/// The network of Lu and Kumar, "Distributed scheduling based on due dates and buffer priorities", IEEE Transactions on
/// Automatic Control 1991: each message visits two groups twice. No group asks for more than 62 % of a thread.
fn circle(policy: &str) -> Scenario {
    let mut scenario = on_two_threads(policy);
    for (name, group, priority, execution) in
        [("d", "g", 4, ms(6)), ("b", "h", 3, ms(6)), ("c", "h", 2, us(100)), ("a", "g", 1, us(100))]
    {
        add(&mut scenario, name, group, priority, execution);
    }
    for (from, to) in [("a", "b"), ("b", "c"), ("c", "d")] {
        let sender = scenario.callbacks.iter_mut().find(|callback| callback.name == from).unwrap();
        sender.publishes.push(to.to_owned());
    }
    release(&mut scenario, "a", ms(10));
    // Once, a burst brings the network out of step.
    let mut burst = Release::new(["a"], Pattern::List(vec![ms(1)]));
    burst.burst = Some(Burst { count: 10, spacing: Duration::ZERO });
    scenario.releases.push(burst);
    scenario
}

fn analysed(scenario: &Scenario) -> Report {
    Analysis::new(scenario).run().unwrap()
}

fn of<'a>(report: &'a Report, name: &str) -> &'a CallbackBound {
    report.callback(name).unwrap()
}

/// Returns how often a callback ran, and its longest response.
fn seen(scenario: &Scenario, name: &str) -> (usize, Duration) {
    let outcome = Simulation::new(scenario).unwrap().run().unwrap();
    let place = scenario.callbacks.iter().position(|callback| callback.name == name).unwrap();
    let response = &outcome.callbacks[place].response;
    (response.count, response.max)
}

#[test]
fn what_may_starve_is_said_to_and_does() {
    for policy in ["fixed-priority", "edf", "wait-set-e1", "wait-set-e2"] {
        let scenario = starving(policy);
        assert_eq!(seen(&scenario, "last").0, 0, "{policy}");
        let report = analysed(&scenario);
        let last = of(&report, "last");
        assert_eq!((last.bound, last.unbounded), (None, Some(Unbounded::MayStarve)), "{policy}");
        let text = last.not_proven.as_ref().unwrap();
        assert!(text.contains("it may starve"), "{text}");
        assert!(
            text.ends_with(
                "; with 3 threads, if `x` serves first in, first out or if group `c` is reentrant it has a bound"
            ),
            "{text}"
        );
        let mut changes: Vec<Scenario> = vec![scenario.clone(), scenario.clone(), scenario.clone()];
        changes[0].executors[0].threads = 3;
        changes[0].cores = Some(3);
        "fifo".clone_into(&mut changes[1].executors[0].policy);
        changes[2].groups[2].kind = GroupKind::Reentrant;
        for changed in changes {
            let bound = of(&analysed(&changed), "last").bound.unwrap();
            let (count, longest) = seen(&changed, "last");
            assert!(count > 290 && longest <= bound, "{policy}: {count}, {longest:?}, bound {bound:?}");
        }
    }
}

#[test]
fn first_in_first_out_lets_nothing_starve() {
    let scenario = starving("fifo");
    let bound = of(&analysed(&scenario), "last").bound.unwrap();
    let (count, longest) = seen(&scenario, "last");
    assert!(count > 290 && longest <= bound, "{count}, {longest:?}, bound {bound:?}");
}

/// Without a deadline, EDF serves `a` and `c` after `b` and `d`.
#[test]
fn responses_grow_without_end_where_groups_send_to_each_other() {
    for policy in ["fixed-priority", "edf", "wait-set-e1", "wait-set-e2"] {
        let mut scenario = circle(policy);
        scenario.callbacks[..2].iter_mut().for_each(|callback| callback.deadline = Some(ms(10)));
        let report = analysed(&scenario);
        for callback in &report.callbacks {
            assert_eq!((callback.bound, callback.unbounded), (None, Some(Unbounded::MayGrow)), "{policy}");
            // One thread would have 122 % of its time to do.
            let is_lighter = callback.changes.iter().all(|change| change != "with one thread");
            assert!(is_lighter, "{policy}: {callback:?}");
        }
        let text = of(&report, "a").not_proven.as_ref().unwrap();
        assert!(text.contains("no bound is known, because groups `g` and `h` send to each other"), "{text}");
        assert!(text.ends_with("it has a bound"), "{text}");
        let short = seen(&scenario, "d").1;
        scenario.duration *= 4;
        let long = seen(&scenario, "d").1;
        assert!(short > Duration::from_secs(1) && long > 3 * short, "{policy}: {short:?}, then {long:?}");
    }
}

/// The same network does not grow where an order by release or deadline serves it. No bound is known for it there.
#[test]
fn in_turn_the_same_network_does_not_grow() {
    for policy in ["fifo", "edf"] {
        let mut scenario = circle(policy);
        scenario.callbacks.iter_mut().for_each(|callback| callback.deadline = Some(ms(10)));
        assert_eq!(of(&analysed(&scenario), "d").unbounded, Some(Unbounded::Unknown), "{policy}");
        let short = seen(&scenario, "d").1;
        scenario.duration *= 4;
        assert_eq!(seen(&scenario, "d").1, short, "{policy}");
    }
}
