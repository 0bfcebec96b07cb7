//! Recordings of mixed topics: values are recorded as messages of the topic, and what comes through an inlet is not.
#![cfg(feature = "read")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rospin_engine::{
    Carried, Context, ContextOptions, EntityKind, EntityOptions, Envelope, Executor, ExecutorOptions, Instant,
    ManualClock, Mixed, MixedPublisher, MixedQueue, Recorder, SpinOptions, SubscriptionOptions, TimerOptions,
};
use rospin_trace::live::{Feed, Live};
use rospin_trace::{FileSink, Model, ProcessName, Recording};

/// A message from elsewhere, and whether it has expired.
struct Letter {
    is_expired: bool,
    carried: Option<Carried>,
}

fn letter() -> Letter {
    Letter { is_expired: false, carried: None }
}

impl Envelope for Letter {
    fn is_expired(&self, _: Instant) -> bool {
        self.is_expired
    }

    fn order(&self) -> u64 {
        0
    }

    fn came_through_inlet(&self) -> bool {
        true
    }

    fn carried(&mut self) -> Option<&mut Option<Carried>> {
        Some(&mut self.carried)
    }
}

struct World {
    clock: ManualClock,
    recorder: Recorder,
    context: Context,
    executor: Executor,
    publisher: MixedPublisher<u32, Letter>,
    path: PathBuf,
}

impl World {
    fn new(name: &str) -> Self {
        let clock = ManualClock::new();
        let recorder = Recorder::new();
        let context = Context::new(ContextOptions::new().manual_clock(clock.clone()).recorder(recorder.clone()));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let publisher = context.create_mixed_publisher("numbers").unwrap();
        let path = std::env::temp_dir().join(format!("rospin-trace-{}-{name}.mcap", std::process::id()));
        Self { clock, recorder, context, executor, publisher, path }
    }

    fn queue(&self, depth: usize) -> MixedQueue<u32, Letter> {
        self.context.create_mixed_queue(SubscriptionOptions::new("numbers").keep_last(depth), false).unwrap()
    }

    fn spin_all(&self) {
        self.executor.spin(SpinOptions::spin_all()).unwrap();
    }

    /// Records what `run` does.
    fn record(&self, run: impl FnOnce()) {
        self.recorder.start(FileSink::create(&self.path, &ProcessName::of_this(0)).unwrap()).unwrap();
        run();
        self.recorder.stop();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[test]
fn a_value_that_a_callback_displaces_is_no_input_of_that_callback() {
    let world = World::new("displaced");
    let group = world.executor.create_group("group", ());
    let queue = world.queue(1);
    let inlet = queue.inlet();
    let context = world.context.clone();
    let publisher = context.create_mixed_publisher::<u32, Letter>("numbers").unwrap();
    let hear = |(): &mut (), _: Mixed<u32, Letter>| {};
    let _listener = group.create_source(EntityKind::Subscription, EntityOptions::new("listener"), queue, hear).unwrap();
    let talk = TimerOptions::periodic(Duration::from_millis(10)).name("talker");
    let _talker = group.create_timer(talk, move |(), _| {
        publisher.publish(Arc::new(1));
        drop(inlet.push(letter(), context.clock().now(), 0));
    });
    world.record(|| {
        world.clock.advance(Duration::from_millis(10));
        world.spin_all();
    });
    let model = Model::new(&Recording::open(&world.path).unwrap());
    let talker = model.callbacks.iter().find(|callback| callback.name == "talker").unwrap();
    assert_eq!(talker.activations.len(), 1);
    let activation = &model.activations[talker.activations[0]];
    assert_eq!((activation.outputs.len(), activation.inputs.len()), (1, 0));
    assert_eq!(model.messages[activation.outputs[0]].taken, None, "it was lost");
    assert_eq!(talker.topics, Vec::<String>::new(), "it subscribes to nothing");
}

#[test]
fn a_queue_that_had_one_message_at_a_time_was_never_fuller() {
    let world = World::new("fill");
    let group = world.executor.create_group("group", 0);
    let queue = world.queue(10);
    let inlet = queue.inlet();
    let hear = |heard: &mut u32, _: Mixed<u32, Letter>| *heard += 1;
    let listener = group.create_source(EntityKind::Subscription, EntityOptions::new("listener"), queue, hear).unwrap();
    world.record(|| {
        world.publisher.publish(Arc::new(1));
        world.spin_all();
        for _ in 0..8 {
            drop(inlet.push(letter(), world.context.clock().now(), 0));
            world.spin_all();
        }
        world.publisher.publish(Arc::new(2));
        world.spin_all();
    });
    let mut live = Live::default();
    Feed::default().push(&std::fs::read(&world.path).unwrap(), |item| live.take(item)).unwrap();
    let view = live.view(world.context.clock().now().as_nanos());
    let seen = view.callbacks.iter().find(|callback| callback.name == "listener").unwrap();
    assert_eq!(seen.queue_fill, Some((0, 1)));
    drop(listener);
    world.spin_all();
    assert_eq!(group.into_payload().unwrap(), 10);
}

#[test]
fn messages_keep_their_links_in_a_full_queue_with_lifespans() {
    let world = World::new("lifespans");
    let group = world.executor.create_group("group", 0);
    let queue = world.queue(3);
    let inlet = queue.inlet();
    let hear = |heard: &mut u32, _: Mixed<u32, Letter>| *heard += 1;
    let listener = group.create_source(EntityKind::Subscription, EntityOptions::new("listener"), queue, hear).unwrap();
    world.record(|| {
        world.publisher.publish(Arc::new(0));
        world.publisher.publish(Arc::new(1));
        drop(inlet.push(Letter { is_expired: true, carried: None }, world.context.clock().now(), 0));
        world.publisher.publish(Arc::new(2));
        world.publisher.publish(Arc::new(3));
        world.spin_all();
    });
    let model = Model::new(&Recording::open(&world.path).unwrap());
    let is_taken: Vec<_> = model.messages.iter().map(|message| message.taken.is_some()).collect();
    assert_eq!(is_taken, [false, false, true, true]);
    drop(listener);
    world.spin_all();
    assert_eq!(group.into_payload().unwrap(), 3);
}

#[test]
fn the_fill_of_a_queue_is_at_most_its_depth_and_does_not_drift() {
    let world = World::new("drift");
    let group = world.executor.create_group("group", 0);
    let queue = world.queue(2);
    let inlet = queue.inlet();
    let hear = |heard: &mut u32, _: Mixed<u32, Letter>| *heard += 1;
    let listener = group.create_source(EntityKind::Subscription, EntityOptions::new("listener"), queue, hear).unwrap();
    world.record(|| {
        for _ in 0..3 {
            // Each letter displaces a value, and each further value a letter.
            (0..2).for_each(|number| _ = world.publisher.publish(Arc::new(number)));
            (0..2).for_each(|_| drop(inlet.push(letter(), world.context.clock().now(), 0)));
            (0..2).for_each(|number| _ = world.publisher.publish(Arc::new(number)));
        }
        world.spin_all();
    });
    let model = Model::new(&Recording::open(&world.path).unwrap());
    let queue = model.queues.iter().find(|queue| queue.topic == "numbers").unwrap();
    let levels: Vec<_> = queue.levels.iter().map(|(_, level)| *level).collect();
    assert_eq!(levels.len(), 12 + 2);
    assert!(levels.iter().all(|level| *level <= 2), "{levels:?}");
    assert_eq!(levels[12..], [1, 0]);
    drop(listener);
    world.spin_all();
    assert_eq!(group.into_payload().unwrap(), 2);
}
