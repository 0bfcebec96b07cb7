//! Tests of the judge with events that are written down: processor times, several threads, hostile ones.

use std::time::Duration;

use rospin_core::recording::{Definition, Event, Sink, Step, Words};
use rospin_core::{EntityKind, Instant};
use rospin_scenario::{Bounds, CallbackLimit, ChainLimit, Scenario};

use super::{Monitor, MonitorSink, ViolationKind};

const SYSTEM: &str = r#"
duration = "1 s"
topics = ["/scan"]
[[executor]]
name = "main"
[[group]]
name = "lidar"
[[group]]
name = "plan"
[[callback]]
name = "lidar"
kind = "timer"
group = "lidar"
period = "10 ms"
execution = "2 ms"
publishes = ["/scan"]
[[callback]]
name = "plan"
kind = "subscription"
group = "plan"
subscribes = "/scan"
deadline = "4 ms"
execution = "3 ms"
depth = 2
[[chain]]
name = "see"
deadline = "6 ms"
callbacks = ["lidar", "plan"]
"#;

const MS: u64 = 1_000_000;

/// A monitor, which gets events of threads. Times are in milliseconds.
struct Run {
    monitor: Monitor,
    sink: MonitorSink,
}

impl Run {
    fn new(system: &str, bounds: Option<&Bounds>) -> Self {
        let monitor = Monitor::new(&Scenario::parse(system).unwrap(), bounds);
        let mut sink = monitor.sink();
        sink.define(&Definition::Executor {
            executor: 0,
            name: "main".into(),
            policy: "fixed-priority".into(),
            threads: 1,
        });
        let mut entity = |entity, name: &str, kind, period| {
            sink.define(&Definition::Entity {
                executor: 0,
                entity,
                account: entity + 100,
                name: name.into(),
                group: name.into(),
                excludes: true,
                kind,
                priority: 0,
                deadline: None,
                period,
                rules: None,
            });
        };
        entity(1, "lidar", EntityKind::Timer, Some(Duration::from_millis(10)));
        entity(2, "plan", EntityKind::Subscription, None);
        sink.define(&Definition::Queue { queue: 7, account: 102, topic: "scan".into(), depth: 2 });
        let mut run = Self { monitor, sink };
        // The executors spin from the beginning on.
        run.record(90, &[0, 9].map(|executor| (0.0, Event::PollingPoint { executor, thread: 0 })));
        run
    }

    fn record(&mut self, thread: u32, events: &[(f64, Event)]) {
        let at = |ms: f64| Instant::from_nanos((ms * 1e6) as u64);
        let words: Vec<Words> = events.iter().map(|(ms, event)| event.encode(at(*ms))).collect();
        self.sink.record(thread, &words);
    }

    /// Records an activation: its release, start, end, and the processor time that it used, 0 if that is not recorded.
    /// The events of `inside` happen at its end.
    fn runs(&mut self, entity: u64, sequence: u64, times: (f64, f64, f64), cpu: f64, inside: &[Event]) {
        let (release, start, end) = times;
        let step = Step { executor: 0, entity, sequence, segment: 0 };
        let release = Instant::from_nanos((release * 1e6) as u64);
        let (before, after) = if cpu > 0.0 { (5 * MS, 5 * MS + (cpu * 1e6) as u64) } else { (0, 0) };
        let mut events = vec![(start, Event::Dispatched { step, thread: 0, release, cpu_ns: before })];
        events.extend(inside.iter().map(|event| (end, *event)));
        events.push((end, Event::Completed { step, deadline: Instant::MAX, cpu_ns: after }));
        self.record(1, &events);
    }

    fn told(mut self) -> Vec<String> {
        self.sink.flush();
        let all = self.monitor.counts();
        all.iter().map(|count| format!("{}x {}", count.count, count.worst)).collect()
    }
}

const PUBLISHED: Event = Event::Queued { queue: 7, ticket: 1, displaced: false };
const TAKEN: Event = Event::Taken { queue: 7, ticket: 1 };

#[test]
fn runs_within_the_limits_are_not_told() {
    let mut run = Run::new(SYSTEM, None);
    run.runs(1, 1, (0.0, 0.0, 2.0), 0.0, &[PUBLISHED]);
    run.runs(2, 2, (2.0, 2.5, 5.5), 0.0, &[TAKEN]);
    run.runs(1, 3, (10.0, 10.0, 12.0), 1.0, &[]);
    assert_eq!(run.told(), [""; 0]);
}

