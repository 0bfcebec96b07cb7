//! Programs while they run, from events as they come.
#![cfg(feature = "read")]

use std::path::Path;

use rospin_core::Instant;
use rospin_core::recording::{Event, Step};
use rospin_trace::live::{CallbackView, Feed, Item, Live, View};
use rospin_trace::names::Name;
use rospin_trace::{Model, Recorded, Recording};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden.mcap");

fn named<'a>(view: &'a View, name: &str) -> &'a CallbackView {
    view.callbacks.iter().find(|callback| callback.name == name).unwrap()
}

/// The whole recording in one interval says what the model of the report says.
#[test]
fn a_recording_that_is_watched_says_the_same_as_its_report() {
    let mut feed = Feed::default();
    let mut live = Live::default();
    feed.push(&std::fs::read(GOLDEN).unwrap(), |item| live.take(item)).unwrap();
    let recording = Recording::open(Path::new(GOLDEN)).unwrap();
    let model = Model::new(&recording);
    live.view(model.span.0);
    feed = Feed::default();
    feed.push(&std::fs::read(GOLDEN).unwrap(), |item| live.take(item)).unwrap();
    let view = live.view(model.span.1);
    assert_eq!((view.events, view.process.name.as_str()), (model.events, "robot"));
    assert_eq!(view.interval_ns, model.span.1 - model.span.0);
    for of in &model.callbacks {
        let seen = named(&view, &of.name);
        let runs = || of.activations.iter().map(|place| &model.activations[*place]);
        assert_eq!(seen.runs, runs().count() as u64);
        assert_eq!(seen.missed, runs().filter(|run| run.is_late()).count() as u64);
        assert_eq!(seen.response.unwrap().max_ns, runs().filter_map(|run| run.response_ns()).max().unwrap());
        assert_eq!(seen.execution.unwrap().max_ns, runs().map(|run| run.execution_ns()).max().unwrap());
        let busy = runs().map(|run| run.execution_ns()).sum::<u64>() as f64;
        assert!((seen.utilisation * view.interval_ns as f64 - busy).abs() < 1.0);
        let place = model.callbacks.iter().position(|other| other.name == of.name);
        let lost = model.losses.iter().filter(|loss| loss.callback == place).map(|loss| loss.count).sum::<u64>();
        assert_eq!((seen.lost, seen.lost_total), (lost, 2 * lost));
        assert_eq!((seen.period_ns, seen.priority), (of.period_ns, of.priority));
        assert!(of.deadline_ns.is_none_or(|deadline| seen.deadline_ns == Some(deadline)));
    }
    let tracker = named(&view, "tracker");
    assert_eq!((tracker.queue_depth, tracker.incidents_total), (Some(1), 2));
    let detail = live.detail(named(&view, "planner").place).unwrap();
    assert_eq!((detail.worst.len(), detail.worst[0].late_ns), (6, Some(2_000_000)));
    assert_eq!(live.detail(tracker.place).unwrap().losses[0].cause, "queue full");
}

/// A program made by hand: one callback on one thread.
struct Robot {
    live: Live,
    sequence: u64,
}

impl Robot {
    fn new() -> Self {
        let mut live = Live::default();
        live.name(Name::Executor { executor: 0, name: "main".into(), policy: "fifo".into(), threads: 1 });
        live.name(Name::Thread { thread: 1, kernel_id: 9, name: "main".into() });
        live.name(entity(5, "camera"));
        live.name(Name::Queue { queue: 3, account: 7, topic: "/frames".into(), depth: 4 });
        live.view(0);
        let mut robot = Self { live, sequence: 0 };
        // It spins from the beginning on.
        robot.event(1, 0, Event::PollingPoint { executor: 0, thread: 0 });
        robot
    }

    fn step(&self, segment: u32) -> Step {
        Step { executor: 0, entity: 5, sequence: self.sequence, segment }
    }

