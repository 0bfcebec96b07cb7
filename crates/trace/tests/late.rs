//! Recordings that begin while the program runs: they have the state of the executor, and are replayed from it.
#![cfg(feature = "read")]

mod programs;

use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin_core::policy::private::Hooks;
use rospin_core::policy::{POLICIES, View, by_name};
use rospin_core::recording::{Definition, Event, Sink, Words};
use rospin_core::{Activation, EntityId, EntitySpec, GroupId, Policy};
use rospin_engine::{
    Context, ContextOptions, ExecutorOptions, ManualClock, Payload, Priority, Recorder, SpinOptions,
    SubscriptionOptions, TimerOptions,
};
use rospin_trace::replay::{AsRecorded, Replayed, Verdict, check};
use rospin_trace::{ProcessName, Recording, render};

use programs::{Dice, Gate, Program};

/// Sink that keeps everything in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    definitions: Vec<Definition>,
    events: Vec<(u32, Words)>,
}

impl Sink for Memory {
    fn define(&mut self, definition: &Definition) {
        self.0.lock().unwrap().definitions.push(definition.clone());
    }

    fn record(&mut self, thread: u32, events: &[Words]) {
        self.0.lock().unwrap().events.extend(events.iter().map(|words| (thread, *words)));
    }

    fn flush(&mut self) {}
}

impl Memory {
    /// Waits until the recording has the state of the executor: its threads may be amid callbacks.
    fn wait_for_state(&self) {
        let is_state = |(_, words): &(u32, Words)| matches!(Event::decode(words), Some((_, Event::Snapshot { .. })));
        while !self.0.lock().unwrap().events.iter().any(is_state) {
            std::thread::yield_now();
        }
    }

    fn recording(&self) -> Recording {
        let kept = self.0.lock().unwrap();
        let process = ProcessName { name: "robot".into(), process: 7, host: "here".into(), system_offset_ns: 0 };
        Recording::of(&process, &kept.definitions, kept.events.iter().map(|(thread, words)| (*thread, words)))
    }
}

fn replayed(memory: &Memory) -> Replayed {
    check(&memory.recording(), &AsRecorded).remove(0)
}

fn same(memory: &Memory) -> Replayed {
    let replayed = replayed(memory);
    assert_eq!(replayed.verdict, Verdict::Same, "{replayed}\n{}", render(&memory.recording()));
    replayed
}

/// A policy that makes one mistake when it is asked to: it picks the second activation in place of the first.
struct Mutant {
    inner: Box<dyn Hooks>,
    /// 1 while a mistake is wanted, 2 once it was made.
    mistake: Arc<AtomicU8>,
}

impl Policy for Mutant {
    fn name(&self) -> &'static str {
        self.inner.name()
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
        if self.mistake.load(Ordering::Relaxed) == 1
            && let Some(second) = self.inner.pick(view)
        {
            self.mistake.store(2, Ordering::Relaxed);
            self.inner.release(&first);
            return Some(second);
        }
        Some(first)
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

    fn with_hooks(self: Box<Self>) -> Box<dyn Hooks> {
        self
    }
}

impl Hooks for Mutant {
    fn orders_by_release(&self) -> bool {
        self.inner.orders_by_release()
    }

    fn visit_ready_set(&self, visit: &mut dyn FnMut(&Activation)) {
        self.inner.visit_ready_set(visit);
    }
}

