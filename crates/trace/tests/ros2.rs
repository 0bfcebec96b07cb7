//! Traces of ros2_tracing: a real one, others by hand, and hostile ones.
//!
//! `drive.txt` was recorded with rclcpp 29.5 (Kilted) and LTTng: six nodes on three executors in a process, and one in
//! another. Most events that say nothing new were left out, such as further looks for work.
#![cfg(feature = "read")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use rospin_core::EntityKind;
use rospin_trace::chains::chains;
use rospin_trace::convert::perfetto;
use rospin_trace::{Model, Recording, render, ros2};

const DRIVE: &str = include_str!("drive.txt");

fn read(text: &str) -> Result<Vec<Recording>, String> {
    ros2::read(text.as_bytes(), Path::new("drive")).map_err(|error| error.to_string())
}

fn model(text: &str) -> (Model, Vec<Recording>) {
    let recordings = read(text).unwrap();
    (Model::new(&recordings), recordings)
}

/// Returns the names of the callbacks of an executor that are not of parameters.
fn callbacks(model: &Model, executor: usize) -> BTreeSet<&str> {
    let of = model.callbacks.iter().filter(|callback| callback.executor == executor);
    of.map(|callback| callback.name.as_str()).collect()
}

/// A trace that is written by hand: one process with the number 1.
#[derive(Default)]
struct Trace(String);

impl Trace {
    fn new() -> Self {
        Self::default().event(0, 1, "rcl_node_init", "node_handle = 0x1, node_name = \"arm\", namespace = \"/\"")
    }

    /// Adds an event of a thread at a time in microseconds.
    fn event(mut self, us: u64, thread: u64, name: &str, fields: &str) -> Self {
        let context = format!("vpid = 1, vtid = {thread}, procname = \"arms\"");
        let _ = writeln!(self.0, "[7.{:09}] vm ros2:{name}: {{ {context} }}, {{ {fields} }}", us * 1_000);
        self
    }

    /// Adds a timer with a period in microseconds. `number` tells it from others.
    fn timer(self, us: u64, number: u64, period_us: u64) -> Self {
        self.event(us, 1, "rcl_timer_init", &format!("timer_handle = {number}, period = {}", period_us * 1_000))
            .event(
                us,
                1,
                "rclcpp_timer_callback_added",
                &format!("timer_handle = {number}, callback = {}", number + 100),
            )
            .event(us, 1, "rclcpp_timer_link_node", &format!("timer_handle = {number}, node_handle = 0x1"))
    }

    fn run(self, [start, end]: [u64; 2], thread: u64, number: u64) -> Self {
        let callback = format!("callback = {}", number + 100);
        self.event(start, thread, "callback_start", &format!("{callback}, is_intra_process = 0")).event(
            end,
            thread,
            "callback_end",
            &callback,
        )
    }
}

#[test]
fn a_recorded_system_has_its_executors_callbacks_and_messages() {
    let (model, recordings) = model(DRIVE);
    assert_eq!(recordings.iter().map(|recording| recording.faults.len()).sum::<usize>(), 0);
    let processes: Vec<&str> = model.processes.iter().map(|process| process.name.as_str()).collect();
    assert_eq!(processes, ["viewer", "drive"]);
    let named = |wanted: &str| model.callbacks.iter().find(|callback| callback.name == wanted).unwrap();
    let executor = |name: &str| {
        let place = named(name).executor;
        (model.executors[place].threads, callbacks(&model, place))
    };
    assert_eq!(executor("viewer/path"), (1, ["viewer/objects", "viewer/path"].into()));
    assert_eq!(executor("camera/timer0"), (1, ["camera/timer0", "lidar/timer0"].into()));
    assert_eq!(executor("detector/image"), (2, ["detector/image", "fusion/objects", "fusion/points"].into()));
    assert_eq!(
        executor("robot/control/path").1,
        [
            "planner/set_goal",
            "planner/timer0",
            "planner/tracks",
            "robot/control/path",
            "robot/control/set_goal",
            "robot/control/timer0",
            "robot/control/timer1"
        ]
        .into()
    );
    assert!(model.executors.iter().all(|executor| executor.policy == "wait-set-e2"));
    assert_eq!((named("camera/timer0").period_ns, named("camera/timer0").kind), (Some(50_000_000), EntityKind::Timer));
    assert_eq!(named("robot/control/set_goal").kind, EntityKind::Client);
    assert_eq!(named("detector/image").group, "detector");
    let longest = chains(&model).into_iter().max_by_key(|chain| chain.callbacks.len()).unwrap();
    let longest: Vec<String> = longest.callbacks.iter().map(|callback| model.label(*callback)).collect();
    assert_eq!(longest[..4], ["camera/timer0", "detector/image", "fusion/objects", "planner/tracks"]);
    // A timer is released on its grid, and everything else before it starts.
    let camera: Vec<u64> =
        named("camera/timer0").activations.iter().map(|place| model.activations[*place].release_ns).collect();
    assert!(camera.windows(2).all(|pair| pair[1] - pair[0] == 50_000_000), "{camera:?}");
    assert!(model.activations.iter().all(|one| one.release_ns <= one.start_ns()));
    assert!(model.activations.iter().flat_map(|one| &one.segments).any(|segment| segment.cpu_ns.is_some()));
    // The topics of logs and parameters are nobody's here.
    assert!(model.messages.iter().all(|message| !["/rosout", "/parameter_events"].contains(&message.topic.as_str())));
    assert!(recordings[0].notes[0].contains("neither executors nor callback groups"), "{:?}", recordings[0].notes);
}

