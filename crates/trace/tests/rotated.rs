//! Recordings in several files: each is read by itself, and together they are what one file would have been.
#![cfg(feature = "read")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rospin_core::recording::{Definition, Event, Sink, Step, Words};
use rospin_core::{EntityKind, Instant};
use rospin_engine::{
    Context, ContextOptions, ExecutorOptions, Recorder, SpinOptions, SubscriptionOptions, TimerOptions,
};
use rospin_trace::names::Name;
use rospin_trace::replay::{AsRecorded, Verdict, check};
use rospin_trace::{FileSink, Model, ProcessName, Recording, RotatingSink, Rotation};

const NONE: Rotation = Rotation { bytes_max: None, duration_max: None, keep: None };

/// A folder that is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rospin-rotated-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn sink(&self, rotation: Rotation) -> RotatingSink {
        let process = ProcessName { name: "robot".into(), process: 7, host: "here".into(), system_offset_ns: 5 };
        RotatingSink::new(&self.0.join("run.mcap"), &process, rotation)
    }

    /// Returns the names of the files, in order.
    fn files(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.0).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<_> = files.collect();
        files.sort_unstable();
        files
    }

    /// Returns each file as a recording of its own.
    fn parts(&self) -> Vec<Recording> {
        let read = |name: String| {
            let file = std::fs::File::open(self.0.join(name)).unwrap();
            Recording::read(file, Path::new("part")).unwrap()
        };
        self.files().into_iter().map(read).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn executor() -> Definition {
    Definition::Executor { executor: 0, name: "main".into(), policy: "fifo".into(), threads: 2 }
}

fn entity(entity: u64, name: &str) -> Definition {
    Definition::Entity {
        executor: 0,
        entity,
        account: entity,
        name: name.into(),
        group: name.into(),
        excludes: true,
        kind: EntityKind::Timer,
        priority: 1,
        deadline: None,
        period: None,
        rules: None,
    }
}

fn completed(at_ms: u64, entity: u64) -> Words {
    let step = Step { executor: 0, entity, sequence: at_ms, segment: 0 };
    Event::Completed { step, deadline: Instant::MAX, cpu_ns: 0 }.encode(ms(at_ms))
}

/// Returns the times of the events, in milliseconds, without those with which a file begins.
fn times(recording: &Recording) -> Vec<u64> {
    let events = recording.events.iter().filter(|recorded| !is_of_beginning(&recorded.event));
    events.map(|recorded| recorded.at.as_nanos() / 1_000_000).collect()
}

/// An event each 10 ms, a round each; the clock is that of the events.
#[test]
fn a_file_lasts_as_long_as_it_may_and_the_last_ones_are_kept() {
    let folder = Folder::new("duration");
    let mut sink = folder.sink(Rotation { duration_max: Some(Duration::from_millis(100)), keep: Some(3), ..NONE });
    sink.define(&executor());
    sink.define(&entity(1, "lidar"));
    for at in (1000..2000).step_by(10) {
        sink.record(1, &[completed(at, 1)]);
        sink.end_round();
        assert!(folder.files().len() <= 3);
    }
    drop(sink);
    let parts = folder.parts();
    assert_eq!(folder.files(), ["run-0008.mcap", "run-0009.mcap", "run-0010.mcap"]);
    assert_eq!(parts.iter().map(|part| part.part).collect::<Vec<_>>(), [Some(8), Some(9), Some(10)]);
    assert_eq!(times(&parts[0]), (1710..=1800).step_by(10).collect::<Vec<_>>());
    assert_eq!(times(&parts[1]), (1810..=1900).step_by(10).collect::<Vec<_>>());
    assert_eq!(times(&parts[2]), (1910..2000).step_by(10).collect::<Vec<_>>());
    // Each is whole, and has the names.
    for part in &parts {
        assert!(part.faults.is_empty(), "{:?}", part.faults);
        assert!(part.names.iter().any(|name| matches!(name, Name::Entity { name, .. } if name == "lidar")));
    }
    // Together they are one recording.
    let whole = Recording::open(&folder.0).unwrap();
    assert_eq!((whole.len(), whole[0].part), (1, Some(8)));
    assert!(times(&whole[0]).starts_with(&(1710..=1900).step_by(10).collect::<Vec<_>>()));
}

#[test]
fn a_file_with_events_is_over_after_a_pause() {
    let folder = Folder::new("pause");
    let mut sink = folder.sink(Rotation { duration_max: Some(Duration::from_millis(100)), ..NONE });
    sink.define(&executor());
    sink.define(&entity(1, "lidar"));
    for at in [1000, 1010, 1020, 1500, 1510, 1520] {
        sink.record(1, &[completed(at, 1)]);
        sink.end_round();
    }
    drop(sink);
    let parts = folder.parts();
    assert_eq!(parts.iter().map(times).collect::<Vec<_>>(), [vec![1000, 1010, 1020], vec![1500, 1510, 1520]]);
}

/// Two threads: the events of the second one come a round late, as if it had been drained before they happened.
#[test]
fn two_files_meet_at_one_instant_for_all_threads() {
    let folder = Folder::new("instant");
    let mut sink = folder.sink(Rotation { duration_max: Some(Duration::from_millis(50)), ..NONE });
    sink.define(&executor());
    sink.record(1, &[completed(0, 1), completed(10, 1), completed(60, 1)]);
    sink.end_round();
    assert_eq!(folder.files().len(), 1);
    // The name comes with the events that need it, between the two files. A release is noted after it happened.
    sink.define(&entity(2, "late"));
    let noted_late = Event::Overrun { executor: 0, entity: 2, count: 1 }.encode(ms(55));
    sink.record(2, &[completed(40, 2), completed(59, 2), completed(61, 2), noted_late]);
    sink.record(1, &[completed(70, 1)]);
    sink.end_round();
    sink.record(2, &[completed(80, 2)]);
    drop(sink);
    let parts = folder.parts();
    assert_eq!(parts.iter().map(times).collect::<Vec<_>>(), [vec![0, 10, 40, 59, 60], vec![61, 55, 70, 80]]);
    for part in &parts {
        assert!(part.faults.is_empty() && part.names.len() == 3, "{part:?}");
    }
}

#[test]
fn a_flush_between_two_files_loses_nothing() {
    let folder = Folder::new("flush");
    let mut sink = folder.sink(Rotation { duration_max: Some(Duration::from_millis(50)), ..NONE });
    sink.flush();
    assert!(folder.files().is_empty(), "nothing was recorded");
    for at in (10..300).step_by(10) {
        sink.record(1, &[completed(at, 1)]);
        sink.end_round();
        sink.flush();
        // Events from before the last round are readable.
        let so_far: Vec<u64> = folder.parts().iter().flat_map(times).collect();
        assert_eq!(so_far, (10..at).step_by(10).collect::<Vec<_>>());
    }
    drop(sink);
    let parts = folder.parts();
    assert!(parts.len() > 3 && parts.iter().all(|part| part.faults.is_empty()));
    let whole = Recording::open(&folder.0).unwrap().remove(0);
    assert_eq!(times(&whole), (10..300).step_by(10).collect::<Vec<_>>());
}

#[test]
fn a_size_is_kept_to_within_a_tenth_and_other_files_stay() {
    let folder = Folder::new("size");
    let other = folder.0.join("run-0002.mcap");
    std::fs::write(&other, "somebody else's").unwrap();
    let mut sink = folder.sink(Rotation { bytes_max: Some(100_000), keep: Some(2), ..NONE });
    for at in 0..200 {
        sink.record(1, &(0..100).map(|event| completed(at * 100 + event, 1)).collect::<Vec<_>>());
        sink.end_round();
    }
    sink.flush();
    let files = folder.files();
    assert_eq!((files.len(), &*files[0]), (3, "run-0002.mcap"));
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "somebody else's");
    let sizes: Vec<u64> = files[1..].iter().map(|file| std::fs::metadata(folder.0.join(file)).unwrap().len()).collect();
    assert!((90_000..110_000).contains(&sizes[0]), "{sizes:?}");
}

