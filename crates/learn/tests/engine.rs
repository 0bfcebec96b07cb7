//! The system file that a program on the engine writes of itself, under a manual clock.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rospin_core::{EntityKind, GroupKind};
use rospin_engine::{
    Context, ContextOptions, ExecutorOptions, ManualClock, Priority, Recorder, SpinOptions, SubscriptionOptions,
    TimerOptions,
};
use rospin_learn::ModelSink;
use rospin_scenario::Scenario;
use rospin_trace::ProcessName;

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("rospin-learn-{}-{name}.toml", std::process::id()))
}

/// Runs a timer, a tracker and a planner for three periods.
fn run(recorder: &Recorder) {
    let clock = ManualClock::new();
    let context = Context::new(ContextOptions::new().manual_clock(clock.clone()).recorder(recorder.clone()));
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let group = executor.create_group("robot", ());
    let shared = executor.create_reentrant_group("shared");
    let scans = context.create_local_publisher::<u32>("scan").unwrap();
    let tracks = context.create_local_publisher::<u32>("tracks").unwrap();
    let timer = TimerOptions::periodic(Duration::from_millis(10)).name("lidar").priority(Priority(9));
    let _lidar = group.create_timer(timer, move |_, _| _ = scans.publish(1));
    let tracker = SubscriptionOptions::new("scan").name("tracker").keep_last(3).deadline(Duration::from_millis(7));
    let moved = clock.clone();
    let _tracker = group.create_local_subscription(tracker, move |_, scan: Arc<u32>| {
        moved.advance(Duration::from_millis(2));
        tracks.publish(*scan);
    });
    // Its name is that of a topic.
    let planner = SubscriptionOptions::new("tracks").name("tracks");
    let later = clock.clone();
    let _planner =
        shared.create_local_subscription(planner, move |_: Arc<u32>| later.advance(Duration::from_millis(1)));
    for _ in 0..3 {
        clock.advance(Duration::from_millis(10));
        executor.spin(SpinOptions::spin_all()).unwrap();
    }
}

#[test]
fn a_program_writes_its_system_file_when_it_ends_and_overwrites_nothing() {
    let path = temporary("own");
    std::fs::write(&path, "somebody's").unwrap();
    let process = ProcessName { name: "robot".into(), process: 7, host: String::new(), system_offset_ns: 0 };
    let recorder = Recorder::new();
    recorder.start(ModelSink::new(&path, &process)).unwrap();
    // The drop of the context writes the file, and the end of the recording writes it again.
    run(&recorder);
    let beside = path.with_file_name(format!("rospin-learn-{}-own-7.toml", std::process::id()));
    let text = std::fs::read_to_string(&beside).unwrap();
    recorder.stop();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "somebody's");
    assert_eq!(std::fs::read_to_string(&beside).unwrap(), text);
    let scenario = Scenario::parse(&text).unwrap();
    assert!(text.starts_with("# Learnt by `ROSPIN_SCENARIO_TEMPLATE` from"), "{text}");
    let [lidar, tracker, planner] = &scenario.callbacks[..] else { panic!("{text}") };
    assert_eq!((lidar.kind, lidar.period, lidar.offset), (EntityKind::Timer, Some(Duration::from_millis(10)), None));
    assert_eq!((lidar.priority, lidar.publishes.as_slice()), (Some(9), &["scan".to_owned()][..]));
    assert_eq!((tracker.depth, tracker.deadline), (3, Some(Duration::from_millis(7))));
    assert_eq!((planner.name.as_str(), planner.subscribes.as_deref()), ("tracks", Some("tracks (topic)")));
    // Ten percent more than was measured.
    assert_eq!(tracker.execution.longest(), Duration::from_micros(2_200));
    assert_eq!(scenario.groups[1].kind, GroupKind::Reentrant);
    assert_eq!(scenario.chains[0].callbacks, ["lidar", "tracker", "tracks"]);
    assert_eq!((scenario.chains.len(), scenario.releases.len()), (1, 0));
    for path in [path, beside] {
        std::fs::remove_file(path).unwrap();
    }
}
