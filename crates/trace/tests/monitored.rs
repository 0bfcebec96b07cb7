//! Faults that are injected into a program under a manual clock: the monitor and the report of the recording name each
//! of them, and its culprit.
#![cfg(feature = "read")]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin_engine::policy::POLICIES;
use rospin_engine::{
    Context, ContextOptions, ExecutorOptions, ManualClock, Priority, Recorder, SpinOptions, SubscriptionOptions,
    TimerOptions,
};
use rospin_scenario::Scenario;
use rospin_trace::monitor::{Cause, Monitor, ViolationKind};
use rospin_trace::{FileSink, Model, ProcessName, Recording, render};

const MS: Duration = Duration::from_millis(1);

/// A lidar whose scans are detected and planned with, and a logger that is less urgent.
const SYSTEM: &str = r#"
duration = "1 s"
topics = ["/scan", "/objects"]
[[executor]]
name = "main"
[[group]]
name = "robot"
[[callback]]
name = "lidar"
kind = "timer"
priority = 4
period = "20 ms"
execution = "1 ms"
publishes = ["/scan"]
[[callback]]
name = "detect"
kind = "subscription"
subscribes = "/scan"
priority = 3
execution = "3 ms"
depth = 2
publishes = ["/objects"]
[[callback]]
name = "plan"
kind = "subscription"
subscribes = "/objects"
priority = 2
deadline = "9 ms"
execution = "2 ms"
[[callback]]
name = "log"
kind = "timer"
priority = 1
period = "40 ms"
execution = "4 ms"
[[chain]]
name = "see"
deadline = "11 ms"
callbacks = ["lidar", "detect", "plan"]
"#;

/// Difference of the program from the system file.
#[derive(Clone, Copy)]
struct Robot {
    period: u32,
    scans: u32,
    detect: u32,
    log: u32,
    depth: usize,
    policy: &'static str,
    detect_name: &'static str,
}

const SOUND: Robot =
    Robot { period: 20, scans: 1, detect: 3, log: 4, depth: 2, policy: "fixed-priority", detect_name: "detect" };

struct Ran {
    /// Subject, kind, cause, culprit, count.
    told: Vec<(String, ViolationKind, Cause, Option<String>, u64)>,
    monitor: Monitor,
    recording: Recording,
}

impl Robot {
    fn run(self, name: &str) -> Ran {
        let file = format!("rospin-monitored-{}-{name}-{}.mcap", std::process::id(), self.policy);
        let path: PathBuf = std::env::temp_dir().join(file);
        let clock = ManualClock::new();
        let recorder = Recorder::new();
        let options = ContextOptions::new().manual_clock(clock.clone()).recorder(recorder.clone());
        let context = Context::new(options);
        let policy = POLICIES.iter().find(|policy| policy.name == self.policy).unwrap();
        let executor = context.create_executor(ExecutorOptions::new("main").boxed_policy((policy.build)()));
        let group = executor.create_group("robot", ());
        let scans = context.create_local_publisher::<u32>("/scan").unwrap();
        let objects = context.create_local_publisher::<u32>("/objects").unwrap();
        let works = |ms: u32| {
            let clock = clock.clone();
            move || clock.advance(MS * ms)
        };
        let scan = works(1);
        let detect = works(self.detect);
        let plan = works(2);
        let log = works(self.log);
        let timer =
            |name: &str, ms: u32, priority| TimerOptions::periodic(MS * ms).name(name).priority(Priority(priority));
        let _lidar = group.create_timer(timer("lidar", self.period, 4), move |(), _| {
            scan();
            for scan in 0..self.scans {
                scans.publish(scan);
            }
        });
        let options = SubscriptionOptions::new("/scan").name(self.detect_name).priority(Priority(3));
        let _detect = group.create_local_subscription(options.keep_last(self.depth), move |(), scan: Arc<u32>| {
            detect();
            objects.publish(*scan);
        });
        let options = SubscriptionOptions::new("/objects").name("plan").priority(Priority(2));
        let _plan = group.create_local_subscription(options, move |(), _: Arc<u32>| plan());
        let _log = group.create_timer(timer("log", 40, 1), move |(), _| log());

        let monitor = Monitor::new(&Scenario::parse(SYSTEM).unwrap(), None);
        for definition in monitor.definitions() {
            recorder.add_definition(definition);
        }
        let note = recorder.clone();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let push = Arc::clone(&seen);
        monitor.on_violation(move |violation| {
            note.record_event(violation.at, &violation.event());
            push.lock().unwrap().push(violation.to_string());
        });
        recorder.start(FileSink::create(&path, &ProcessName::of_this(0)).unwrap()).unwrap();
        recorder.start(monitor.sink()).unwrap();
        // One callback after the other, or until the next due time, and what is ready then: as a robot whose clock
        // stands still while nothing runs.
        while context.clock().now() < rospin_engine::Instant::from_nanos(201_000_000) {
            if executor.spin(SpinOptions::spin_once().timeout(Duration::ZERO)).is_err() {
                let due = executor.next_due().unwrap();
                clock.advance(due.saturating_since(context.clock().now()));
            }
        }
        recorder.stop();
        let recording = Recording::open(&path).unwrap().remove(0);
        std::fs::remove_file(path).unwrap();
        let counts = monitor.counts();
        let told: Vec<_> = counts
            .iter()
            .map(|count| (count.name.clone(), count.kind, count.worst.cause, count.worst.culprit.clone(), count.count))
            .collect();
        let ran = Ran { told, monitor, recording };
        assert_eq!(ran.of_recording(), seen.lock().unwrap().len());
        ran
    }
}