#[test]
fn messages_within_the_process_go_through_buffers() {
    let trace = Trace::new()
        .event(
            0,
            1,
            "rcl_publisher_init",
            "publisher_handle = 5, node_handle = 1, rmw_publisher_handle = 6, \
             topic_name = \"/arm/x\", queue_depth = 1",
        )
        .timer(0, 10, 1_000)
        .event(
            1,
            1,
            "rcl_subscription_init",
            "subscription_handle = 20, node_handle = 1, rmw_subscription_handle = 21, \
             topic_name = \"/arm/x\", queue_depth = 2",
        )
        .event(1, 1, "rclcpp_construct_ring_buffer", "buffer = 30, capacity = 1")
        .event(1, 1, "rclcpp_buffer_to_ipb", "buffer = 30, ipb = 31")
        .event(1, 1, "rclcpp_ipb_to_subscription", "ipb = 31, subscription = 32")
        // The callback comes before the subscription's handle.
        .event(1, 1, "rclcpp_subscription_callback_added", "subscription = 32, callback = 120")
        .event(1, 1, "rclcpp_subscription_init", "subscription_handle = 20, subscription = 32")
        .event(1_000, 1, "callback_start", "callback = 110, is_intra_process = 0")
        .event(1_010, 1, "rclcpp_ring_buffer_enqueue", "buffer = 30, index = 0, size = 1, overwritten = 0")
        .event(1_020, 1, "rclcpp_ring_buffer_enqueue", "buffer = 30, index = 0, size = 1, overwritten = 1")
        .event(1_030, 1, "callback_end", "callback = 110")
        .event(1_050, 1, "rclcpp_ring_buffer_dequeue", "buffer = 30, index = 0, size = 0")
        .run([1_060, 1_100], 1, 20);
    let (model, _) = model(&trace.0);
    let reader = model.callbacks.iter().position(|callback| callback.name == "arm/x").unwrap();
    let run = &model.activations[model.callbacks[reader].activations[0]];
    assert_eq!((run.release_ns, run.start_ns(), run.end_ns), (7_001_020_000, 7_001_050_000, Some(7_001_100_000)));
    let [message] = run.inputs[..] else { panic!("one message") };
    let from = model.messages[message].from.map(|from| model.callbacks[model.activations[from].callback].name.as_str());
    assert_eq!(from, Some("arm/timer0"));
    assert_eq!((model.losses.len(), model.losses[0].callback, model.losses[0].cause), (1, Some(reader), "queue full"));
    assert!(model.queues.iter().any(|queue| queue.depth == 1) && model.queues.iter().any(|queue| queue.depth == 2));
}

#[test]
fn callbacks_that_ran_at_the_same_time_are_in_several_groups() {
    let trace = Trace::new()
        .timer(0, 10, 1_000)
        .timer(0, 11, 1_000)
        .timer(0, 12, 1_000)
        .event(1_000, 1, "callback_start", "callback = 110, is_intra_process = 0")
        .run([1_010, 1_020], 2, 11)
        .run([1_030, 1_090], 2, 12)
        .event(1_060, 3, "callback_start", "callback = 112, is_intra_process = 0")
        .event(1_100, 1, "callback_end", "callback = 110")
        .event(1_110, 3, "callback_end", "callback = 112")
        .run([2_000, 2_010], 2, 10)
        .run([3_000, 3_010], 3, 11);
    let (model, recordings) = model(&trace.0);
    let group = |name: &str| {
        let of = model.callbacks.iter().find(|callback| callback.name == name).unwrap();
        (of.group.as_str(), of.excludes)
    };
    assert_eq!([group("arm/timer0"), group("arm/timer1")], [("arm", true), ("arm 2", true)]);
    assert!(!group("arm/timer2").1);
    assert_eq!((model.executors.len(), model.executors[0].threads), (1, 3));
    assert!(recordings[0].notes[0].contains("have several groups: arm."), "{:?}", recordings[0].notes);
    assert!(recordings[0].notes[0].contains("are reentrant: arm/timer2."), "{:?}", recordings[0].notes);
}