/// Fifty random programs, twenty recordings each; every second one begins beside another one. `LATE_RECORDINGS` sets
/// how many there are in all. During the last one of each program, the policy makes a mistake.
#[test]
fn recordings_that_begin_at_any_time_replay_and_find_every_mistake() {
    const EACH: u64 = 20;
    let count = std::env::var("LATE_RECORDINGS").map_or(1000, |count| count.parse().unwrap());
    let mut judged = 0;
    let mut mistakes = 0;
    let mut under_way = 0;
    for seed in 0..u64::div_ceil(count, EACH) {
        let entry = &POLICIES[seed as usize % POLICIES.len()];
        let threads = if seed % 3 == 0 { 1 } else { 3 };
        let recorder = Recorder::new();
        recorder.set_capacity(1 << 16);
        let context = Context::new(ContextOptions::new().recorder(recorder.clone()).on_incident(|_| {}));
        let mistake = Arc::new(AtomicU8::new(0));
        let policy = Mutant { inner: by_name(entry.name).unwrap().with_hooks(), mistake: Arc::clone(&mistake) };
        let executor = context.create_executor(ExecutorOptions::new("main").threads(threads).policy(policy));
        let mut program = Program::new(&context, &executor, Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1));
        let spinning = executor.handle();
        let spin = std::thread::spawn(move || _ = executor.spin(SpinOptions::new()));
        program.drive();
        for number in 0..EACH {
            let beside = if number % 2 == 1 { Some(recorder.start(Memory::default()).unwrap()) } else { None };
            program.publish();
            let memory = Memory::default();
            let sink = recorder.start(memory.clone()).unwrap();
            if number == EACH - 1 {
                memory.wait_for_state();
                mistake.store(1, Ordering::Relaxed);
            }
            program.drive();
            program.change(number);
            sink.stop();
            if let Some(beside) = beside {
                beside.stop();
            }
            if mistake.load(Ordering::Relaxed) == 2 {
                mistakes += 1;
                let replayed = replayed(&memory);
                assert!(matches!(replayed.verdict, Verdict::Differs(_)), "seed {seed}: {replayed}");
            } else {
                let replayed = same(&memory);
                // If the recording thread does not run for long amid its last round, it has what one thread did, and
                // not what others did.
                judged += u64::from(replayed.decisions > 10);
                under_way += u64::from(replayed.notes.iter().any(|note| note.contains("begins while")));
            }
        }
        program.gate.open();
        spinning.halt();
        spin.join().unwrap();
    }
    assert!(mistakes > count / EACH / 2 && under_way > count / 2, "{mistakes} mistakes, {under_way} began amid work");
    assert!(judged > count / 2, "{judged} of {count} recordings had enough to compare");
}

/// A callback is suspended for the whole recording, and holds the group of an urgent one.
#[test]
fn a_group_that_is_held_through_the_recording_is_known_to_be_held() {
    for entry in POLICIES {
        let recorder = Recorder::new();
        let context = Context::new(ContextOptions::new().manual_clock(ManualClock::new()).recorder(recorder.clone()));
        let policy = by_name(entry.name).unwrap();
        let executor = context.create_executor(ExecutorOptions::new("main").boxed_policy(policy));
        let publisher = context.create_local_publisher::<u64>("topic").unwrap();
        let held = context.create_local_publisher::<u64>("hold").unwrap();
        let group = executor.create_group("g", 0_u64);
        let other = executor.create_group("h", ());
        let gate = Arc::new(Gate::default());
        let at = Arc::clone(&gate);
        let _holder = group.create_local_subscription_async("hold", move |_: Payload<u64>, _: Arc<u64>| {
            let at = Arc::clone(&at);
            async move { at.pass().await }
        });
        let urgent = SubscriptionOptions::new("topic").name("urgent").priority(Priority(9));
        let _urgent = group.create_local_subscription(urgent, |count: &mut u64, _: Arc<u64>| *count += 1);
        let low = SubscriptionOptions::new("topic").name("low").priority(Priority(1));
        let _low = other.create_local_subscription(low, |(): &mut (), _: Arc<u64>| {});
        let timer = TimerOptions::periodic(Duration::from_millis(5)).name("timer");
        let _timer = other.create_timer(timer, |(): &mut (), _| {}).unwrap();
        held.publish(0);
        executor.spin(SpinOptions::spin_all()).unwrap();
        let memory = Memory::default();
        recorder.start(memory.clone()).unwrap();
        for round in 0..3 {
            publisher.publish(round);
            executor.spin(SpinOptions::spin_all()).unwrap();
        }
        recorder.flush();
        let replayed = same(&memory);
        assert_eq!((replayed.decisions, &*replayed.executor), (3, "main"), "{}: {replayed}", entry.name);
        let text = render(&memory.recording());
        for part in ["state      of main", "  waiting  g/hold", "  armed    timer"] {
            assert!(text.contains(part), "{text}");
        }
        gate.open();
        executor.spin(SpinOptions::spin_all()).unwrap();
        recorder.stop();
        assert_eq!(same(&memory).decisions, 7);
    }
}

