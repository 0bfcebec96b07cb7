//! Recordings of the engine under a manual clock, read back.
#![cfg(feature = "read")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rospin_core::recording::Event;
use rospin_engine::{
    Context, ContextOptions, ExecutorOptions, ManualClock, Overrun, Priority, Recorder, SpinOptions,
    SubscriptionOptions, TimerOptions,
};
use rospin_trace::chains::chains;
use rospin_trace::{FileSink, Model, ProcessName, Recording, render};

/// A recording of a robot: a timer that publishes twice, a tracker with a queue of one
/// message, a callback that panics, and a planner that misses its deadline.
fn recording(name: &str) -> Recording {
    let path = temporary(name);
    let clock = ManualClock::new();
    let recorder = Recorder::new();
    let options = ContextOptions::new().manual_clock(clock.clone()).recorder(recorder.clone()).on_incident(|_| {});
    let context = Context::new(options);
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let group = executor.create_group("robot", 0_u32);
    let scans = context.create_local_publisher::<u32>("scan").unwrap();
    let tracks = context.create_local_publisher::<u32>("tracks").unwrap();
    let lidar = TimerOptions::periodic(Duration::from_millis(10)).name("lidar").overrun(Overrun::Skip);
    let _lidar = group.create_timer(lidar, move |count, _| {
        *count += 1;
        scans.publish(*count);
        scans.publish(*count + 100);
    });
    let tracker = SubscriptionOptions::new("scan").name("tracker").keep_last(1).priority(Priority(5));
    let moved = clock.clone();
    let busy = tracks;
    let _tracker = group.create_local_subscription(tracker, move |_, scan: Arc<u32>| {
        moved.advance(Duration::from_millis(2));
        busy.publish(*scan);
        assert!(*scan != 103, "the third scan");
    });
    let planner = SubscriptionOptions::new("tracks").name("planner").deadline(Duration::from_millis(1));
    let later = clock.clone();
    let _planner =
        group.create_local_subscription(planner, move |_, _: Arc<u32>| later.advance(Duration::from_millis(3)));

    executor.spin(SpinOptions::spin_all()).unwrap();
    let process = ProcessName { name: "robot".into(), process: 7, host: "here".into(), system_offset_ns: 1_000_000 };
    recorder.start(FileSink::create(&path, &process).unwrap()).unwrap();
    for _ in 0..2 {
        clock.advance(Duration::from_millis(10));
        executor.spin(SpinOptions::spin_all()).unwrap();
    }
    recorder.stop();
    clock.advance(Duration::from_millis(10));
    executor.spin(SpinOptions::spin_all()).unwrap();
    let recording = Recording::open(&path).unwrap().remove(0);
    if name == "golden" && std::env::var_os("ROSPIN_BLESS").is_some() {
        std::fs::copy(&path, golden("golden.mcap")).unwrap();
    }
    std::fs::remove_file(path).unwrap();
    recording
}

fn golden(file: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).join(file)
}

/// Returns the events as lines without the names of threads, which are those of the test, and without the state at the
/// beginning, which the old recording lacks.
fn told(recording: &Recording) -> String {
    let mut story = recording.clone();
    let is_state = |event: &Event| matches!(event, Event::Snapshot { .. } | Event::FoundArmed { .. });
    story.events.retain(|recorded| !is_state(&recorded.event));
    render(&story).lines().map(|line| [&line[..14], &line[31..], "\n"].concat()).collect()
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("rospin-trace-{}-{name}.mcap", std::process::id()))
}

#[test]
fn a_recording_reads_like_a_story() {
    let recording = recording("golden");
    assert_eq!(recording.faults, []);
    let told = told(&recording);
    if std::env::var_os("ROSPIN_BLESS").is_some() {
        std::fs::write(golden("golden.txt"), &told).unwrap();
    }
    assert_eq!(told, std::fs::read_to_string(golden("golden.txt")).unwrap());
}

/// The file was written by an earlier build. A change of the format that fails here needs a new version of it.
#[test]
fn old_recordings_stay_readable() {
    let recording = Recording::open(&golden("golden.mcap")).unwrap().remove(0);
    assert_eq!(recording.faults, []);
    assert_eq!(told(&recording), std::fs::read_to_string(golden("golden.txt")).unwrap());
}

