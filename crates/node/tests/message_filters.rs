//! Synchronizers and caches as entities of nodes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin::message_filters::{Stamped, SyncInput, SynchronizerOptions};
use rospin::msgs::builtin_interfaces::msg::Time;
use rospin::msgs::std_msgs::msg::Header;
use rospin_engine::{
    Context, ContextOptions, Deployment, ExecutorOptions, LossCause, ManualClock, Payload, SpinOptions,
};
use rospin_node::{Message, Node, Publisher, PublisherOptions, Ros, SubscriptionOptions};

type Pair = (Arc<Header>, Arc<Header>);

fn header(millis: i32) -> Header {
    Header {
        stamp: Time { sec: millis / 1000, nanosec: millis.rem_euclid(1000) as u32 * 1_000_000 },
        frame_id: millis.to_string(),
    }
}

/// A node of one process, with publishers of three topics.
struct World {
    context: Context,
    ros: Ros,
    node: Node,
    publishers: [Publisher<Header>; 3],
}

const TOPICS: [&str; 3] = ["a", "b", "c"];

impl World {
    fn new() -> Self {
        Self::with(ContextOptions::new())
    }

    fn with(options: ContextOptions) -> Self {
        let context = Context::new(options);
        let ros = Ros::in_process(&context);
        let node = ros.create_node("node").unwrap();
        let publishers = TOPICS.map(|topic| node.create_publisher(topic).unwrap());
        Self { context, ros, node, publishers }
    }

    /// Publishes headers with these stamps, in milliseconds, on the topic of that place.
    fn publish(&self, topic: usize, stamps: &[i32]) {
        for millis in stamps {
            self.publishers[topic].publish(header(*millis)).unwrap();
        }
    }

    fn spin(&self) {
        self.ros.executor().spin(SpinOptions::spin_all()).unwrap();
    }
}

#[test]
fn a_callback_of_every_form_gets_the_sets_on_every_kind_of_group() {
    let world = World::new();
    let exact = || SynchronizerOptions::exact_time(10);
    let seen = Arc::new(AtomicU64::new(0));
    let count = || {
        let seen = Arc::clone(&seen);
        move || {
            seen.fetch_add(1, Ordering::Relaxed);
        }
    };
    let executor = world.ros.executor();
    let (group, reentrant) = (executor.create_group("group", 0_u32), executor.create_reentrant_group("reentrant"));
    let topics = ("a", "b");
    let seen_by = [count(), count(), count(), count(), count(), count()];
    let [own, own_async, bare, shared, shared_async, with_result] = seen_by;
    let synchronizers = [
        world.node.create_synchronizer(exact(), topics, move |(a, b): Pair| {
            assert_eq!(a.stamp, b.stamp);
            own();
        }),
        world.node.create_synchronizer(exact(), topics, move |_: Pair| {
            own_async();
            async {}
        }),
        world.node.on(&group).create_synchronizer(exact(), topics, |sum: &mut u32, _: Pair| *sum += 1),
        world.node.on(&group).create_synchronizer(exact(), topics, async |sum: Payload<u32>, _: Pair| {
            sum.with(|sum| *sum += 1);
        }),
        world.node.on(&group).create_synchronizer(exact(), topics, move |_: Pair| bare()),
        world.node.on(&reentrant).create_synchronizer(exact(), topics, move |_: Pair| shared()),
        world.node.on(&reentrant).create_synchronizer(exact(), topics, move |_: Pair| {
            shared_async();
            async {}
        }),
        world.node.create_synchronizer(exact(), topics, move |_: Pair| {
            with_result();
            Ok::<(), std::fmt::Error>(())
        }),
    ]
    .map(Result::unwrap);
    world.publish(0, &[1, 2]);
    world.publish(1, &[2, 3]);
    world.spin();
    assert!(synchronizers.iter().all(|synchronizer| synchronizer.matched() == 1));
    assert_eq!((seen.load(Ordering::Relaxed), group.into_payload().unwrap()), (6, 2));
}