/// A timer with a period of 1 ms: late, later than a period, and after it was restarted.
#[test]
fn timers_are_released_when_rcl_has_them_due() {
    let trace = Trace::new()
        .timer(0, 10, 1_000)
        .timer(0, 11, 1_000_000)
        .run([1_200, 1_300], 1, 10)
        // It waits for another callback over two due times, one of which rcl skips.
        .run([1_400, 4_500], 1, 11)
        .run([4_500, 4_600], 1, 10)
        .run([5_010, 5_020], 1, 10)
        // Its thread was idle, so it was restarted.
        .run([9_700, 9_800], 1, 10)
        .run([10_750, 10_800], 1, 10)
        // Before it is due: restarted again.
        .run([11_100, 11_200], 1, 10);
    let (model, _) = model(&trace.0);
    let of = model.callbacks.iter().find(|callback| callback.name == "arm/timer0").unwrap();
    let releases: Vec<u64> =
        of.activations.iter().map(|place| (model.activations[*place].release_ns - 7_000_000_000) / 1_000).collect();
    assert_eq!(releases, [1_000, 2_000, 5_000, 9_700, 10_700, 11_100]);
}

#[test]
fn a_text_that_is_no_trace_is_an_error_with_the_fix() {
    let without_nodes: String =
        DRIVE.lines().filter(|line| !line.contains("node_init")).map(|line| format!("{line}\n")).collect();
    for (text, said) in [
        ("", "`lttng enable-event -u 'ros2:*'`"),
        ("hello\n", "is no text of babeltrace2"),
        ("[1.000000000] vm lttng_ust_statedump:start: { }, { }\n", "`lttng enable-event -u 'ros2:*'`"),
        ("[01:49:14.098144699] (+0.1) vm ros2:rcl_init: { }, { }\n", "`babeltrace2 --clock-seconds TRACE`"),
        ("[1.000000000] vm ros2:rcl_init: { cpu_id = 1 }, { }\n", "-t vpid -t vtid"),
        (&without_nodes, "start the tracing session before the programs"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.starts_with("drive: ") && error.contains(said), "{error}");
    }
    assert!(ros2::is_text(DRIVE.as_bytes()) && !ros2::is_text(b"\x89MCAP0\r\n") && !ros2::is_text(b"[package]"));
}

/// Reads everything that can be made of a trace.
fn use_all(recordings: &[Recording]) {
    for recording in recordings {
        _ = render(recording);
    }
    let model = Model::new(recordings);
    assert!(chains(&model).iter().all(|chain| chain.callbacks.len() > 1));
    let _ = perfetto::encode(&model);
}

#[test]
fn damaged_texts_are_read_as_far_as_they_are_whole() {
    let half = &DRIVE[..DRIVE.len() / 2 + 40];
    let recordings = read(half).unwrap();
    let [fault] = &recordings[0].faults[..] else { panic!("{:?}", recordings[0].faults) };
    assert!(fault.text.contains("ends within this line"), "{fault}");
    use_all(&recordings);
    let mut lines: Vec<&str> = DRIVE.lines().collect();
    lines[500] = &lines[500][..60];
    lines.insert(600, "[warning] Tracer discarded 12 events between [1] and [2] in trace \"x\".");
    lines.extend(std::iter::repeat_n("nonsense", 50));
    let recordings = read(&lines.join("\n")).unwrap();
    let faults = &recordings[0].faults;
    assert!(faults[0].text.contains("cannot be understood") && faults.len() == 20, "{faults:?}");
    assert!(faults[19].text.contains("31 more lines"), "{faults:?}");
    assert_eq!(Model::new(&recordings).dropped, 12);
}

/// A random number generator, so that this needs no other crate.
fn next(seed: &mut u64) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed as usize
}

#[test]
fn hostile_texts_do_not_panic() {
    let mut seed = 42;
    let lines: Vec<&str> = DRIVE.lines().collect();
    for round in 0..60 {
        // Lines in another order, twice or not at all, and other digits.
        let mut text = String::new();
        for _ in 0..400 {
            let mut line = lines[next(&mut seed) % lines.len()].as_bytes().to_vec();
            for _ in 0..round % 4 {
                let place = next(&mut seed) % line.len();
                line[place] = b"0919f\"{}[]= x-,"[next(&mut seed) % 15];
            }
            text += &String::from_utf8_lossy(&line);
            text.push('\n');
        }
        if let Ok(recordings) = read(&text) {
            use_all(&recordings);
        }
    }
    // A line without an end, which is longer than lines are.
    let long = format!("{DRIVE}[1.000000000] vm ros2:x: {{ a = \"{}", "x".repeat(3 << 20));
    assert!(!read(&long).unwrap()[0].faults.is_empty());
}