    fn event(&mut self, thread: u32, at: u64, event: Event) {
        self.live.take(Item::Event(Recorded { thread, at: Instant::from_nanos(at), event }));
    }

    fn release(&mut self, at: u64) {
        self.sequence += 1;
        let step = self.step(0);
        let release = Instant::from_nanos(at);
        self.event(1, at, Event::Released { step, release, deadline: Instant::MAX });
    }

    fn dispatch(&mut self, thread: u32, at: u64, segment: u32) {
        let step = self.step(segment);
        let release = Instant::from_nanos(at - 1);
        self.event(thread, at, Event::Dispatched { step, thread: 0, release, cpu_ns: 0 });
    }

    fn complete(&mut self, thread: u32, at: u64) {
        let step = self.step(0);
        self.event(thread, at, Event::Completed { step, deadline: Instant::from_nanos(1_000), cpu_ns: 0 });
    }

    fn camera(&mut self, end: u64) -> CallbackView {
        named(&self.live.view(end), "camera").clone()
    }
}

fn entity(entity: u64, name: &str) -> Name {
    Name::Entity {
        executor: 0,
        entity,
        account: 7,
        name: name.into(),
        group: "group".into(),
        excludes: true,
        kind: "timer".into(),
        priority: 1,
        deadline_ns: None,
        period_ns: None,
        rules: None,
    }
}

#[test]
fn a_callback_that_runs_for_several_intervals_takes_its_part_of_each() {
    let mut robot = Robot::new();
    robot.release(40);
    robot.dispatch(1, 50, 0);
    assert_eq!(robot.camera(100).utilisation, 0.5);
    assert_eq!(robot.camera(200).utilisation, 1.0);
    robot.complete(1, 225);
    let camera = robot.camera(300);
    assert_eq!((camera.utilisation, camera.runs, camera.rate_hz), (0.25, 1, 1e7));
    assert_eq!((camera.execution.unwrap().max_ns, camera.response.unwrap().max_ns), (175, 176));
    assert_eq!(
        robot.camera(400),
        CallbackView { runs: 0, rate_hz: 0.0, utilisation: 0.0, execution: None, response: None, ..camera }
    );
}

#[test]
fn an_activation_in_segments_runs_on_several_threads() {
    let mut robot = Robot::new();
    robot.release(10);
    robot.dispatch(1, 10, 0);
    let step = robot.step(0);
    robot.event(1, 30, Event::Suspended { step, cpu_ns: 0 });
    robot.dispatch(2, 1_500, 1);
    robot.complete(2, 1_510);
    let camera = robot.camera(2_000);
    assert_eq!((camera.execution.unwrap().max_ns, camera.response.unwrap().max_ns), (30, 1_501));
    assert_eq!((camera.missed, camera.missed_total), (1, 1));
}

#[test]
fn a_callback_that_no_thread_runs_is_seen_to_wait() {
    let mut robot = Robot::new();
    robot.release(40);
    assert_eq!(robot.camera(100).waiting_ns, Some(60));
    assert_eq!(robot.camera(1_000).waiting_ns, Some(960));
    robot.dispatch(1, 1_010, 0);
    assert_eq!(robot.camera(1_100).waiting_ns, None);
}

#[test]
fn queues_fill_and_empty_in_any_order_of_threads() {
    let mut robot = Robot::new();
    let fill = |robot: &mut Robot, end| robot.camera(end).queue_fill.unwrap();
    let queued = |ticket, displaced| Event::Queued { queue: 3, ticket, displaced };
    let taken = |ticket| Event::Taken { queue: 3, ticket };
    robot.event(1, 10, queued(100, false));
    robot.event(1, 11, queued(101, false));
    assert_eq!(fill(&mut robot, 20), (2, 2));
    robot.event(1, 21, taken(100));
    // The thread that took this one is read before the one that appended it.
    robot.event(2, 25, taken(102));
    robot.event(1, 24, queued(102, false));
    assert_eq!(fill(&mut robot, 30), (0, 2));
    for ticket in 103..120 {
        robot.event(1, 31, queued(ticket, ticket > 106));
    }
    assert_eq!(fill(&mut robot, 40), (4, 4));
}