#[test]
fn messages_without_a_match_are_counted_by_topic_and_cause() {
    let world = World::new();
    let options = SynchronizerOptions::exact_time(2).name("fusion");
    let sync = world.node.create_synchronizer(options, ("a", "b"), |_: Pair| ()).unwrap();
    world.publish(0, &[1, 2, 3, 4]);
    world.publish(1, &[3]);
    world.spin();
    assert_eq!((sync.matched(), sync.unmatched(0), sync.unmatched(1)), (1, 2, 0), "4 may still match");
    assert_eq!((sync.lost(LossCause::Unmatched), sync.lost(LossCause::QueueFull)), (2, 0));
    drop(sync);
    world.spin();
    let losses: Vec<_> = world.context.losses().into_iter().map(|loss| (loss.entity, loss.cause, loss.count)).collect();
    let fusion = |cause, count| ("fusion".to_owned(), cause, count);
    assert_eq!(losses, [fusion(LossCause::EntityDropped, 1), fusion(LossCause::Unmatched, 2)]);
}

#[test]
fn optional_members_get_what_has_no_match() {
    type Outer = (Option<Arc<Header>>, Option<Arc<Header>>);
    type Left = (Arc<Header>, Option<Arc<Header>>);
    let world = World::new();
    let executor = world.ros.executor();
    let (outer, left) = (executor.create_group("outer", Vec::new()), executor.create_group("left", Vec::new()));
    let frame = |header: &Option<Arc<Header>>| header.as_ref().map(|header| header.frame_id.clone());
    let exact = || SynchronizerOptions::exact_time(2);
    let everything =
        world.node.on(&outer).create_synchronizer(exact(), ("a", "b"), move |all: &mut Vec<_>, set: Outer| {
            all.push((frame(&set.0), frame(&set.1)));
        });
    let all_of_a = world.node.on(&left).create_synchronizer(exact(), ("a", "b"), move |all: &mut Vec<_>, set: Left| {
        all.push((set.0.frame_id.clone(), frame(&set.1)));
    });
    let (everything, all_of_a) = (everything.unwrap(), all_of_a.unwrap());
    world.publish(0, &[1]);
    world.publish(1, &[2]);
    world.spin();
    world.publish(0, &[3]);
    world.publish(1, &[3]);
    world.spin();
    assert_eq!((everything.unmatched(0), everything.unmatched(1)), (0, 0));
    assert_eq!((all_of_a.unmatched(0), all_of_a.unmatched(1)), (0, 1));
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(outer.into_payload().unwrap(), [(some("1"), None), (None, some("2")), (some("3"), some("3"))]);
    assert_eq!(left.into_payload().unwrap(), [("1".to_owned(), None), ("3".to_owned(), some("3"))]);
}

/// With room for one message, the result depends on the order in which messages of different topics arrived.
#[test]
fn messages_are_matched_in_the_order_of_their_arrival() {
    let world = World::new();
    let sync = world.node.create_synchronizer(SynchronizerOptions::exact_time(1), ("a", "b"), |_: Pair| ()).unwrap();
    for millis in 1..=5 {
        world.publish(0, &[millis]);
        world.publish(1, &[millis]);
    }
    world.spin();
    assert_eq!((sync.matched(), sync.lost(LossCause::Unmatched)), (5, 0));
}

#[test]
fn each_topic_has_its_own_quality_of_service() {
    let world = World::new();
    let latched = world.node.create_publisher(PublisherOptions::new("latched").transient_local()).unwrap();
    latched.publish(header(1)).unwrap();
    let inputs = (SyncInput::new("a").best_effort().keep_last(2), SyncInput::new("latched").transient_local(), "c");
    type Three = (Arc<Header>, Arc<Header>, Arc<Header>);
    let sync = world.node.create_synchronizer(SynchronizerOptions::exact_time(9), inputs, |_: Three| ()).unwrap();
    assert_eq!([0, 1, 2].map(|input| sync.publisher_count(input)), [1, 1, 1]);
    world.publish(0, &[-1, 0, 1]);
    world.publish(2, &[1]);
    world.spin();
    assert_eq!((sync.matched(), sync.lost(LossCause::QueueFull)), (1, 1));
}