impl Ran {
    /// Returns the number of violations in the recording. They are those of the monitor.
    fn of_recording(&self) -> usize {
        let model = Model::new(std::slice::from_ref(&self.recording));
        for (name, kind, ..) in &self.told {
            let has = model.violations.iter().any(|violation| {
                let subject = violation.chain.as_ref().unwrap_or(&model.callbacks[violation.callback].name);
                subject == name && violation.kind == kind.index()
            });
            assert!(has, "{name} {kind:?} is not in the recording");
        }
        model.violations.len()
    }

    #[track_caller]
    fn has(&self, name: &str, kind: ViolationKind, cause: Cause, culprit: Option<&str>) {
        let culprit = culprit.map(str::to_owned);
        let wanted = |(n, k, c, p, _): &(String, ViolationKind, Cause, Option<String>, u64)| {
            n == name && *k == kind && *c == cause && *p == culprit
        };
        assert!(self.told.iter().any(wanted), "{:#?}\n{}", self.told, render(&self.recording));
    }
}

#[test]
fn nothing_is_told_of_a_robot_that_keeps_to_its_file() {
    let ran = SOUND.run("sound");
    assert_eq!(ran.told, []);
    assert_eq!(ran.monitor.remarks(), [""; 0]);
}

#[test]
fn a_callback_that_takes_three_times_as_long_is_the_culprit_of_all_that_is_late() {
    for policy in ["fixed-priority", "fifo", "edf", "wait-set-e1", "wait-set-e2"] {
        let ran = Robot { detect: 9, policy, ..SOUND }.run("long");
        ran.has("detect", ViolationKind::Execution, Cause::Itself, None);
        ran.has("see", ViolationKind::ChainDeadline, Cause::RanTooLong, Some("detect"));
        assert!(
            ran.told.iter().all(|(_, _, cause, culprit, _)| {
                *cause == Cause::Itself || (*cause, culprit.as_deref()) == (Cause::RanTooLong, Some("detect"))
            }),
            "{policy}: {:#?}",
            ran.told
        );
    }
    let ran = Robot { log: 12, ..SOUND }.run("log");
    ran.has("log", ViolationKind::Execution, Cause::Itself, None);
    assert_eq!(ran.told.len(), 1, "it ran when nobody waited: {:#?}", ran.told);
}

#[test]
fn a_publisher_that_is_twice_too_fast_is_named_where_it_publishes_and_where_messages_are_lost() {
    let ran = Robot { period: 10, ..SOUND }.run("fast");
    ran.has("lidar", ViolationKind::Arrival, Cause::Itself, None);
    let remarks = ran.monitor.remarks().join("\n");
    assert!(remarks.contains("callback `lidar` has the period 10ms; the system file says 20ms"), "{remarks}");
    // So fast that the rest of the robot cannot keep up.
    let ran = Robot { period: 5, ..SOUND }.run("faster");
    ran.has("plan", ViolationKind::Deadline, Cause::ArrivedTooOften, Some("lidar"));
    let ran = Robot { period: 3, ..SOUND }.run("fastest");
    ran.has("detect", ViolationKind::Overflow, Cause::ArrivedTooOften, Some("lidar"));
    // Three messages at once in place of one.
    let ran = Robot { scans: 3, ..SOUND }.run("burst");
    ran.has("detect", ViolationKind::Arrival, Cause::Published, Some("lidar"));
    ran.has("detect", ViolationKind::Overflow, Cause::Published, Some("lidar"));
}

#[test]
fn a_queue_that_is_too_short_is_the_cause_of_what_it_loses() {
    let ran = Robot { scans: 2, depth: 1, ..SOUND }.run("short");
    ran.has("detect", ViolationKind::Overflow, Cause::QueueTooShort, None);
    let remarks = ran.monitor.remarks().join("\n");
    assert!(remarks.contains("callback `detect` has a queue of 1; the system file says 2"), "{remarks}");
}

#[test]
fn names_that_do_not_fit_are_told_with_near_ones() {
    let ran = Robot { detect_name: "detekt", ..SOUND }.run("names");
    let remarks = ran.monitor.remarks();
    assert!(
        remarks[0].contains("a callback `detect` that this program does not have; did you mean `detekt`?"),
        "{remarks:?}"
    );
    assert!(remarks[1].ends_with("whose time no bound counts: `detekt`"), "{remarks:?}");
    assert!(remarks[2].contains("chain `see` is not watched here, because `detect`"), "{remarks:?}");
}

#[test]
fn a_panic_of_the_program_s_function_does_not_end_the_monitor() {
    let recorder = Recorder::new();
    let clock = ManualClock::new();
    let context = Context::new(ContextOptions::new().manual_clock(clock.clone()).recorder(recorder.clone()));
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let group = executor.create_group("robot", ());
    let work = clock.clone();
    let _log = group.create_timer(TimerOptions::periodic(40 * MS).name("log"), move |(), _| work.advance(5 * MS));
    let monitor = Monitor::new(&Scenario::parse(SYSTEM).unwrap(), None);
    let counted = monitor.clone();
    monitor.on_violation(move |_| panic!("told, with {} so far", counted.counts().len()));
    recorder.start(monitor.sink()).unwrap();
    for count in 1..3 {
        clock.advance(40 * MS);
        executor.spin(SpinOptions::spin_all()).unwrap();
        assert!(recorder.flush());
        assert_eq!(monitor.counts()[0].count, count);
    }
}