/// The thread had 2 ms of the processor in 20 ms: a thread that is no executor's had its core.
#[test]
fn an_inversion_by_a_foreign_thread_is_not_blamed_on_a_callback() {
    let mut run = Run::new(SYSTEM, None);
    run.runs(1, 1, (0.0, 0.0, 8.0), 2.0, &[]);
    run.runs(2, 2, (1.0, 8.0, 9.0), 1.0, &[]);
    assert_eq!(
        run.told(),
        [
            "1x callback `lidar` ran too long: 8ms instead of at most 2ms, because the kernel did not run its thread: \
             preempted or blocked",
            "1x callback `plan` missed its deadline: 8ms instead of at most 4ms, because the kernel did not run the \
             thread of `lidar`: preempted or blocked",
        ]
    );
    let mut run = Run::new(SYSTEM, None);
    run.runs(2, 1, (1.0, 8.0, 9.0), 1.0, &[]);
    assert_eq!(
        run.told(),
        ["1x callback `plan` missed its deadline: 8ms instead of at most 4ms, because the kernel did not run its \
             thread: preempted or blocked"],
        "nothing ran meanwhile"
    );
}

/// A file that was learnt with processor times has those alone, and an interrupt takes longer than a short callback.
#[test]
fn a_thread_that_had_its_core_but_for_an_interrupt_was_not_too_long() {
    let mut run = Run::new(SYSTEM, None);
    run.runs(1, 1, (0.0, 0.0, 2.09), 2.0, &[]);
    run.runs(1, 2, (10.0, 10.0, 12.05), 2.01, &[]);
    assert_eq!(run.told(), ["1x callback `lidar` ran too long: 2.05ms instead of at most 2ms, by its own execution"]);
}

#[test]
fn a_callback_that_was_too_long_is_blamed_also_by_those_behind_the_next_one() {
    let mut run = Run::new(SYSTEM, None);
    run.runs(1, 1, (0.0, 0.0, 8.0), 7.9, &[]);
    run.runs(3, 2, (0.0, 8.0, 9.0), 1.0, &[]);
    run.runs(2, 3, (8.5, 9.0, 13.2), 3.0, &[]);
    run.runs(2, 4, (8.6, 13.2, 16.2), 3.0, &[]);
    let told = run.told();
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!(told[0], "1x callback `lidar` ran too long: 8ms instead of at most 2ms, by its own execution");
    assert!(told[1].starts_with("1x callback `plan` ran too long"), "{told:?}");
    // The first one was late by the kernel. The second one waited for longer, for which the lidar is to blame.
    let missed = "2x callback `plan` missed its deadline: 7.6ms instead of at most 4ms, because `lidar` ran too long";
    assert_eq!(told[2], missed);
}

#[test]
fn chains_are_followed_along_messages_and_name_the_longest_link() {
    let mut run = Run::new(SYSTEM, None);
    run.runs(1, 1, (0.0, 0.0, 2.0), 0.0, &[PUBLISHED]);
    run.runs(3, 2, (0.0, 2.0, 3.5), 0.0, &[]);
    run.runs(2, 3, (2.0, 3.5, 6.5), 0.0, &[TAKEN]);
    // Another message, which the timer did not publish, starts no chain.
    run.runs(2, 4, (20.0, 20.0, 23.0), 0.0, &[Event::Taken { queue: 7, ticket: 9 }]);
    assert_eq!(
        run.told(),
        [
            "1x callback `plan` missed its deadline: 4.5ms instead of at most 4ms, by its own execution",
            "1x chain `see` missed its deadline: 6.5ms instead of at most 6ms, most of it in `plan`",
        ]
    );
    // Nothing ran for 1.5 ms.
    let mut run = Run::new(SYSTEM, None);
    run.runs(1, 1, (0.0, 1.5, 3.5), 0.0, &[PUBLISHED]);
    run.runs(2, 2, (3.5, 3.5, 6.5), 0.0, &[TAKEN]);
    assert_eq!(
        run.told(),
        ["1x chain `see` missed its deadline: 6.5ms instead of at most 6ms, because the kernel did not run its \
             thread: preempted or blocked"]
    );
}

