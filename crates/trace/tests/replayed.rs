//! Replays of recordings: what real threads decided is what the scheduling core decides from the recording.
#![cfg(feature = "read")]

mod programs;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rospin_core::policy::{FixedPriority, Ordered, POLICIES, View, by_name};
use rospin_core::recording::{Event, Rules, Step};
use rospin_core::{Activation, EntityId, EntityKind, EntitySpec, GroupId, Instant, Order, Policy};
use rospin_engine::{
    Context, ContextOptions, Executor, ExecutorOptions, ManualClock, Priority, Recorder, SpinOptions,
    SubscriptionOptions,
};
use rospin_trace::names::Name;
use rospin_trace::replay::{AsRecorded, Candidate, Replayed, State, Verdict, check};
use rospin_trace::{FileSink, ProcessName, Recorded, Recording};

use programs::{Dice, Program};

fn temporary(name: &str) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("rospin-replay-{}-{name}-{number}.mcap", std::process::id()))
}

/// Runs a random program under the policy for some time, and returns what was recorded.
fn recorded(policy: &str, threads: u16, seed: u64) -> Recording {
    let dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let recorder = Recorder::new();
    recorder.set_capacity(1 << 18);
    let context = Context::new(ContextOptions::new().recorder(recorder.clone()).on_incident(|_| {}));
    let path = temporary(policy);
    let process = ProcessName::of_this(Recorder::steady_ns());
    let starts_late = seed % 5 == 4;
    if !starts_late {
        recorder.start(FileSink::create(&path, &process).unwrap()).unwrap();
    }
    let options = ExecutorOptions::new("main").threads(threads).boxed_policy(by_name(policy).unwrap());
    let executor = context.create_executor(options);
    let mut program = Program::new(&context, &executor, dice);
    let spinning = executor.handle();
    let spin = std::thread::spawn(move || executor_spin(&executor));
    if starts_late {
        std::thread::sleep(Duration::from_millis(10));
        recorder.start(FileSink::create(&path, &process).unwrap()).unwrap();
    }
    for round in 0..8_u64 {
        program.drive();
        program.change(round);
    }
    spinning.halt();
    spin.join().unwrap();
    recorder.stop();
    let recording = Recording::open(&path).unwrap().remove(0);
    std::fs::remove_file(path).unwrap();
    recording
}

/// Fixed priorities, but for one pick: the second activation in place of the first.
struct Mutant {
    inner: FixedPriority,
    /// The number of picks until the mistake; `None` once it was made.
    until_mistake: Option<u64>,
}

impl Policy for Mutant {
    fn name(&self) -> &'static str {
        "fixed-priority"
    }

    fn register(&mut self, id: EntityId, spec: &EntitySpec) {
        self.inner.register(id, spec);
    }

    fn unregister(&mut self, id: EntityId, spec: &EntitySpec) {
        self.inner.unregister(id, spec);
    }

    fn release(&mut self, activation: &Activation) {
        self.inner.release(activation);
    }

    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        let first = self.inner.pick(view)?;
        let Some(left) = self.until_mistake.take() else { return Some(first) };
        self.until_mistake = left.checked_sub(1);
        if left > 0 {
            return Some(first);
        }
        let second = self.inner.pick(view);
        if second.is_some() {
            self.inner.release(&first);
        } else {
            self.until_mistake = Some(0);
        }
        second.or(Some(first))
    }

    fn group_freed(&mut self, group: GroupId) {
        self.inner.group_freed(group);
    }

    fn withdraw(&mut self, activation: &Activation) {
        self.inner.withdraw(activation);
    }

    fn has_candidates(&self) -> bool {
        self.inner.has_candidates()
    }
}

