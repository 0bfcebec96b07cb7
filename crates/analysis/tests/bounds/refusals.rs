//! Refusals, and what they say.

use rospin_analysis::{Analysis, AnalysisError, Reservation};
use rospin_core::EntityKind;
use rospin_scenario::{Await, Callback, ExecutionTime, Executor, Fault, Group, Pattern, Release, Scenario};

use crate::common::ms;

fn timer(name: &str, group: &str, period_ms: u64, execution_ms: u64) -> Callback {
    let mut timer = Callback::new(name, EntityKind::Timer, group);
    timer.period = Some(ms(period_ms));
    timer.execution = ExecutionTime::Fixed(ms(execution_ms));
    timer
}

fn service(name: &str, group: &str, execution_ms: u64) -> Callback {
    let mut service = Callback::new(name, EntityKind::Service, group);
    service.execution = ExecutionTime::Fixed(ms(execution_ms));
    service
}

/// One executor `x` with a group `g`, and these callbacks.
fn scenario(callbacks: impl IntoIterator<Item = Callback>) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.duration = ms(1000);
    scenario.executors.push(Executor::new("x"));
    scenario.groups.push(Group::new("g", "x"));
    scenario.callbacks.extend(callbacks);
    scenario
}

fn refusal(scenario: &Scenario) -> AnalysisError {
    Analysis::new(scenario).run().expect_err("it is refused")
}

#[test]
fn an_overloaded_core() {
    let scenario = scenario([timer("a", "g", 10, 6), timer("b", "g", 10, 5)]);
    let error = refusal(&scenario);
    assert!(matches!(error, AnalysisError::Overloaded { core: 0, .. }), "{error}");
    assert!(error.to_string().starts_with("core 0 is overloaded: 110.0 % of its time is asked for, by x; shorten"));
}

#[test]
fn what_executors_share_counts_together() {
    let mut scenario = scenario([timer("a", "g", 10, 6), timer("b", "h", 10, 5)]);
    scenario.executors.push(Executor::new("y"));
    scenario.groups.push(Group::new("h", "y"));
    assert!(Analysis::new(&scenario).run().is_ok(), "a core for each");
    scenario.cores = Some(1);
    assert!(matches!(refusal(&scenario), AnalysisError::Overloaded { .. }));
}

/// Messages that a callback sends count as well.
#[test]
fn an_overload_by_publishing() {
    let mut first = timer("first", "g", 10, 2);
    first.publishes = vec!["second".into()];
    let scenario = scenario([first, service("second", "g", 9)]);
    assert!(matches!(refusal(&scenario), AnalysisError::Overloaded { .. }));
}

#[test]
fn a_missing_execution_time() {
    let error = refusal(&scenario([timer("a", "g", 10, 1), timer("b", "g", 10, 0)]));
    assert_eq!(
        error.to_string(),
        "`b` has no execution time; give it an `execution`, the longest one that was measured"
    );
    let overheads = rospin_analysis::Overheads { dispatch: ms(1), ..Default::default() };
    let missing = scenario([timer("b", "g", 10, 0)]);
    assert!(Analysis::new(&missing).overheads(overheads).run().is_err(), "overheads do not make up for it");
}

#[test]
fn what_nothing_releases() {
    let error = refusal(&scenario([service("lost", "g", 1)]));
    assert_eq!(error, AnalysisError::NeverReleased { callback: "lost".into() });
}

#[test]
fn a_cycle_of_topics() {
    let mut there = service("there", "g", 1);
    let mut back = service("back", "g", 1);
    there.publishes = vec!["back".into()];
    back.publishes = vec!["there".into()];
    let mut scenario = scenario([timer("t", "g", 10, 1), there, back]);
    scenario.callbacks[0].publishes = vec!["there".into()];
    let error = refusal(&scenario);
    let path = match &error {
        AnalysisError::Cycle { path } => path.join(" "),
        other => panic!("{other}"),
    };
    assert!(["there back there", "back there back"].contains(&path.as_str()), "{error}");
}

#[test]
fn a_callback_that_releases_itself() {
    let mut echo = service("echo", "g", 1);
    echo.publishes = vec!["echo".into()];
    assert_eq!(refusal(&scenario([echo])), AnalysisError::Cycle { path: vec!["echo".into(), "echo".into()] });
}

#[test]
fn an_unknown_callback() {
    let mut scenario = scenario([timer("a", "g", 10, 1)]);
    scenario.chains.push(rospin_scenario::Chain::new("c", 1, ["a", "nobody"]));
    let error = refusal(&scenario);
    assert!(matches!(error, AnalysisError::Scenario(_)), "{error}");
    assert!(error.to_string().contains("there is no callback `nobody`"), "{error}");
}