/// A hundred thousand callbacks come and go in the same place, and each leaves an activation that never ends.
#[test]
fn the_memory_does_not_grow_with_what_is_gone() {
    let mut robot = Robot::new();
    for generation in 0..100_000_u64 {
        let bits = (generation << 32) | 5;
        robot.live.name(entity(bits, &format!("of {generation}")));
        let step = Step { executor: 0, entity: bits, sequence: generation, segment: 0 };
        robot.event(1, generation, Event::Dispatched { step, thread: 0, release: Instant::ZERO, cpu_ns: 0 });
        robot.live.name(Name::Queue { queue: generation, account: 7, topic: String::new(), depth: 1 });
    }
    let view = robot.live.view(1_000_000);
    assert_eq!((view.callbacks.len(), view.queues.len()), (1, 1 << 16));
    assert_eq!(view.callbacks[0].name, "of 99999");
}

/// The executor's thread is read before the one that published, so that a dispatch comes before its release.
#[test]
fn a_release_that_comes_after_its_dispatch_does_not_wait() {
    let mut robot = Robot::new();
    let release = |robot: &mut Robot, sequence: u64, at: u64| {
        let step = Step { sequence, ..robot.step(0) };
        robot.event(2, at, Event::Released { step, release: Instant::from_nanos(at), deadline: Instant::MAX });
    };
    robot.dispatch(1, 50, 0);
    robot.complete(1, 60);
    let sequence = robot.step(0).sequence;
    release(&mut robot, sequence, 40);
    assert_eq!(robot.camera(1_000).waiting_ns, None);
    // The next one waits, until it is withdrawn.
    release(&mut robot, sequence + 1, 1_100);
    assert_eq!(robot.camera(1_200).waiting_ns, Some(100));
    let step = Step { sequence: sequence + 1, ..robot.step(0) };
    robot.event(1, 1_250, Event::Withdrawn { step });
    assert_eq!(robot.camera(1_300).waiting_ns, None);
}

/// A program starts a thread for each job, a hundred thousand in all, beside the one that works all the time.
#[test]
fn threads_that_are_gone_make_room_for_new_ones_and_for_callbacks() {
    let mut robot = Robot::new();
    robot.live.name(Name::Thread { thread: 1, kernel_id: 1, name: "main".into() });
    for thread in 2..100_000 {
        robot.dispatch(1, u64::from(thread) * 10, 0);
        robot.complete(1, u64::from(thread) * 10 + 1);
        robot.live.name(Name::Thread { thread, kernel_id: thread, name: "job".into() });
    }
    robot.live.name(entity(9, "late"));
    let view = robot.live.view(10_000_000);
    assert!(view.callbacks.iter().any(|callback| callback.name == "late"));
    assert!(view.threads.iter().any(|thread| thread.name == "main"), "the thread that works is there");
    assert!(view.threads.len() <= 1 << 12, "{}", view.threads.len());
}

/// Numbers that no program sends.
#[test]
fn hostile_events_are_taken_without_a_panic() {
    let mut robot = Robot::new();
    let mut seed = 1_u64;
    for _ in 0..50_000 {
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let extreme = [0, 1, 3, 5, 7, u64::MAX, u64::MAX - 1, seed >> 7];
            extreme[(seed >> 60) as usize % extreme.len()]
        };
        let words = [next(), (next() % 16) | (next() << 8), next(), next(), next(), next()];
        let thread = next() as u32;
        if let Some((at, event)) = Event::decode(&words) {
            robot.live.take(Item::Event(Recorded { thread, at, event }));
        }
        if seed.is_multiple_of(100) {
            robot.live.view(seed);
        }
    }
}