/// The callback was removed while it runs, and holds its group until it ends. Nothing else knows of it.
#[test]
fn a_callback_that_was_removed_while_it_runs_holds_its_group() {
    let recorder = Recorder::new();
    let context = Context::new(ContextOptions::new().recorder(recorder.clone()));
    let executor = context.create_executor(ExecutorOptions::new("main").threads(2));
    let publisher = context.create_local_publisher::<u64>("topic").unwrap();
    let removed = context.create_local_publisher::<u64>("removed").unwrap();
    let group = executor.create_group("g", ());
    let other = executor.create_group("h", ());
    let (runs, running) = channel();
    let (go_on, held) = channel::<()>();
    let gone = group.create_local_subscription("removed", move |(): &mut (), _: Arc<u64>| {
        runs.send(()).unwrap();
        held.recv().unwrap();
    });
    let _urgent = {
        let options = SubscriptionOptions::new("topic").name("urgent").priority(Priority(9));
        group.create_local_subscription(options, |(): &mut (), _: Arc<u64>| {})
    };
    let (ended, ends) = channel();
    let _low = other.create_local_subscription("topic", move |(): &mut (), _: Arc<u64>| ended.send(()).unwrap());
    let spinning = executor.handle();
    let spin = std::thread::spawn(move || _ = executor.spin(SpinOptions::new()));
    removed.publish(0);
    running.recv().unwrap();
    drop(gone);
    // Another entity, which takes the place of the one that was removed.
    let _later = other.create_local_subscription("later", |(): &mut (), _: Arc<u64>| {});
    let memory = Memory::default();
    recorder.start(memory.clone()).unwrap();
    for round in 0..3 {
        publisher.publish(round);
        ends.recv().unwrap();
    }
    go_on.send(()).unwrap();
    // The urgent one runs before the last one.
    publisher.publish(4);
    ends.recv().unwrap();
    spinning.halt();
    spin.join().unwrap();
    recorder.stop();
    same(&memory);
    let text = render(&memory.recording());
    assert!(text.contains("  running  g/removed #0") && text.contains("ends       g/removed #0"), "{text}");
}

/// The policy has built a ready set when the recording begins, and serves it before what is released later.
#[test]
fn a_ready_set_that_is_being_served_is_known() {
    for name in ["wait-set-e1", "wait-set-e2"] {
        let recorder = Recorder::new();
        let context = Context::new(ContextOptions::new().manual_clock(ManualClock::new()).recorder(recorder.clone()));
        let executor = context.create_executor(ExecutorOptions::new("main").boxed_policy(by_name(name).unwrap()));
        let group = executor.create_group("g", ());
        let publishers: Vec<_> = (0..4)
            .map(|number| context.create_local_publisher::<u64>(format!("topic{number}").as_str()).unwrap())
            .collect();
        let subscribe = |number: usize| {
            group.create_local_subscription(
                SubscriptionOptions::new(format!("topic{number}")),
                |(): &mut (), _: Arc<u64>| {},
            )
        };
        let _kept: Vec<_> = (0..4).map(subscribe).collect();
        for publisher in &publishers[1..] {
            publisher.publish(1);
        }
        executor.spin(SpinOptions::spin_once()).unwrap();
        let memory = Memory::default();
        recorder.start(memory.clone()).unwrap();
        // It was registered first, and waits for the next polling point all the same.
        publishers[0].publish(1);
        executor.spin(SpinOptions::spin_all()).unwrap();
        recorder.stop();
        let polled = |(_, words): &&(u32, Words)| {
            matches!(Event::decode(words), Some((_, Event::FoundReady { is_polled: true, .. })))
        };
        assert_eq!(memory.0.lock().unwrap().events.iter().filter(polled).count(), 2);
        assert_eq!(same(&memory).decisions, 3);
    }
}

/// An earlier version wrote the file, while a callback was suspended that no event names.
#[test]
fn an_old_recording_that_begins_late_is_not_judged() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/late.mcap");
    let replayed = check(&Recording::open(Path::new(file)).unwrap().remove(0), &AsRecorded).remove(0);
    let Verdict::NotChecked(reason) = &replayed.verdict else { panic!("{replayed}") };
    assert!(reason.contains("begins while the executor works") && reason.contains("record it anew"), "{reason}");
}
