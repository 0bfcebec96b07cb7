//! Recordings with several sinks, which come and go.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::{eventually, spin_all, watchdog};
use rospin_engine::recording::{Definition, Event, Sink, Step, Words};
use rospin_engine::{
    Context, ContextOptions, Executor, ExecutorOptions, Publisher, RecordError, Recorder, SpinOptions,
    SubscriptionOptions,
};

/// Events and definitions that a sink was given.
#[derive(Default)]
struct Told {
    executors: HashSet<u16>,
    entities: HashSet<(u16, u64)>,
    queues: HashSet<u64>,
    threads: HashSet<u32>,
    completed: u64,
    /// Events that are missing because a log was full: the recording thread did not run for a while.
    dropped: u64,
    /// True if the state of an executor came after the last missing event.
    knows_state: bool,
    /// Events whose names were not defined before them.
    nameless: Vec<Event>,
    is_flushed: bool,
}

#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Told>>);

impl Sink for Listener {
    fn define(&mut self, definition: &Definition) {
        let mut told = self.0.lock().unwrap();
        match definition {
            Definition::Executor { executor, .. } => _ = told.executors.insert(*executor),
            Definition::Entity { executor, entity, .. } => _ = told.entities.insert((*executor, *entity)),
            Definition::Queue { queue, .. } => _ = told.queues.insert(*queue),
            Definition::Thread { thread, .. } => _ = told.threads.insert(*thread),
            _ => {}
        }
    }

    fn record(&mut self, thread: u32, events: &[Words]) {
        let mut told = self.0.lock().unwrap();
        for (_, event) in events.iter().filter_map(Event::decode) {
            let has_step = |Step { executor, entity, .. }: Step| {
                told.executors.contains(&executor) && told.entities.contains(&(executor, entity))
            };
            let is_named = match event {
                Event::Released { step, .. } | Event::Dispatched { step, .. } | Event::Completed { step, .. } => {
                    has_step(step)
                }
                Event::Queued { queue, .. } | Event::Taken { queue, .. } => told.queues.contains(&queue),
                _ => true,
            };
            told.completed += u64::from(matches!(event, Event::Completed { .. }));
            match event {
                Event::Dropped { count } => {
                    told.dropped += count;
                    told.knows_state = false;
                }
                Event::Snapshot { .. } => told.knows_state = true,
                _ => {}
            }
            if !is_named || !told.threads.contains(&thread) {
                told.nameless.push(event);
            }
        }
    }

    fn flush(&mut self) {
        self.0.lock().unwrap().is_flushed = true;
    }
}

/// An executor with a subscription that counts, and what keeps the subscription there.
fn counting(context: &Context) -> (Executor, Publisher<u64>, Arc<AtomicU64>, impl Sized + Send + use<>) {
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let group = executor.create_group("group", ());
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let topic = SubscriptionOptions::new("topic").keep_last(100_000);
    let subscription =
        group.create_local_subscription(topic, move |(), _: Arc<u64>| _ = counted.fetch_add(1, Ordering::Relaxed));
    (executor, context.create_local_publisher::<u64>("topic").unwrap(), count, (subscription, group))
}

fn recorded() -> (Recorder, Context) {
    let recorder = Recorder::new();
    let context = Context::new(ContextOptions::new().recorder(recorder.clone()));
    (recorder, context)
}

#[test]
fn each_sink_has_the_events_of_its_own_time() {
    watchdog(|| {
        let (recorder, context) = recorded();
        let (executor, publisher, _, _keep) = counting(&context);
        let run = |messages: u64| {
            (0..messages).for_each(|number| _ = publisher.publish(number));
            spin_all(&executor);
        };
        run(1);
        let (first, second) = (Listener::default(), Listener::default());
        let of_first = recorder.start(first.clone()).unwrap();
        run(2);
        assert!(recorder.flush());
        let of_second = recorder.start(second.clone()).unwrap();
        run(4);
        of_first.stop();
        assert!(recorder.is_on() && first.0.lock().unwrap().is_flushed && !second.0.lock().unwrap().is_flushed);
        run(8);
        of_second.stop();
        assert!(!recorder.is_on());
        run(16);
        assert_eq!((first.0.lock().unwrap().completed, second.0.lock().unwrap().completed), (6, 12));
        // Handles of sinks that are gone do nothing.
        let third = Listener::default();
        let of_third = recorder.start(third.clone()).unwrap();
        recorder.stop();
        let fourth = Listener::default();
        recorder.start(fourth.clone()).unwrap();
        of_third.stop();
        run(1);
        recorder.stop();
        assert_eq!((third.0.lock().unwrap().completed, fourth.0.lock().unwrap().completed), (0, 1));
    });
}