/// Runs three callbacks of different priorities, which are all ready whenever one is picked, ten times.
fn robot(policy: impl Policy + 'static) -> Recording {
    let recorder = Recorder::new();
    let clock = ManualClock::new();
    let context = Context::new(ContextOptions::new().manual_clock(clock.clone()).recorder(recorder.clone()));
    let path = temporary("robot");
    let process = ProcessName { name: "robot".into(), process: 7, host: "here".into(), system_offset_ns: 0 };
    recorder.start(FileSink::create(&path, &process).unwrap()).unwrap();
    let executor = context.create_executor(ExecutorOptions::new("main").policy(policy));
    let publisher = context.create_local_publisher::<u64>("topic").unwrap();
    let group = executor.create_group("robot", ());
    let subscriptions: Vec<_> = [("low", 1), ("middle", 5), ("high", 9)]
        .into_iter()
        .map(|(name, priority)| {
            let options = SubscriptionOptions::new("topic").name(name).priority(Priority(priority));
            group.create_local_subscription(options, |(), _: Arc<u64>| {})
        })
        .collect();
    for round in 0..10 {
        clock.advance(Duration::from_millis(1));
        publisher.publish(round);
        executor.spin(SpinOptions::spin_all()).unwrap();
    }
    recorder.stop();
    drop(subscriptions);
    let recording = Recording::open(&path).unwrap().remove(0);
    std::fs::remove_file(path).unwrap();
    recording
}

#[test]
fn a_mutated_policy_is_found_at_its_first_different_decision() {
    assert_eq!(only(&robot(FixedPriority::new())).verdict, Verdict::Same);
    for mistake in 0..20 {
        let recording = robot(Mutant { inner: FixedPriority::new(), until_mistake: Some(mistake) });
        let replayed = only(&recording);
        let Verdict::Differs(difference) = &replayed.verdict else { panic!("{replayed}") };
        // Of three, the last one has no second one behind it, and the mistake is made one pick later.
        let expected = mistake + u64::from(mistake % 3 == 2);
        assert_eq!(difference.decision, expected + 1, "{replayed}");
        let names = |choice: &Option<Candidate>| choice.as_ref().map(|choice| choice.callback.clone()).unwrap();
        let wanted = if expected % 3 == 0 { ("middle", "high") } else { ("low", "middle") };
        assert_eq!((names(&difference.recorded).as_str(), names(&difference.replayed).as_str()), wanted);
        assert_eq!(difference.ready.len() as u64, 3 - expected % 3);
        // The recording begins a millisecond before the first round.
        assert_eq!(difference.since_begin_ns, (expected / 3 + 1) * 1_000_000);
        assert!(difference.ready.iter().all(|ready| ready.state == State::MayRun), "{replayed}");
        let told = replayed.to_string();
        assert!(told.contains("recorded: ") && told.contains("in the order of registration"), "{told}");
    }
}

#[test]
fn another_policy_is_found_at_its_first_different_decision() {
    let recording = robot(FixedPriority::new());
    let fifo = |_: &str, _: &str| by_name("fifo").map_err(|error| error.to_string());
    let replayed = check(&recording, &fifo).remove(0);
    let Verdict::Differs(difference) = &replayed.verdict else { panic!("{replayed}") };
    assert_eq!((difference.decision, replayed.replayed_policy.as_str()), (1, "fifo"));
    let told = replayed.to_string();
    assert!(told.contains("recorded fixed-priority, replayed fifo"), "{told}");
    assert!(told.contains("recorded: high #2") && told.contains("replayed: low #0"), "{told}");
    assert_eq!(told.lines().filter(|line| line.contains("may run")).count(), 3, "{told}");
}

#[test]
fn policies_of_programs_are_named_and_can_be_given() {
    let recording = robot(Ordered::<ServicesFirst>::new());
    let Verdict::NotChecked(reason) = only(&recording).verdict else { panic!("there is no such policy") };
    assert!(reason.contains("`services-first`") && reason.contains("replay::check"), "{reason}");
    let own = |_: &str, recorded: &str| -> Result<Box<dyn Policy>, String> {
        assert_eq!(recorded, "services-first");
        Ok(Box::new(Ordered::<ServicesFirst>::new()))
    };
    assert_eq!(check(&recording, &own).remove(0).verdict, Verdict::Same);
}

#[derive(Default)]
struct ServicesFirst;

impl Order for ServicesFirst {
    type Key = bool;

    fn name(&self) -> &'static str {
        "services-first"
    }

    fn key(&self, activation: &Activation) -> bool {
        activation.kind != EntityKind::Service
    }
}