#[test]
fn an_unknown_executor_and_a_reservation_without_time() {
    let scenario = scenario([timer("a", "g", 10, 1)]);
    let with = |name: &str, budget_ms: u64| {
        let reservation = Reservation { budget: ms(budget_ms), period: ms(5) };
        Analysis::new(&scenario).reservation(name, reservation).run().map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(with("z", 1), Err("there is no executor `z` to give a reservation to; known are x".to_owned()));
    assert!(with("x", 0).is_err_and(|text| text.contains("budget")));
    assert!(with("x", 6).is_err_and(|text| text.contains("at most the period")));
    assert_eq!(with("x", 2), Ok(()));
}

fn not_analyzable(scenario: &Scenario, expected: [&str; 3]) {
    match refusal(scenario) {
        AnalysisError::NotAnalyzable { callback, reason, fix } => {
            assert_eq!(callback, expected[0]);
            assert!(reason.contains(expected[1]), "{reason}");
            assert!(fix.contains(expected[2]), "{fix}");
        }
        other => panic!("{other}"),
    }
}

/// Each waits for the other one at most: nothing else wants the group, or the threads.
#[test]
fn groups_in_a_wait_set_of_several_threads_are_not_refused() {
    let mut scenario = scenario([timer("a", "g", 10, 1), timer("b", "g", 10, 1)]);
    scenario.executors[0].threads = 2;
    for policy in ["wait-set-e1", "wait-set-e2"] {
        policy.clone_into(&mut scenario.executors[0].policy);
        let report = Analysis::new(&scenario).run().unwrap();
        assert!(
            report.callbacks.iter().all(|callback| callback.bound.is_some_and(|bound| bound <= ms(2))),
            "{:?}",
            report.callbacks
        );
    }
}

#[test]
fn threads_that_move_between_cores_or_share_one() {
    let mut two = scenario([timer("a", "g", 10, 1), timer("b", "h", 10, 1), timer("c", "i", 10, 1)]);
    for (executor, group) in [("y", "h"), ("z", "i")] {
        two.executors.push(Executor::new(executor));
        two.groups.push(Group::new(group, executor));
    }
    two.cores = Some(2);
    assert!(Analysis::new(&two).run().is_ok(), "they share the same cores");
    two.executors[2].cores = vec![1];
    not_analyzable(&two, ["a", "more threads than cores", "cores = [0]"]);
    two.executors[0].cores = vec![0];
    two.executors[1].cores = vec![0];
    two.executors[2].cores = vec![1];
    assert!(Analysis::new(&two).run().is_ok());
    let mut one = scenario([timer("a", "g", 10, 1)]);
    one.cores = Some(1);
    one.executors[0].threads = 2;
    not_analyzable(&one, ["a", "share a core", "one thread"]);
}

#[test]
fn reservations_of_threads_and_beside_executors_without() {
    let reservation = Reservation { budget: ms(2), period: ms(5) };
    let mut scenario = scenario([timer("a", "g", 10, 1), timer("b", "h", 10, 1)]);
    scenario.executors.push(Executor::new("y"));
    scenario.groups.push(Group::new("h", "y"));
    scenario.cores = Some(1);
    let error = Analysis::new(&scenario).reservation("x", reservation).run().unwrap_err();
    assert!(error.to_string().starts_with("`b` cannot be analysed: it shares a core"), "{error}");
    assert!(Analysis::new(&scenario).reservation("x", reservation).reservation("y", reservation).run().is_ok());
    scenario.cores = None;
    scenario.executors[0].threads = 2;
    let error = Analysis::new(&scenario).reservation("x", reservation).run().unwrap_err();
    assert!(error.to_string().contains("several threads"), "{error}");
    let tight = Reservation { budget: ms(1), period: ms(50) };
    let error = Analysis::new(&scenario).reservation("y", tight).run().unwrap_err();
    assert!(matches!(error, AnalysisError::Overloaded { .. }), "{error}");
}

#[test]
fn a_late_start_and_faults() {
    let mut late = scenario([timer("a", "g", 10, 1)]);
    late.executors[0].start = ms(5);
    not_analyzable(&late, ["a", "starts late", "leave out `start`"]);

    let mut faulty = scenario([service("s", "g", 1)]);
    faulty.releases.push(Release::new(["s"], Pattern::List(vec![ms(1)])));
    faulty.faults = vec![Fault::LostNotification { callback: "s".into(), probability: 0.1 }];
    not_analyzable(&faulty, ["s", "waits for the next one", "leave this [[fault]] out"]);
    faulty.faults = vec![Fault::Overrun { callback: "s".into(), probability: 0.1, extra: ms(3) }];
    let report = Analysis::new(&faulty).run().unwrap();
    assert_eq!(report.callbacks[0].bound, Some(ms(4)), "an overrun counts");
}

/// Not refused, but without a bound: more of it is under way than it allows.
#[test]
fn an_asynchronous_callback_that_cannot_keep_up() {
    let mut slow = timer("slow", "g", 10, 1);
    slow.awaits = vec![Await::new(ExecutionTime::Fixed(ms(50)), ExecutionTime::Fixed(ms(1)))];
    let report = Analysis::new(&scenario([slow])).run().unwrap();
    assert_eq!(report.callbacks[0].bound, None);
    assert!(!report.callbacks[0].holds && !report.holds());
}