#[test]
fn the_model_has_activations_messages_losses_and_incidents() {
    let model = Model::new(&[recording("model")]);
    let named = |name: &str| model.callbacks.iter().find(|callback| callback.name == name).unwrap();
    let lidar = named("lidar");
    let tracker = named("tracker");
    let planner = named("planner");
    assert_eq!((lidar.period_ns, lidar.group.as_str(), lidar.excludes), (Some(10_000_000), "robot", true));
    assert_eq!((tracker.priority, tracker.topics.as_slice()), (5, &["scan".to_owned()][..]));
    assert_eq!((lidar.activations.len(), tracker.activations.len(), planner.activations.len()), (3, 3, 3));
    let first = &model.activations[planner.activations[0]];
    assert_eq!((first.execution_ns(), first.waiting_ns(), first.response_ns()), (3_000_000, 0, Some(3_000_000)));
    assert!(first.is_late() && planner.deadline_ns == Some(1_000_000));
    let lost: Vec<_> = model.losses.iter().map(|loss| (loss.callback, loss.cause, loss.count)).collect();
    let of_tracker = model.callbacks.iter().position(|callback| callback.name == "tracker");
    assert_eq!(lost, [(of_tracker, "queue full", 1); 3]);
    assert_eq!(model.incidents.iter().map(|incident| incident.callback).collect::<Vec<_>>(), [of_tracker]);
    let chains = chains(&model);
    assert_eq!(chains.len(), 1);
    let labels: Vec<_> = chains[0].callbacks.iter().map(|callback| model.label(*callback)).collect();
    assert_eq!(labels, ["lidar", "tracker", "planner"]);
    assert_eq!(chains[0].latencies_ns(&model).collect::<Vec<_>>(), [5_000_000, 10_000_000, 5_000_000]);
}

#[test]
fn callbacks_of_the_same_name_are_told_apart() {
    let mut model = Model::new(&[recording("twins")]);
    for twin in ["tracker", "planner"] {
        model.callbacks.iter_mut().find(|callback| callback.name == twin).unwrap().name = "twin".to_owned();
    }
    let labels: Vec<_> = (0..model.callbacks.len()).map(|callback| model.label(callback)).collect();
    assert_eq!(labels, ["lidar", "twin (#1)", "twin (#2)"]);
}

#[test]
fn the_user_s_own_trace_goes_on_while_the_executor_is_recorded() {
    let seen = Arc::new(std::sync::Mutex::new(0));
    let count = Arc::clone(&seen);
    let recorder = Recorder::new();
    let context = Context::new(ContextOptions::new().manual_clock(ManualClock::new()).recorder(recorder.clone()));
    let trace = move |_: rospin_engine::Instant, _: rospin_engine::trace::TraceEvent| *count.lock().unwrap() += 1;
    let executor = context.create_executor(ExecutorOptions::new("main").trace(trace));
    let publisher = context.create_local_publisher::<u32>("topic").unwrap();
    let group = executor.create_group("group", ());
    let _subscription = group.create_local_subscription("topic", |(), _: Arc<u32>| {});
    let run = || {
        publisher.publish(1);
        executor.spin(SpinOptions::spin_all()).unwrap();
        std::mem::take(&mut *seen.lock().unwrap())
    };
    let path = temporary("users");
    let before = run();
    recorder.start(FileSink::create(&path, &ProcessName::of_this(0)).unwrap()).unwrap();
    let recorded = run();
    recorder.stop();
    assert_eq!((before, recorded, run()), (3, 3, 3), "release, dispatch, end");
    std::fs::remove_file(path).unwrap();
}

/// A buffer of 16 events, which the recording thread empties every ten milliseconds: most events find it full.
#[test]
fn events_that_are_in_the_file_and_those_that_were_dropped_are_all_events() {
    const MESSAGES: u64 = 20_000;
    let recorder = Recorder::new();
    recorder.set_capacity(16);
    let context = Context::new(ContextOptions::new().recorder(recorder.clone()));
    let queue =
        context.create_local_queue::<u64>(SubscriptionOptions::new("topic").keep_last(MESSAGES as usize)).unwrap();
    let publisher = context.create_local_publisher::<u64>("topic").unwrap();
    let path = temporary("dropped");
    recorder.start(FileSink::create(&path, &ProcessName::of_this(0)).unwrap()).unwrap();
    for number in 0..MESSAGES {
        publisher.publish(number);
    }
    recorder.stop();
    assert_eq!(queue.len() as u64, MESSAGES);
    let recording = Recording::open(&path).unwrap().remove(0);
    let model = Model::new(&[recording]);
    assert!(model.dropped > 0, "the buffer was never full");
    assert_eq!(model.messages.len() as u64 + model.dropped, MESSAGES);
    std::fs::remove_file(path).unwrap();
}