/// Events that were lost, doubled, moved and changed: a verdict, whichever it is, and no panic.
#[test]
fn broken_recordings_give_a_verdict() {
    let mut dice = Dice(7);
    for policy in POLICIES {
        let whole = recorded(policy.name, 2, 3);
        for _ in 0..60 {
            let mut broken = whole.clone();
            for _ in 0..=dice.below(6) {
                let count = broken.events.len() as u64;
                let at = dice.below(count) as usize;
                let other = dice.below(count) as usize;
                match dice.below(5) {
                    0 => _ = broken.events.remove(at),
                    1 => broken.events.insert(at, whole.events[other % whole.events.len()]),
                    2 => broken.events.swap(at, other),
                    3 => _ = broken.events.drain(at..(at + 50).min(count as usize)),
                    _ => {
                        let mut words = broken.events[at].event.encode(broken.events[at].at);
                        let place = 1 + dice.below(5) as usize;
                        words[place] ^= 1 << dice.below(if place == 1 { 40 } else { 4 });
                        if let Some((at_time, event)) = Event::decode(&words) {
                            (broken.events[at].at, broken.events[at].event) = (at_time, event);
                        }
                    }
                }
            }
            if dice.below(4) == 0 {
                let place = dice.below(broken.names.len() as u64) as usize;
                broken.names.remove(place);
            }
            for replayed in check(&broken, &AsRecorded) {
                assert!(!replayed.to_string().is_empty());
            }
        }
    }
}

