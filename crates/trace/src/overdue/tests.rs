//! Tests of the watch with events that are written down. Times are in milliseconds.

use std::time::Duration;

use rospin_core::recording::{Definition, Event, Rules, Step};
use rospin_core::{EntityKind, Instant};

use super::{Overdue, Watch};
use crate::waits::Reason;

const MS: u64 = 1_000_000;
const PLAN: u64 = 1;
const SCAN: u64 = 2;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * MS)
}

fn step(entity: u64, sequence: u64, segment: u32) -> Step {
    Step { executor: 0, entity, sequence, segment }
}

fn starts(step: Step, ms: u64) -> (u64, Event) {
    (ms, Event::Dispatched { step, thread: 0, release: at(ms), cpu_ns: 0 })
}

fn ends(step: Step, ms: u64) -> (u64, Event) {
    (ms, Event::Completed { step, deadline: Instant::MAX, cpu_ns: 0 })
}

fn due(step: Step, ms: u64) -> (u64, Event) {
    (ms, Event::Released { step, release: at(ms), deadline: at(ms + 25) })
}

/// Returns the watch of an executor with one thread and two timers: `PLAN`, every 50 ms and urgent, and `SCAN`, every
/// 25 ms. Either holds its group at await points, which `is_one_group` puts both of them in.
fn watch(is_one_group: bool) -> Watch {
    let mut watch = Watch::default();
    watch.define(&Definition::Executor {
        executor: 0,
        name: "main".into(),
        policy: "fixed-priority".into(),
        threads: 1,
    });
    for (entity, name, priority, period) in [(PLAN, "plan", 10, 50), (SCAN, "scan", 0, 25)] {
        watch.define(&Definition::Entity {
            executor: 0,
            entity,
            account: entity,
            name: name.into(),
            group: if is_one_group { "node" } else { name }.into(),
            excludes: true,
            kind: EntityKind::Timer,
            priority,
            deadline: None,
            period: Some(Duration::from_millis(period)),
            rules: Some(Rules {
                group: 0,
                registration: entity,
                max_in_flight: 1,
                frees_group: false,
                precedes_all: false,
            }),
        });
    }
    watch
}

fn take(watch: &mut Watch, events: &[(u64, Event)]) {
    for (ms, event) in events {
        watch.event(7, ms * MS, event);
    }
}

/// The planner runs for 60 ms of each 50, from `from` on, for so many times. Returns the end.
fn plan(watch: &mut Watch, from: u64, times: u64) -> u64 {
    for number in 0..times {
        let step = step(PLAN, 1_000 + from + number, 0);
        let begin = from + number * 60;
        take(watch, &[starts(step, begin), ends(step, begin + 60)]);
    }
    from + times * 60
}

fn only(watch: &Watch, ms: u64) -> Overdue {
    let found = watch.overdue(ms * MS);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0]
}

#[test]
fn a_timer_whose_release_nobody_serves_is_told_with_the_callback_that_ran() {
    let mut watch = watch(false);
    take(&mut watch, &[due(step(SCAN, 1, 0), 25)]);
    let end = plan(&mut watch, 0, 134);
    let one = only(&watch, end);
    assert_eq!((one.of, one.for_ns, one.limit_ns), ((0, SCAN), 8_040 * MS, Some(25 * MS)));
    assert_eq!((one.reason, one.culprit), (Reason::Priority, Some((0, PLAN))));
    assert!(!one.is_inferred && !one.is_at_least);
    // A period and 100 ms are the limit.
    assert_eq!(watch.overdue((25 + 125) * MS), []);
    take(&mut watch, &[starts(step(SCAN, 1, 0), end)]);
    assert_eq!(watch.overdue((end + 100) * MS), []);
}

#[test]
fn a_timer_that_a_busy_executor_does_not_notice_is_told_too() {
    // Its release is older than the events.
    let mut watch = watch(false);
    let end = plan(&mut watch, 1_000, 50);
    let one = only(&watch, end);
    assert_eq!((one.of, one.for_ns, one.is_inferred, one.is_at_least), ((0, SCAN), 3_000 * MS, true, true));
    assert_eq!(one.culprit, Some((0, PLAN)));
    // One callback hangs, and the thread does not look at timers.
    let mut watch = self::watch(false);
    take(&mut watch, &[starts(step(SCAN, 1, 0), 0), ends(step(SCAN, 1, 0), 1), starts(step(PLAN, 2, 0), 2)]);
    let one = only(&watch, 5_001);
    assert_eq!((one.of, one.for_ns, one.is_inferred, one.is_at_least), ((0, SCAN), 5_000 * MS, true, false));
    assert_eq!((one.reason, one.culprit), (Reason::Priority, Some((0, PLAN))));
}