/// The program asks for a flush after each round, and rounds are long: each brings a seventh of a file.
#[test]
fn a_size_is_kept_to_within_a_tenth_however_often_files_are_flushed() {
    let folder = Folder::new("flushed");
    let mut sink = folder.sink(Rotation { bytes_max: Some(100_000), ..NONE });
    for at in 0..50 {
        sink.record(1, &(0..150).map(|event| completed(at * 150 + event, 1)).collect::<Vec<_>>());
        sink.flush();
        sink.end_round();
        sink.flush();
    }
    drop(sink);
    let files = folder.files();
    let sizes: Vec<u64> = files.iter().map(|file| std::fs::metadata(folder.0.join(file)).unwrap().len()).collect();
    let (_, all_but_last) = sizes.split_last().unwrap();
    assert!(all_but_last.len() > 4 && all_but_last.iter().all(|size| (85_000..110_000).contains(size)), "{sizes:?}");
    let events: usize = folder.parts().iter().map(|part| times(part).len()).sum();
    assert_eq!(events, 50 * 150);
}

/// The folder goes while the program is recorded, and events have impossible times.
#[test]
fn a_recording_that_cannot_be_written_ends_and_one_with_impossible_times_goes_on() {
    let folder = Folder::new("gone");
    let mut sink = folder.sink(Rotation { duration_max: Some(Duration::from_millis(50)), ..NONE });
    sink.record(1, &[completed(0, 1), completed(100, 1)]);
    sink.end_round();
    std::fs::remove_dir_all(&folder.0).unwrap();
    for at in 0..10 {
        sink.record(1, &[completed(200 + at * 100, 1)]);
        sink.end_round();
    }
    sink.flush();
    assert!(!folder.0.exists());

    let folder = Folder::new("times");
    let mut sink = folder.sink(Rotation { duration_max: Some(Duration::from_nanos(1)), keep: Some(5), ..NONE });
    let words = |at: u64| [at, 7, 0, 0, 0, 0];
    for at in [0, 5, u64::MAX, 3, 0, u64::MAX - 1, 7] {
        sink.record(1, &[words(at)]);
        sink.end_round();
    }
    sink.flush();
    assert!(folder.files().len() <= 5);
    assert!(folder.parts().iter().all(|part| part.faults.is_empty()));
}

