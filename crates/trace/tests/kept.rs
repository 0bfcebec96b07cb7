//! Long-running programs under a flight recorder, and in files of a limited size: what came and went costs no memory,
//! and every file has the names and the state that it needs.
#![cfg(feature = "read")]

mod programs;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rospin_core::policy::{POLICIES, by_name};
use rospin_core::recording::{Definition, Event, Sink, Words};
use rospin_engine::{Context, ContextOptions, ExecutorOptions, Recorder, SpinOptions, SubscriptionOptions};
use rospin_trace::names::Name;
use rospin_trace::replay::{AsRecorded, Verdict, check};
use rospin_trace::{FlightSink, ProcessName, Recording, RotatingSink, Rotation, render};

use programs::{Dice, Program};

const MIB: u64 = 1 << 20;

/// Locked by each test, so that none sees the memory of another one.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder that is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rospin-kept-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("run.mcap")
    }

    /// Returns the files with their sizes, in the order of their names.
    fn files(&self) -> Vec<(PathBuf, u64)> {
        let entries = std::fs::read_dir(&self.0).unwrap().map(Result::unwrap);
        let mut files: Vec<_> = entries.map(|entry| (entry.path(), entry.metadata().unwrap().len())).collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn process() -> ProcessName {
    ProcessName::of_this(Recorder::steady_ns())
}

fn open(file: &Path) -> Recording {
    Recording::open(file).unwrap().remove(0)
}

/// Returns the names of events' callbacks that the recording lacks.
fn nameless(recording: &Recording) -> Vec<String> {
    render(recording).lines().filter(|line| line.contains(" ? ") || line.ends_with('?')).map(str::to_owned).collect()
}

/// A flight recorder forgets all but the last 30 ms of a random program. What it writes is replayed from where it
/// begins.
#[test]
fn a_flight_recording_is_replayed_from_its_beginning() {
    let _alone = alone();
    let mut all_judged = 0;
    let mut all_late = 0;
    for seed in 0..POLICIES.len() as u64 {
        let folder = Folder::new(&format!("flight{seed}"));
        let recorder = Recorder::new();
        recorder.set_capacity(1 << 18);
        let context = Context::new(ContextOptions::new().recorder(recorder.clone()).on_incident(|_| {}));
        let policy = by_name(POLICIES[seed as usize % POLICIES.len()].name).unwrap();
        let threads = if seed % 3 == 0 { 1 } else { 3 };
        let executor = context.create_executor(ExecutorOptions::new("main").threads(threads).boxed_policy(policy));
        let mut program = Program::new(&context, &executor, Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1));
        // Losses are no reason: the program loses messages all the time.
        recorder.start(FlightSink::new(&folder.file(), &process(), Duration::from_millis(30), 100)).unwrap();
        let spinning = executor.handle();
        let spin = std::thread::spawn(move || _ = executor.spin(SpinOptions::new()));
        let begin = Instant::now();
        for round in 0.. {
            program.drive();
            program.change(round);
            if begin.elapsed() > Duration::from_millis(200) {
                break;
            }
        }
        recorder.trigger("the test");
        recorder.flush();
        program.gate.open();
        spinning.halt();
        spin.join().unwrap();
        recorder.stop();
        let mut judged = 0;
        let mut late = 0;
        for (file, _) in folder.files() {
            let recording = open(&file);
            if recording.events.iter().any(|recorded| matches!(recorded.event, Event::Dropped { .. })) {
                // The machine is so busy that the recording thread did not run for long.
                continue;
            }
            let replayed = check(&recording, &AsRecorded).remove(0);
            assert_eq!(replayed.verdict, Verdict::Same, "seed {seed}: {replayed}\n{}", render(&recording));
            assert_eq!(nameless(&recording), [""; 0]);
            judged += replayed.decisions;
            late += u64::from(replayed.notes.iter().any(|note| note.contains("begins while")));
        }
        (all_judged, all_late) = (all_judged + judged, all_late + late);
    }
    assert!(all_judged > 100 && all_late > 2, "{all_judged} decisions, {all_late} files began late");
}