#[test]
fn proven_bounds_are_compared_too() {
    let scenario = Scenario::parse(SYSTEM).unwrap();
    let mut bounds = Bounds::new(&scenario);
    bounds.callbacks.push(CallbackLimit::new("plan", Duration::from_micros(3_500), Some(3)));
    bounds.chains.push(ChainLimit::new("see", Duration::from_millis(5)));
    let mut run = Run::new(SYSTEM, Some(&bounds));
    run.runs(1, 1, (0.0, 0.0, 2.0), 0.0, &[PUBLISHED]);
    run.runs(3, 2, (0.0, 2.0, 2.6), 0.0, &[]);
    run.runs(2, 3, (2.0, 2.6, 5.6), 0.0, &[TAKEN]);
    let monitor = run.monitor.clone();
    assert_eq!(
        run.told(),
        [
            "1x callback `plan` exceeded its proven bound: 3.6ms instead of at most 3.5ms, by its own execution",
            "1x chain `see` exceeded its proven bound: 5.6ms instead of at most 5ms, most of it in `plan`"
        ]
    );
    let kinds: Vec<_> = monitor.counts().iter().map(|count| count.kind).collect();
    assert_eq!(kinds, [ViolationKind::Bound, ViolationKind::ChainBound]);
    let told = monitor.remarks().join("\n");
    assert!(told.contains("`plan` has a queue of 2; the system file says that 3 messages may wait"), "{told}");
}

#[test]
fn bounds_of_another_system_are_told() {
    let mut bounds = Bounds::new(&Scenario::parse(SYSTEM).unwrap());
    let other = Scenario::parse(&SYSTEM.replace("10 ms", "11 ms")).unwrap();
    assert!(Monitor::new(&other, Some(&bounds)).remarks()[0].contains("another version of the system file"));
    bounds.system.clear();
    assert_eq!(Monitor::new(&other, None).remarks(), [""; 0]);
}

#[test]
fn a_callback_that_hangs_is_told_while_it_runs_and_once() {
    let mut run = Run::new(SYSTEM, None);
    let step = Step { executor: 0, entity: 2, sequence: 1, segment: 0 };
    let release = Instant::ZERO;
    run.record(1, &[(1.0, Event::Dispatched { step, thread: 0, release, cpu_ns: 0 })]);
    let other = |at: f64| (at, Event::Taken { queue: 99, ticket: 0 });
    run.record(2, &[other(2.0), other(900.0), other(1_100.0), other(5_000.0)]);
    let monitor = run.monitor.clone();
    run.sink.flush();
    let told = |monitor: &Monitor| monitor.counts().iter().map(|of| (of.kind, of.count)).collect::<Vec<_>>();
    // The lidar, which it keeps from running, is told of again whenever it has waited twice as long.
    let once = [(ViolationKind::NotRun, 2), (ViolationKind::Execution, 1), (ViolationKind::Deadline, 1)];
    assert_eq!(told(&monitor), once);
    let waits = monitor.counts()[0].worst.to_string();
    assert_eq!(waits, "callback `lidar` has not run for 5.0 s (period 10 ms): `plan` held its thread");
    run.record(1, &[(5_001.0, Event::Completed { step, deadline: Instant::MAX, cpu_ns: 0 })]);
    run.sink.flush();
    assert_eq!(told(&monitor), once);
}

/// A timer is created, and the program is 300 ms slower to spin. All that it finds then is late by itself alone.
#[test]
fn nothing_is_late_because_the_program_did_not_spin_yet() {
    let mut run = Run::new(SYSTEM, None);
    let lidar = Step { executor: 3, entity: 1, sequence: 1, segment: 0 };
    run.sink.define(&Definition::Entity {
        executor: 3,
        entity: 1,
        account: 201,
        name: "lidar".into(),
        group: "lidar".into(),
        excludes: true,
        kind: EntityKind::Timer,
        priority: 0,
        deadline: None,
        period: Some(Duration::from_millis(10)),
        rules: None,
    });
    let at = |ms: u64| Instant::from_nanos(ms * MS);
    run.record(
        3,
        &[
            (10.0, Event::Released { step: lidar, release: at(10), deadline: at(20) }),
            (300.0, Event::Overrun { executor: 3, entity: 1, count: 28 }),
            (300.0, Event::Dispatched { step: lidar, thread: 0, release: at(10), cpu_ns: 0 }),
            (302.0, Event::Completed { step: lidar, deadline: at(20), cpu_ns: 0 }),
        ],
    );
    assert_eq!(run.told(), [""; 0]);
}