/// Another Rust type of the same ROS type, so its messages arrive encoded.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Foreign {
    stamp: Time,
    frame_id: String,
}

impl Message for Foreign {
    const TYPE: &str = "std_msgs/msg/Header";
}

impl Stamped for Foreign {
    fn stamp_ns(&self) -> i64 {
        self.stamp.as_nanos()
    }
}

#[test]
fn encoded_messages_are_matched_with_those_of_this_process() {
    let world = World::new();
    let pairs = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&pairs);
    let sync = world.node.create_synchronizer(
        SynchronizerOptions::approximate_time(10),
        ("a", "b"),
        move |(a, b): (Arc<Header>, Arc<Foreign>)| seen.lock().unwrap().push((a.frame_id.clone(), b.frame_id.clone())),
    );
    let sync = sync.unwrap();
    world.publish(0, &[10, 20, 30]);
    world.publish(1, &[12, 19, 31]);
    world.spin();
    assert_eq!((sync.matched(), sync.unmatched(0)), (2, 0), "a better set with the last messages may still come");
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(*pairs.lock().unwrap(), [pair("10", "12"), pair("20", "19")]);
}

#[test]
fn waiting_messages_are_dropped_when_ros_time_jumps_back() {
    let clock = ManualClock::new();
    let world = World::with(ContextOptions::new().manual_clock(clock.clone()));
    let time = world.context.ros_time();
    drop(time.set(rospin_engine::Time::from_millis(9_000)));
    drop(time.set_active(true));
    let sync = world.node.create_synchronizer(SynchronizerOptions::exact_time(9), ("a", "b"), |_: Pair| ()).unwrap();
    let cache = world.node.create_cache::<Header>("a", 9).unwrap();
    world.spin();
    world.publish(0, &[1, 2]);
    world.spin();
    assert_eq!((sync.unmatched(0), cache.len()), (0, 2));
    // It arrives before the jump and waits in the subscription's queue.
    world.publish(0, &[3]);
    clock.advance(Duration::from_millis(1));
    drop(time.set(rospin_engine::Time::from_millis(0)));
    world.spin();
    clock.advance(Duration::from_millis(1));
    world.publish(1, &[1, 2, 3]);
    world.publish(0, &[3]);
    world.spin();
    assert_eq!((sync.matched(), sync.unmatched(0), sync.unmatched(1)), (1, 3, 2));
    assert_eq!(cache.newest().map(|message| message.frame_id.clone()), Some("3".to_owned()));
}

#[test]
fn a_synchronizer_with_nine_topics_is_one_entity() {
    type H = Arc<Header>;
    type Nine = (H, H, H, H, H, H, H, H, H);
    let world = World::new();
    let topics = ("t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8");
    let sync = world.node.create_synchronizer(SynchronizerOptions::approximate_time(5), topics, |_: Nine| ()).unwrap();
    let publishers = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(|n| world.node.create_publisher(&*format!("t{n}")).unwrap());
    for publisher in &publishers {
        publisher.publish(header(7)).unwrap();
    }
    world.spin();
    assert_eq!((sync.matched(), sync.name()), (1, "node/t0+t1+t2+t3+t4+t5+t6+t7+t8"));
}