/// Sink that keeps the recording thread waiting while the test has its lock.
struct Blocking(Arc<Mutex<()>>);

impl Sink for Blocking {
    fn define(&mut self, _: &Definition) {}

    fn record(&mut self, _: u32, _: &[Words]) {
        drop(self.0.lock().unwrap());
    }

    fn flush(&mut self) {}
}

/// A thread's log is full while the recording thread waits, and events are lost. Once the files begin behind the loss,
/// they have the state again.
#[test]
fn after_lost_events_a_flight_recorder_has_the_state_again() {
    let _alone = alone();
    let folder = Folder::new("lost");
    let recorder = Recorder::new();
    recorder.set_capacity(64);
    let context = Context::new(ContextOptions::new().recorder(recorder.clone()).on_incident(|_| {}));
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let group = executor.create_group("group", 0_u32);
    let _subscription = group.create_local_subscription("topic", |heard: &mut u32, _: Arc<u32>| *heard += 1).unwrap();
    let publisher = context.create_local_publisher::<u32>("topic").unwrap();
    let lock = Arc::new(Mutex::new(()));
    recorder.start(Blocking(Arc::clone(&lock))).unwrap();
    recorder.start(FlightSink::new(&folder.file(), &process(), Duration::ZERO, 100_000)).unwrap();
    let run = |times: u32| {
        for number in 0..times {
            let _ = publisher.publish(number);
            executor.spin(SpinOptions::spin_all()).unwrap();
        }
    };
    let file_now = |folder: &Folder| {
        recorder.trigger("the test");
        recorder.flush();
        let (file, _) =
            folder.files().into_iter().max_by_key(|(file, _)| file.metadata().unwrap().modified().unwrap()).unwrap();
        let recording = open(&file);
        std::fs::remove_file(file).unwrap();
        recording
    };
    let has =
        |recording: &Recording, is: fn(&Event) -> bool| recording.events.iter().any(|recorded| is(&recorded.event));
    let is_loss = |event: &Event| matches!(event, Event::Dropped { .. });
    loop {
        {
            let _blocked = lock.lock().unwrap();
            run(1000);
        }
        if has(&file_now(&folder), is_loss) {
            break;
        }
    }
    let behind = loop {
        run(1);
        let recording = file_now(&folder);
        if !has(&recording, is_loss) {
            break recording;
        }
    };
    assert!(has(&behind, |event| matches!(event, Event::Snapshot { .. })), "{}", render(&behind));
    let replayed = check(&behind, &AsRecorded).remove(0);
    assert_eq!(replayed.verdict, Verdict::Same, "{replayed}");
}

/// Returns the memory of this process in bytes, as the kernel counts it.
fn memory() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// A program in which that many subscriptions come and go, one after the other, and each tenth one runs. Returns the
/// growth of memory after the first tenth of them. At the end, the last subscription fails.
fn churn(count: u64, recorder: &Recorder) -> u64 {
    let context = Context::new(ContextOptions::new().recorder(recorder.clone()).on_incident(|_| {}));
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let publisher = context.create_local_publisher::<u64>("topic").unwrap();
    let group = executor.create_group("robot", ());
    let stays = SubscriptionOptions::new("topic").name("stays");
    let _stays = group.create_local_subscription(stays, |(): &mut (), _: Arc<u64>| {});
    let mut before = 0;
    for number in 0..count {
        if number % 2_000 == 0 {
            // On a busy machine, the recording thread may be far behind.
            recorder.flush();
        }
        if number == count / 10 {
            before = memory();
        }
        let options = SubscriptionOptions::new("topic").name(format!("visitor{number}"));
        let visitor = group.create_local_subscription(options, |(): &mut (), _: Arc<u64>| {});
        if number % 10 == 0 {
            publisher.publish(number);
            executor.spin(SpinOptions::spin_all()).unwrap();
        }
        drop(visitor);
    }
    recorder.flush();
    let growth = memory().saturating_sub(before);
    let options = SubscriptionOptions::new("topic").name("culprit");
    let _culprit = group.create_local_subscription(options, |(): &mut (), _: Arc<u64>| panic!("the test"));
    publisher.publish(count);
    executor.spin(SpinOptions::spin_all()).unwrap();
    recorder.flush();
    growth
}