/// The lidar ran too long right before, but nobody had to wait for it.
#[test]
fn a_callback_that_did_not_wait_is_late_by_itself() {
    let mut run = Run::new(SYSTEM, None);
    run.runs(1, 1, (0.0, 0.0, 8.0), 0.0, &[]);
    run.runs(2, 2, (8.0, 8.0, 13.0), 0.0, &[]);
    let told = run.told();
    assert_eq!(told[2], "1x callback `plan` missed its deadline: 5ms instead of at most 4ms, by its own execution");
}

#[test]
fn tolerated_misses_are_not_told() {
    let tolerant = SYSTEM.replace("deadline = \"4 ms\"", "deadline = \"4 ms\"\ntolerates = { misses = 1, of = 3 }");
    let misses = |late: &[bool]| {
        let mut run = Run::new(&tolerant, None);
        for (number, late) in (0_u32..).zip(late) {
            let at = f64::from(number) * 10.0;
            run.runs(
                2,
                u64::from(number),
                (at, at + if *late { 2.0 } else { 0.0 }, at + if *late { 5.0 } else { 3.0 }),
                0.0,
                &[],
            );
        }
        run.told().len()
    };
    assert_eq!(misses(&[true, false, false, true, false, false, true]), 0);
    assert_eq!(misses(&[true, false, true]), 1);
}

#[test]
fn events_of_nothing_that_is_known_do_no_harm() {
    let mut run = Run::new(SYSTEM, None);
    let step = |entity, segment| Step { executor: 9, entity, sequence: u64::MAX, segment };
    run.record(
        4,
        &[
            (1.0, Event::Completed { step: step(5, 0), deadline: Instant::ZERO, cpu_ns: 1 }),
            (0.0, Event::Suspended { step: step(5, 7), cpu_ns: u64::MAX }),
            (9.0, Event::Dispatched { step: step(5, 1), thread: 9, release: Instant::ZERO, cpu_ns: u64::MAX }),
            (2.0, Event::Completed { step: step(5, 1), deadline: Instant::ZERO, cpu_ns: 0 }),
            (3.0, Event::Taken { queue: 1, ticket: 0 }),
            (3.0, Event::Queued { queue: 7, ticket: u64::MAX, displaced: true }),
            (3.0, Event::Lost { account: 102, cause: 0, count: u64::MAX }),
            (3.0, Event::Lost { account: 102, cause: 0, count: u64::MAX }),
            (3.0, Event::Lost { account: 5, cause: 200, count: 1 }),
            (4.0, Event::Dropped { count: 3 }),
        ],
    );
    let monitor = run.monitor.clone();
    let told = run.told();
    assert!(told.iter().any(|told| told.contains("`without a name` missed its deadline")), "{told:?}");
    assert_eq!(monitor.dropped(), 3);
}

/// Messages that no callback takes, such as those that a queue drops because they wait in two places, do not stay for
/// ever, and those after them are followed all the same.
#[test]
fn messages_that_nobody_takes_are_forgotten() {
    let mut run = Run::new(SYSTEM, None);
    for sequence in 0..100_000_u64 {
        let published = Event::Queued { queue: 7, ticket: sequence, displaced: false };
        let at = sequence as f64 * 10.0;
        run.runs(1, sequence, (at, at, at + 1.0), 0.0, &[published]);
        run.sink.end_round();
    }
    run.sink.flush();
    let tags = run.monitor.lock().judge.queues[&7].remembered();
    assert!(tags <= 128, "{tags}");
    let at = 1_000_000.0;
    run.runs(1, 100_000, (at, at, at + 1.0), 0.0, &[Event::Queued { queue: 7, ticket: 100_000, displaced: false }]);
    run.runs(2, 100_001, (at + 1.0, at + 1.0, at + 8.0), 0.0, &[Event::Taken { queue: 7, ticket: 100_000 }]);
    let told = run.told();
    assert!(told.iter().any(|told| told.contains("chain `see`")), "{told:?}");
}