/// A recording of 300 000 events in which no activation ends. Time that grows with the square of their number would be
/// hours.
#[test]
fn a_hostile_recording_takes_no_hours() {
    let begin = std::time::Instant::now();
    for kind in 0..4 {
        let mut names = vec![Name::Executor { executor: 0, name: "main".into(), policy: "fifo".into(), threads: 1 }];
        let rules = Rules { group: 1, registration: 0, max_in_flight: 1 << 21, frees_group: true, precedes_all: false };
        names.push(Name::Entity {
            executor: 0,
            entity: 1,
            account: 1,
            name: "hostile".into(),
            group: "open".into(),
            excludes: false,
            kind: "subscription".into(),
            priority: 0,
            deadline_ns: None,
            period_ns: None,
            rules: Some(rules),
        });
        let event = |number: u64| {
            let step = Step { executor: 0, entity: 1, sequence: number, segment: 0 };
            let resumed = Step { segment: 1, ..step };
            let at = Instant::from_nanos(number + 1);
            let event = match kind {
                0 => Event::Dispatched { step, thread: 0, release: at, cpu_ns: 0 },
                1 => Event::Released { step: resumed, release: at, deadline: Instant::MAX },
                2 => Event::Suspended { step, cpu_ns: 0 },
                _ => Event::Completed { step, deadline: Instant::MAX, cpu_ns: 0 },
            };
            Recorded { thread: 1, at, event }
        };
        let mut recording = Recording::default();
        (recording.names, recording.events) = (names, (0..300_000).map(event).collect());
        let verdict = check(&recording, &AsRecorded).remove(0).verdict;
        assert!(matches!(verdict, Verdict::NotChecked(_)), "kind {kind}: {verdict:?}");
    }
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

/// Returns a recording of an executor with three threads and the subscriptions `ear`, 1, and `eye`, 2, in a mutually
/// exclusive group. The events are given with their threads, and are a nanosecond apart.
fn of_two_subscriptions(events: &[(u32, Event)]) -> Recording {
    let mut recording = Recording::default();
    recording.names.push(Name::Executor { executor: 0, name: "main".into(), policy: "fifo".into(), threads: 3 });
    let rules = Rules { group: 1, registration: 0, max_in_flight: 1, frees_group: false, precedes_all: false };
    for (entity, name) in [(1, "ear"), (2, "eye")] {
        recording.names.push(Name::Entity {
            executor: 0,
            entity,
            account: entity,
            name: name.into(),
            group: "group".into(),
            excludes: true,
            kind: "subscription".into(),
            priority: 0,
            deadline_ns: None,
            period_ns: None,
            rules: Some(rules),
        });
    }
    for (at, (thread, event)) in (2..).zip(events) {
        recording.events.push(Recorded { thread: *thread, at: Instant::from_nanos(at), event: *event });
    }
    recording
}

/// A recording began while another one ended: it has what the first thread did in the old one, and not what the second
/// thread did, which dispatched the callback. Then it begins anew.
#[test]
fn a_recording_that_begins_anew_may_lack_what_was_before() {
    let step = |sequence| Step { executor: 0, entity: 1, sequence, segment: 0 };
    let begins = |number| Event::HandedOver { executor: 0, number, previous: u64::MAX, count: 0 };
    let state = Event::Snapshot { executor: 0, count: 1 };
    let release = Instant::from_nanos(1);
    let deadline = Instant::MAX;
    let events = [
        (1, begins(5)),
        (1, state),
        (1, Event::FoundReady { step: step(1), release, deadline, is_polled: false }),
        (3, begins(9)),
        (3, state),
        (3, Event::FoundRunning { step: step(1) }),
        (3, Event::Released { step: step(2), release, deadline }),
        (3, Event::Completed { step: step(1), deadline, cpu_ns: 0 }),
        (3, Event::Dispatched { step: step(2), thread: 2, release, cpu_ns: 0 }),
    ];
    let replayed = only(&of_two_subscriptions(&events));
    assert_eq!((replayed.verdict, replayed.decisions), (Verdict::Same, 1));
}

/// A recording lacks what the second thread did, and begins anew later: what is behind the new state is compared.
#[test]
fn what_follows_a_gap_is_compared_from_a_new_state_on() {
    let step = |entity, sequence| Step { executor: 0, entity, sequence, segment: 0 };
    let begins = |number| Event::HandedOver { executor: 0, number, previous: u64::MAX, count: 0 };
    let release = Instant::from_nanos(1);
    let deadline = Instant::MAX;
    let found = |sequence| Event::FoundReady { step: step(1, sequence), release, deadline, is_polled: false };
    let later = Instant::from_nanos(2);
    let events = [
        (1, begins(5)),
        (1, Event::Snapshot { executor: 0, count: 1 }),
        (1, found(1)),
        // Turn 6 is missing.
        (1, Event::HandedOver { executor: 0, number: 7, previous: 6, count: 3 }),
        (1, Event::Completed { step: step(2, 9), deadline, cpu_ns: 0 }),
        (3, begins(9)),
        (3, Event::Snapshot { executor: 0, count: 1 }),
        (3, found(2)),
        (3, Event::Released { step: step(2, 3), release: later, deadline }),
        // First in, first out would have run the other one.
        (3, Event::Dispatched { step: step(2, 3), thread: 2, release: later, cpu_ns: 0 }),
    ];
    let replayed = only(&of_two_subscriptions(&events));
    assert!(matches!(replayed.verdict, Verdict::Differs(_)), "{replayed:?}");
    assert!(replayed.notes.iter().any(|note| note.starts_with("1 events were not compared")), "{replayed:?}");
}

#[test]
fn a_recording_without_events_or_executors_is_none() {
    assert_eq!(check(&Recording::default(), &AsRecorded), []);
}

fn executor_spin(executor: &Executor) {
    executor.spin(SpinOptions::new()).unwrap();
}

fn only(recording: &Recording) -> Replayed {
    check(recording, &AsRecorded).remove(0)
}

#[test]
fn decisions_of_real_threads_are_those_of_the_core() {
    // The recording of every fifth seed begins while callbacks run.
    let seeds = std::env::var("REPLAY_SEEDS").map_or(vec![0, 4], |seeds| (0..seeds.parse().unwrap()).collect());
    for seed in seeds {
        for policy in POLICIES {
            for threads in [1, 3] {
                let recording = recorded(policy.name, threads, seed);
                let replayed = only(&recording);
                assert_eq!(replayed.verdict, Verdict::Same, "seed {seed}: {replayed}");
                assert!(replayed.decisions > 100, "{replayed}\n{}", rospin_trace::render(&recording));
            }
        }
    }
}