/// While an executor spins on its own thread, subscriptions come and go in the places of former ones, and so do sinks.
#[test]
fn a_sink_that_comes_late_has_every_name_that_its_events_use() {
    watchdog(|| {
        let (recorder, context) = recorded();
        let (executor, publisher, count, _keep) = counting(&context);
        let whole = Listener::default();
        recorder.start(whole.clone()).unwrap();
        let (is_over, halt) = (AtomicBool::new(false), executor.handle());
        thread::scope(|scope| {
            scope.spawn(|| executor.spin(SpinOptions::new()).unwrap());
            scope.spawn(|| {
                let group = halt.create_group("more", ());
                let mut sent = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let more = group.create_local_subscription("topic", |(), _: Arc<u64>| {}).unwrap();
                    (0..10).for_each(|number| _ = publisher.publish(number));
                    sent += 10;
                    // So that logs are seldom full.
                    while count.load(Ordering::Relaxed) < sent && !is_over.load(Ordering::Relaxed) {
                        thread::yield_now();
                    }
                    drop(more);
                }
            });
            for _ in 0..40 {
                let late = Listener::default();
                let handle = recorder.start(late.clone()).unwrap();
                let seen = || late.0.lock().unwrap().completed;
                while seen() == 0 {
                    thread::yield_now();
                }
                handle.stop();
                assert_eq!(late.0.lock().unwrap().nameless, []);
            }
            is_over.store(true, Ordering::Relaxed);
            halt.halt();
        });
        recorder.stop();
        let whole = whole.0.lock().unwrap();
        assert_eq!(whole.nameless, []);
        assert!(whole.completed + whole.dropped >= count.load(Ordering::Relaxed));
    });
}

/// A sink that wants to switch its own recorder.
struct Meddling(Recorder, Arc<AtomicBool>);

impl Sink for Meddling {
    fn define(&mut self, _: &Definition) {}
    fn record(&mut self, _: u32, _: &[Words]) {
        self.0.stop();
        assert!(!self.0.flush());
        let refused = matches!(self.0.start(Listener::default()), Err(RecordError::BySink));
        self.1.store(refused, Ordering::Relaxed);
    }
    fn flush(&mut self) {}
}

#[test]
fn a_sink_cannot_switch_its_own_recorder_nor_hang_it() {
    watchdog(|| {
        let (recorder, context) = recorded();
        let (executor, publisher, _, _keep) = counting(&context);
        let was_refused = Arc::new(AtomicBool::new(false));
        recorder.start(Meddling(recorder.clone(), Arc::clone(&was_refused))).unwrap();
        publisher.publish(1);
        spin_all(&executor);
        recorder.stop();
        assert!(was_refused.load(Ordering::Relaxed));
    });
}

/// A sink that panics at its first event.
struct Clumsy;

impl Sink for Clumsy {
    fn define(&mut self, _: &Definition) {}

    fn record(&mut self, _: u32, _: &[Words]) {
        panic!("this sink is clumsy");
    }

    fn flush(&mut self) {}
}

#[test]
fn a_sink_that_panics_leaves_the_others_alone() {
    watchdog(|| {
        let (recorder, context) = recorded();
        let (executor, publisher, _, _keep) = counting(&context);
        let careful = Listener::default();
        let clumsy = recorder.start(Clumsy).unwrap();
        recorder.start(careful.clone()).unwrap();
        for number in 0..3 {
            publisher.publish(number);
            spin_all(&executor);
            assert!(recorder.flush());
        }
        clumsy.stop();
        assert!(recorder.is_on());
        recorder.stop();
        assert_eq!(careful.0.lock().unwrap().completed, 3);
    });
}

/// Sinks come and go on four threads at once, beside one that stays.
#[test]
fn a_sink_that_stays_misses_nothing_when_others_come_and_go() {
    watchdog(|| {
        let (recorder, context) = recorded();
        let (executor, publisher, _, _keep) = counting(&context);
        let steady = Listener::default();
        recorder.start(steady.clone()).unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20).for_each(|_| recorder.start(Listener::default()).unwrap().stop()));
            }
            for number in 0..2_000 {
                publisher.publish(number);
                spin_all(&executor);
            }
        });
        recorder.stop();
        assert_eq!(steady.0.lock().unwrap().completed, 2_000);
    });
}

#[test]
fn executors_tell_their_states_again_after_events_were_lost() {
    watchdog(|| {
        let (recorder, context) = recorded();
        recorder.set_capacity(64);
        let (executor, publisher, _, _keep) = counting(&context);
        let listener = Listener::default();
        recorder.start(listener.clone()).unwrap();
        // A round of the recording thread may come in between, so that nothing is lost.
        while listener.0.lock().unwrap().dropped == 0 {
            for number in 0..200 {
                publisher.publish(number);
            }
            spin_all(&executor);
            assert!(recorder.flush());
        }
        eventually(|| {
            spin_all(&executor);
            assert!(recorder.flush());
            listener.0.lock().unwrap().knows_state
        });
        recorder.stop();
    });
}