/// A program creates and drops subscriptions all the time: the last one is judged as the first.
#[test]
fn queues_that_are_gone_make_room_for_new_ones() {
    let mut run = Run::new(SYSTEM, None);
    for queue in 1_000..100_000_u64 {
        run.sink.define(&Definition::Queue { queue, account: queue, topic: "scan".into(), depth: 1 });
        if queue % 1_000 == 0 {
            // The old queue is in use.
            run.record(3, &[(queue as f64, Event::Taken { queue: 7, ticket: queue })]);
            run.sink.flush();
        }
    }
    let inner = run.monitor.lock();
    let queues = &inner.judge.queues;
    assert!(queues.contains_key(&7) && queues.contains_key(&99_999));
    assert!(queues.len() <= 1 << 16 && inner.judge.depths.len() <= 1 << 16, "{}", queues.len());
}

/// Random events of random numbers: no panic, and no memory without a limit.
#[test]
fn any_events_are_survived() {
    let mut seed = 7_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut run = Run::new(SYSTEM, None);
    for round in 0..2_000_u64 {
        let count = random(20);
        let words: Vec<Words> = (0..count)
            .map(|_| {
                let extreme = |random: &mut dyn FnMut(u64) -> u64| if random(50) == 0 { u64::MAX } else { random(9) };
                let head = (1 + random(23)) | random(5) << 8 | random(3) << 16 | random(2) << 32;
                let fields: [u64; 4] = std::array::from_fn(|_| extreme(&mut random));
                [round * 10 + random(10), head, fields[0], fields[1], fields[2], fields[3]]
            })
            .collect();
        run.sink.record(random(3) as u32, &words);
        run.sink.end_round();
    }
    let _ = run.told();
}

fn step(entity: u64, sequence: u64, segment: u32) -> Step {
    Step { executor: 0, entity, sequence, segment }
}

fn started(step: Step, ms: f64) -> (f64, Event) {
    (ms, Event::Dispatched { step, thread: 0, release: Instant::from_nanos((ms * 1e6) as u64), cpu_ns: 0 })
}

/// A timer that resumes after an await is released then, which is no arrival of the timer.
#[test]
fn a_further_segment_is_no_arrival() {
    let mut run = Run::new(SYSTEM, None);
    run.runs(1, 1, (0.0, 0.0, 1.0), 0.0, &[]);
    run.record(1, &[started(step(1, 2, 1), 16.0), (16.5, Event::Suspended { step: step(1, 2, 1), cpu_ns: 0 })]);
    run.runs(1, 3, (20.0, 20.0, 21.0), 0.0, &[]);
    assert_eq!(run.told(), [""; 0]);
}

/// Whatever the thread runs was not seen to begin: after a gap, and right after the monitor began.
#[test]
fn messages_of_callbacks_that_were_not_seen_are_not_too_many() {
    let mut run = Run::new(SYSTEM, None);
    run.record(1, &[(0.5, PUBLISHED)]);
    run.runs(1, 1, (10.0, 10.0, 11.0), 0.0, &[]);
    run.record(1, &[(5000.0, Event::Dropped { count: 3 }), (5001.0, PUBLISHED)]);
    assert_eq!(run.told(), [""; 0]);
    let mut run = Run::new(SYSTEM, None);
    run.record(1, &[(0.0, TAKEN)]);
    run.record(1, &[(5000.0, PUBLISHED)]);
    assert_eq!(run.told().len(), 1, "a thread that runs no callbacks publishes what only callbacks should");
}

#[test]
fn a_withdrawn_activation_does_not_run_for_ever() {
    let mut run = Run::new(SYSTEM, None);
    run.record(1, &[started(step(1, 1, 0), 0.0), (1.0, Event::Withdrawn { step: step(1, 1, 0) })]);
    run.record(2, &[started(step(2, 2, 0), 5000.0)]);
    assert_eq!(run.told(), [""; 0]);
}

/// Nothing is recorded while the only callback runs, so only a live sink can look.
#[test]
fn a_callback_that_runs_for_ever_is_told_of_by_a_look() {
    let mut run = Run::new(SYSTEM, None);
    run.record(1, &[started(step(1, 1, 0), 0.0)]);
    run.sink.flush();
    let look = |monitor: &Monitor, ms: u64| {
        monitor.judge(|inner| {
            inner.judge.look_at_running(ms * MS);
            Vec::new()
        });
    };
    look(&run.monitor, 900);
    assert_eq!(run.monitor.counts(), []);
    look(&run.monitor, 1_200);
    assert_eq!(
        run.told(),
        [
            "1x callback `lidar` ran too long: 1.2s instead of at most 2ms, by its own execution",
            "1x callback `lidar` missed its deadline: 1.2s instead of at most 10ms, by its own execution",
        ]
    );
}