/// Returns true for what a file begins with, and for the state that the engine records when a sink comes.
fn is_of_beginning(event: &Event) -> bool {
    match event {
        Event::HandedOver { number, previous, .. } => number == previous || *previous == u64::MAX,
        Event::Snapshot { .. } | Event::FoundArmed { .. } => true,
        Event::FoundReady { .. } | Event::FoundRunning { .. } | Event::FoundSuspended { .. } => true,
        _ => false,
    }
}

/// Real threads under a recorder with two sinks: one file, and many small ones.
#[test]
fn all_files_together_are_what_one_file_is_and_each_replays_by_itself() {
    let folder = Folder::new("threads");
    let single = Folder::new("single");
    let recorder = Recorder::new();
    recorder.set_capacity(1 << 13);
    let process = ProcessName::of_this(Recorder::steady_ns());
    recorder.start(FileSink::create(&single.0.join("run.mcap"), &process).unwrap()).unwrap();
    let rotation = Rotation { duration_max: Some(Duration::from_millis(40)), ..NONE };
    recorder.start(RotatingSink::new(&folder.0.join("run.mcap"), &process, rotation)).unwrap();
    let context = Context::new(ContextOptions::new().recorder(recorder.clone()));
    let executor = context.create_executor(ExecutorOptions::new("main").threads(3));
    let counted = Arc::new(AtomicU64::new(0));
    let mut kept: Vec<Box<dyn std::any::Any>> = Vec::new();
    for number in 0..3_u64 {
        let topic = format!("topic{number}");
        let publisher = context.create_local_publisher::<u64>(topic.as_str()).unwrap();
        let group = executor.create_group(format!("group{number}"), ());
        let options = TimerOptions::periodic(Duration::from_micros(500 + number * 130)).name(format!("timer{number}"));
        kept.push(Box::new(group.create_timer(options, move |(), _| _ = publisher.publish(number)).unwrap()));
        let counted = Arc::clone(&counted);
        let options = SubscriptionOptions::new(topic).name(format!("callback{number}"));
        let callback = move |(): &mut (), _: Arc<u64>| _ = counted.fetch_add(1, Ordering::Relaxed);
        kept.push(Box::new(
            executor.create_group(format!("other{number}"), ()).create_local_subscription(options, callback).unwrap(),
        ));
    }
    // Until there are enough activations and files; the machine may be busy.
    let begin = std::time::Instant::now();
    while (counted.load(Ordering::Relaxed) < 1000 || folder.files().len() < 5)
        && begin.elapsed() < Duration::from_secs(20)
    {
        let _ = executor.spin(SpinOptions::new().timeout(Duration::from_millis(50)));
    }
    recorder.stop();
    let one = Recording::open(&single.0).unwrap().remove(0);
    let whole = Recording::open(&folder.0).unwrap();
    assert_eq!(whole.len(), 1);
    assert!(folder.files().len() >= 5);
    // Events of one nanosecond may come in another order of threads, and each file begins with the state of the
    // executor.
    let by_thread = |recording: &Recording| {
        let mut events = recording.events.clone();
        events.retain(|recorded| !is_of_beginning(&recorded.event));
        events.sort_by_key(|recorded| recorded.thread);
        events
    };
    assert_eq!(by_thread(&whole[0]), by_thread(&one));
    let sum = |recordings: &[Recording]| Model::new(recordings).activations.len();
    assert_eq!(sum(&whole), sum(&[one]));
    let decisions = |recordings: &[Recording]| {
        let mut sum = 0;
        for recording in recordings {
            for replayed in check(recording, &AsRecorded) {
                assert_eq!(replayed.verdict, Verdict::Same, "part {:?}: {replayed}", recording.part);
                sum += replayed.decisions;
            }
        }
        sum
    };
    // On a busy machine, a file may have next to none by itself.
    let of_whole = decisions(&whole);
    let of_parts = decisions(&folder.parts());
    assert!(of_whole > 500 && of_parts > of_whole / 2, "{of_parts} of {of_whole}");
}