fn flight(count: u64) {
    let folder = Folder::new(&format!("churn{count}"));
    let recorder = Recorder::new();
    let sink = FlightSink::new(&folder.file(), &process(), Duration::from_millis(100), 10);
    let handle = recorder.start(sink).unwrap();
    let growth = churn(count, &recorder);
    assert!(growth < 24 * MIB, "memory has grown by {growth} bytes");
    handle.stop();
    let files = folder.files();
    let (file, size) = files.last().unwrap();
    let recording = open(file);
    assert_eq!(nameless(&recording), [""; 0]);
    assert!(render(&recording).contains("incident   culprit panicked"), "{}", render(&recording));
    let events = recording.events.len() as u64;
    assert!(*size < 100_000 + events * 200, "{size} bytes for {events} events");
    assert_eq!(check(&recording, &AsRecorded)[0].verdict, Verdict::Same);
}

/// Records what comes and goes into files of a MiB, of which so many are kept.
fn rotation(count: u64, keep: u32) {
    let folder = Folder::new(&format!("rotation{count}"));
    let recorder = Recorder::new();
    let rotation = Rotation { bytes_max: Some(MIB), duration_max: None, keep: Some(keep) };
    let handle = recorder.start(RotatingSink::new(&folder.file(), &process(), rotation)).unwrap();
    let growth = churn(count, &recorder);
    assert!(growth < 24 * MIB, "memory has grown by {growth} bytes");
    handle.stop();
    let files = folder.files();
    assert!(files.len() >= 3 && files.len() <= keep as usize, "{files:?}");
    for (number, (file, size)) in files.iter().enumerate() {
        let is_last = number + 1 == files.len();
        // A file ends early if the names of a round might not fit into it.
        assert!(*size <= MIB * 11 / 10 && (is_last || *size >= MIB * 3 / 4), "{files:?}");
        if number + 3 < files.len() {
            continue;
        }
        let recording = open(file);
        assert_eq!(nameless(&recording), [""; 0]);
        let replayed = check(&recording, &AsRecorded).remove(0);
        assert_eq!(replayed.verdict, Verdict::Same, "{replayed}");
        let names = |name: &&Name| matches!(name, Name::Entity { name, .. } if name == "stays");
        assert!(recording.names.iter().any(|name| names(&name)), "what is there has a name in each file");
    }
    let recording = open(&files.last().unwrap().0);
    assert!(recording.events.iter().any(|recorded| matches!(recorded.event, Event::Incident { .. })));
    assert!(render(&recording).contains("incident   culprit panicked"));
}

#[test]
fn two_hundred_thousand_callbacks_that_came_and_went_are_forgotten_by_a_flight_recorder() {
    let _alone = alone();
    flight(200_000);
}

#[test]
fn two_hundred_thousand_callbacks_that_came_and_went_leave_files_of_their_size() {
    let _alone = alone();
    rotation(200_000, 1_000);
}

/// `cargo test --release -p rospin-trace --features read --test kept -- --ignored`; `KEPT_ENTITIES` sets another
/// number.
#[test]
#[ignore = "takes minutes"]
fn ten_million_callbacks_that_came_and_went_are_forgotten() {
    let _alone = alone();
    let count = std::env::var("KEPT_ENTITIES").map_or(10_000_000, |count| count.parse().unwrap());
    flight(count);
    rotation(count, 3);
}