/// Publishes from another thread while sets are taken: every message is in a set, or counted.
#[test]
fn no_message_disappears_while_publishers_are_faster_than_the_callback() {
    const COUNT: i32 = 3000;
    let world = World::new();
    let executor = world.context.create_executor(ExecutorOptions::new("busy"));
    let group = executor.create_group("group", 0_u64);
    let inputs = (SyncInput::new("a").keep_last(16), SyncInput::new("b").keep_last(16));
    let options = SynchronizerOptions::approximate_time(4);
    let sync = world.node.on(&group).create_synchronizer(options, inputs, |sets: &mut u64, _: Pair| *sets += 1);
    let sync = sync.unwrap();
    let [a, b, _] = world.publishers;
    let publisher = std::thread::spawn(move || {
        for millis in 0..COUNT {
            a.publish(header(millis)).unwrap();
            b.publish(header(millis + 1)).unwrap();
        }
    });
    while !publisher.is_finished() {
        executor.spin(SpinOptions::spin_all()).unwrap();
    }
    publisher.join().unwrap();
    executor.spin(SpinOptions::spin_all()).unwrap();
    let (matched, lost) = (sync.matched(), sync.lost(LossCause::Unmatched) + sync.lost(LossCause::QueueFull));
    drop(sync);
    executor.spin(SpinOptions::spin_all()).unwrap();
    let dropped = world
        .context
        .losses()
        .iter()
        .filter(|loss| loss.cause == LossCause::EntityDropped)
        .map(|loss| loss.count)
        .sum::<u64>();
    assert_eq!(group.into_payload().unwrap(), matched);
    assert_eq!(matched * 2 + lost + dropped, COUNT as u64 * 2);
}

#[test]
fn a_deployed_depth_is_that_of_each_topic() {
    let deployment = Deployment::parse("[[callback]]\nname = \"pair\"\ndepth = 1\n").unwrap();
    let world = World::with(ContextOptions::new().deployment(deployment));
    let options = SynchronizerOptions::exact_time(9).name("pair");
    let sync = world.node.create_synchronizer(options, ("a", "b"), |_: Pair| ()).unwrap();
    world.publish(0, &[1, 2]);
    world.publish(1, &[1, 2, 3, 2]);
    world.spin();
    assert_eq!((sync.matched(), sync.lost(LossCause::QueueFull)), (1, 4));
}

#[test]
fn a_cache_is_filled_by_the_executor() {
    let world = World::new();
    let cache =
        world.node.create_cache::<Header>(SubscriptionOptions::new("a").keep_last(5).name("memory"), 3).unwrap();
    world.publish(0, &[1, 4, 2, 3]);
    assert!(cache.is_empty(), "nothing runs before a spin");
    world.spin();
    let stamps: Vec<_> = cache.interval(0..=i64::MAX).iter().map(|message| message.frame_id.clone()).collect();
    assert_eq!((stamps.join(" "), cache.subscription().name()), ("2 3 4".to_owned(), "memory"));
}

/// The log of this process, of which each test looks for its own lines.
struct Lines(Mutex<Vec<String>>);

impl log::Log for Lines {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        self.0.lock().unwrap().push(record.args().to_string());
    }

    fn flush(&self) {}
}

static LINES: Lines = Lines(Mutex::new(Vec::new()));

#[test]
fn a_synchronizer_that_matches_nothing_says_why_once() {
    log::set_logger(&LINES).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
    let world = World::new();
    let approximate = |name: &str| SynchronizerOptions::approximate_time(3).name(name);
    let _deaf = world.node.create_synchronizer(approximate("deaf"), ("a", "nobody"), |_: Pair| ()).unwrap();
    let bounded = (SyncInput::new("b").lower_bound(Duration::from_millis(20)), "c");
    let _broken = world.node.create_synchronizer(approximate("broken"), bounded, |_: Pair| ()).unwrap();
    world.publish(0, &[1500, 2500, 3500, 4500, 5500, 6500, 7500]);
    world.publish(1, &[100, 110, 120, 90, 80]);
    world.spin();
    let lines = LINES.0.lock().unwrap();
    let of = |name: &str| lines.iter().filter(|line| line.contains(name)).cloned().collect::<Vec<_>>();
    let deaf = of("`deaf`");
    assert_eq!(deaf.len(), 1, "{deaf:?}");
    assert!(deaf[0].contains("6 messages on `/a`, the last one with the stamp 6.500000000 s"), "{}", deaf[0]);
    assert!(deaf[0].contains("no message on `/nobody`"), "{}", deaf[0]);
    let broken = of("`broken`: messages");
    assert_eq!(broken.len(), 2, "{broken:?}");
    assert!(broken[0].contains("closer than its lower bound of 0.020000000 s"), "{broken:?}");
    assert!(broken[1].contains("out of order: the stamp 0.090000000 s follows 0.120000000 s"), "{broken:?}");
}