/// The recording begins while the planner runs and the scanner waits: its snapshot says so.
#[test]
fn activations_found_waiting_are_told_from_the_snapshot_on() {
    let mut watch = watch(false);
    let ready =
        Event::FoundReady { step: step(SCAN, 41, 0), release: at(1_025), deadline: at(1_050), is_polled: false };
    let found = [(1_100, ready), (1_100, Event::FoundRunning { step: step(PLAN, 40, 0) })];
    take(&mut watch, &found);
    // Another sink starts later, and has the same events.
    take(&mut watch, &found);
    let one = only(&watch, 3_000);
    assert_eq!((one.of, one.is_inferred, one.is_at_least), ((0, SCAN), false, true));
    assert_eq!((one.reason, one.culprit), (Reason::Priority, Some((0, PLAN))));
    take(&mut watch, &[ends(step(PLAN, 40, 0), 3_000), starts(step(SCAN, 41, 0), 3_000)]);
    assert!(watch.overdue(3_010 * MS).iter().all(|one| one.of != (0, SCAN)));

    // A suspended callback holds the group of both.
    let mut watch = self::watch(true);
    let ready =
        Event::FoundReady { step: step(SCAN, 41, 0), release: at(1_025), deadline: at(1_050), is_polled: false };
    take(&mut watch, &[(1_100, ready), (1_100, Event::FoundSuspended { step: step(PLAN, 40, 0) })]);
    let one = only(&watch, 3_000);
    assert_eq!((one.of, one.reason, one.culprit), ((0, SCAN), Reason::Group, Some((0, PLAN))));
}

/// The kernel runs another program between two plans, of which the second one waits already.
#[test]
fn a_thread_that_the_kernel_does_not_run_is_not_free() {
    let mut watch = watch(false);
    for number in 0..50 {
        let step = step(PLAN, number, 0);
        let begin = number * 65;
        let release = at(begin.saturating_sub(10));
        let starts = Event::Dispatched { step, thread: 0, release, cpu_ns: 0 };
        take(&mut watch, &[(begin, starts), ends(step, begin + 60)]);
    }
    assert_eq!(only(&watch, 49 * 65 + 60).culprit, Some((0, PLAN)));
}

#[test]
fn a_timer_that_a_free_thread_did_not_run_is_cancelled() {
    let mut watch = watch(false);
    take(&mut watch, &[starts(step(SCAN, 1, 0), 0), ends(step(SCAN, 1, 0), 1)]);
    take(&mut watch, &[starts(step(PLAN, 2, 0), 50), ends(step(PLAN, 2, 0), 51)]);
    assert_eq!(watch.overdue(10_000 * MS), [], "nothing runs: the program may have ended its spin");
    let end = plan(&mut watch, 100, 50);
    assert_eq!(watch.overdue(end * MS), []);
}

#[test]
fn a_suspended_callback_holds_its_group() {
    let mut watch = watch(true);
    let holder = step(PLAN, 1, 0);
    take(&mut watch, &[starts(holder, 0), (1, Event::Suspended { step: holder, cpu_ns: 0 })]);
    take(&mut watch, &[due(step(SCAN, 2, 0), 25)]);
    let one = only(&watch, 2_000);
    assert_eq!((one.reason, one.culprit), (Reason::Group, Some((0, PLAN))));
    let woken = step(PLAN, 1, 1);
    take(&mut watch, &[starts(woken, 2_000), ends(woken, 2_001)]);
    let shares = watch.shares((0, SCAN), Some(2), 25 * MS, 2_001 * MS);
    assert_eq!(shares, [(Reason::Group, Some((0, PLAN)), 1_976 * MS)]);
    // A group that the callback holds itself is no reason for its own waits.
    assert_eq!(watch.shares((0, PLAN), Some(1), 10 * MS, 2_000 * MS), [(Reason::Idle, None, 1_990 * MS)]);
}

#[test]
fn waits_begin_with_the_work_of_the_executor() {
    let mut watch = watch(false);
    take(&mut watch, &[due(step(SCAN, 1, 0), 25)]);
    assert_eq!(watch.overdue(10_000 * MS), [], "it has not spun yet");
    assert_eq!(watch.skipped_before_spin(0, SCAN, 1_025 * MS, 50), 40);
    let end = plan(&mut watch, 10_000, 2);
    assert_eq!(watch.overdue(end * MS), []);
    let end = plan(&mut watch, end, 2);
    assert_eq!(only(&watch, end).for_ns, 240 * MS);
}

#[test]
fn withdrawn_and_lost_activations_are_not_told() {
    let mut watch = watch(false);
    take(&mut watch, &[due(step(SCAN, 1, 0), 25)]);
    let end = plan(&mut watch, 0, 20);
    take(&mut watch, &[(end, Event::Dropped { count: 3 })]);
    assert_eq!(watch.overdue(end * MS), []);
    take(&mut watch, &[due(step(SCAN, 2, 0), end), starts(step(PLAN, 3, 0), end)]);
    take(&mut watch, &[(end + 1, Event::Withdrawn { step: step(SCAN, 2, 0) })]);
    assert_eq!(watch.overdue((end + 5_000) * MS), []);
}

/// A timer that holds its group is dropped: from then on, nothing is held.
#[test]
fn a_withdrawn_activation_held_its_group_until_then() {
    let mut watch = watch(true);
    let holder = step(PLAN, 1, 0);
    take(&mut watch, &[starts(holder, 0), (1, Event::Suspended { step: holder, cpu_ns: 0 })]);
    take(&mut watch, &[due(step(SCAN, 2, 0), 25), (1_025, Event::Withdrawn { step: holder })]);
    let shares = watch.shares((0, SCAN), Some(2), 25 * MS, 1_525 * MS);
    assert_eq!(shares, [(Reason::Group, Some((0, PLAN)), 1_000 * MS), (Reason::Idle, None, 500 * MS)]);
}
