//! A subscription has one queue for messages of this process and for those that come encoded: one depth, one order, one
//! count of what is lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use rospin_engine::{Context, ContextOptions, Executor, ExecutorOptions, LossCause, ManualClock, SpinOptions};
use rospin_node::{
    Gid, Message, MessageInfo, MessageLost, Node, Packet, Publication, Publisher, PublisherOptions, Qos, Ros,
    SubscriptionOptions,
};
use rospin_wire::cdr::to_payload;
use serde::{Deserialize, Serialize};

use crate::actions::set_up::watchdog;
use crate::blob::Given;
use crate::hostile::STRING;

/// A number that is counted while it is in memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Number {
    pub(crate) data: i64,
    #[serde(skip)]
    #[expect(dead_code, reason = "its owners are counted")]
    alive: Option<Arc<()>>,
}

impl Message for Number {
    const TYPE: &str = "std_msgs/msg/Int64";
}

/// The same number as another Rust type.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Other {
    pub(crate) data: i64,
}

impl Message for Other {
    const TYPE: &str = "std_msgs/msg/Int64";
}

/// An encoded number that is counted while it is in memory.
struct Encoded(Vec<u8>, #[expect(dead_code, reason = "its owners are counted")] Arc<()>);

impl AsRef<[u8]> for Encoded {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

pub(crate) struct World {
    pub(crate) clock: ManualClock,
    pub(crate) executor: Executor,
    network: Given,
    pub(crate) node: Node,
    /// One of the owners of each message that is in memory.
    alive: Arc<()>,
}

impl World {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::new();
        let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let network = Given::default();
        let node = Ros::over(&context, network.clone()).create_node("node").unwrap();
        Self { clock, executor, network, node, alive: Arc::default() }
    }

    pub(crate) fn spin_all(&self) {
        self.executor.spin(SpinOptions::spin_all()).unwrap();
    }

    /// Returns how many messages are in memory.
    pub(crate) fn waiting(&self) -> usize {
        Arc::strong_count(&self.alive) - 1
    }

    fn publisher(&self) -> Publisher<Number> {
        self.node.create_publisher("numbers").unwrap()
    }

    pub(crate) fn number(&self, data: i64) -> Number {
        Number { data, alive: Some(Arc::clone(&self.alive)) }
    }

    fn packet(&self, data: i64) -> Packet {
        let payload = to_payload(&Other { data }).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(data.unsigned_abs());
        let publication = Publication { publisher: Gid::new([7; 16]), number: Some(1), time: Some(time) };
        Packet::new(Bytes::from_owner(Encoded(payload, Arc::clone(&self.alive))), Some(publication))
    }

    /// Has a message come from outside.
    fn arrive(&self, data: i64, missing: u64) {
        self.network.topics.lock().unwrap()["/numbers"].push(self.packet(data), missing);
    }
}

pub(crate) fn keep_last(depth: usize) -> SubscriptionOptions {
    SubscriptionOptions::new("numbers").keep_last(depth)
}

pub(crate) fn hear(heard: &mut Vec<i64>, number: &Number) {
    heard.push(number.data);
}

fn hear_informed(heard: &mut Vec<i64>, number: &Number, _: MessageInfo) {
    heard.push(number.data);
}

/// Publishes and receives numbers by turns, from 1 on.
fn alternate(world: &World, publisher: &Publisher<Number>, other: &Publisher<Other>) {
    for round in 0..4 {
        publisher.publish(world.number(3 * round + 1)).unwrap();
        world.arrive(3 * round + 2, 0);
        other.publish(Other { data: 3 * round + 3 }).unwrap();
    }
}

#[test]
fn messages_of_all_ways_share_one_depth_and_one_count() {
    for is_informed in [false, true] {
        let world = World::new();
        let group = world.executor.create_group("group", Vec::new());
        let on = world.node.on(&group);
        let subscription = if is_informed {
            on.create_subscription(keep_last(5), hear_informed).unwrap()
        } else {
            on.create_subscription(keep_last(5), hear).unwrap()
        };
        let told = world.executor.create_group("told", Vec::new());
        let tell = |told: &mut Vec<_>, lost: MessageLost| told.push((lost.total, lost.total_change));
        let _told = world.node.on(&told).create_event_callback(&subscription, tell).unwrap();
        alternate(&world, &world.publisher(), &world.node.create_publisher("numbers").unwrap());
        // The last five are 8 from outside, 9 from the other type, 10, 11 from outside, 12 from the other type. Encoded
        // ones have displaced three that nobody has dropped yet.
        assert_eq!(
            (world.waiting(), subscription.missed()),
            (3 + 3, 7),
            "before any is taken, informed: {is_informed}"
        );
        world.spin_all();
        assert_eq!((world.waiting(), subscription.missed()), (0, 7));
        drop((subscription, _told));
        assert_eq!(group.into_payload().unwrap(), [8, 9, 10, 11, 12]);
        assert_eq!(told.into_payload().unwrap(), [(7, 7)]);
    }
}

#[test]
fn the_oldest_of_all_makes_room_and_what_never_arrived_counts_too() {
    let world = World::new();
    let group = world.executor.create_group("group", Vec::new());
    let subscription = world.node.on(&group).create_subscription(keep_last(2), hear).unwrap();
    let publisher = world.publisher();
    world.arrive(1, 3);
    publisher.publish(world.number(2)).unwrap();
    publisher.publish(world.number(3)).unwrap();
    assert_eq!((world.waiting(), subscription.missed()), (2, 4), "a shared one displaced an encoded one");
    world.arrive(4, 0);
    assert_eq!((world.waiting(), subscription.missed()), (2 + 1, 5), "an encoded one displaced a shared one");
    world.spin_all();
    drop(subscription);
    assert_eq!(group.into_payload().unwrap(), [3, 4]);
}

#[test]
fn the_order_is_that_of_arrival_also_at_equal_times() {
    let world = World::new();
    let group = world.executor.create_group("group", Vec::new());
    let _subscription = world.node.on(&group).create_subscription(keep_last(20), hear).unwrap();
    let (publisher, other) = (world.publisher(), world.node.create_publisher("numbers").unwrap());
    world.arrive(0, 0);
    alternate(&world, &publisher, &other);
    world.spin_all();
    world.clock.advance(Duration::from_millis(1));
    world.arrive(13, 0);
    publisher.publish(world.number(14)).unwrap();
    world.spin_all();
    drop(_subscription);
    assert_eq!(group.into_payload().unwrap(), Vec::from_iter(0..15));
}

#[test]
fn the_info_is_that_of_the_way_a_message_came() {
    let world = World::new();
    let group = world.executor.create_group("group", Vec::new());
    let keep =
        |heard: &mut Vec<(i64, MessageInfo)>, number: &Number, info: MessageInfo| heard.push((number.data, info));
    let subscription = world.node.on(&group).create_subscription(keep_last(9), keep).unwrap();
    let other = world.node.create_publisher::<Other>("numbers").unwrap();
    let publisher = world.publisher();
    publisher.publish(world.number(1)).unwrap();
    world.clock.advance(Duration::from_millis(5));
    world.arrive(2, 0);
    world.clock.advance(Duration::from_millis(5));
    other.publish(Other { data: 3 }).unwrap();
    publisher.publish(world.number(4)).unwrap();
    world.clock.advance(Duration::from_millis(5));
    world.spin_all();
    drop(subscription);
    let heard = group.into_payload().unwrap();
    let ways = heard.iter().map(|(data, info)| (*data, info.is_in_process, info.publication_sequence_number));
    assert_eq!(
        ways.collect::<Vec<_>>(),
        [(1, true, Some(1)), (2, false, Some(1)), (3, true, Some(1)), (4, true, Some(2))]
    );
    let info = |at: usize| heard[at].1;
    assert_eq!(info(1).publisher_gid, Some(Gid::new([7; 16])));
    assert_eq!(info(1).source_timestamp, Some(SystemTime::UNIX_EPOCH + Duration::from_secs(2)));
    assert_eq!([info(0), info(2), info(3)].map(|info| info.publisher_gid), [Some(Gid::new([0; 16])); 3]);
    assert_eq!(info(0).source_timestamp, Some(info(0).received_timestamp));
    let after = |later: usize, earlier: usize| {
        info(later).received_timestamp.duration_since(info(earlier).received_timestamp).unwrap().as_millis()
    };
    assert_eq!([after(1, 0), after(2, 1), after(3, 2)], [5, 5, 0]);
}

#[test]
fn a_late_subscription_has_the_kept_messages_before_those_that_come() {
    let world = World::new();
    let options = || PublisherOptions::new("numbers").keep_last(2).transient_local();
    let publisher = world.node.create_publisher::<Number>(options()).unwrap();
    let other = world.node.create_publisher::<Other>(options()).unwrap();
    for data in 1..=3 {
        publisher.publish(world.number(data)).unwrap();
        other.publish(Other { data: data + 10 }).unwrap();
    }
    let groups = [(); 2].map(|()| world.executor.create_group("late", Vec::new()));
    let late = || keep_last(5).transient_local();
    let plain = world.node.on(&groups[0]).create_subscription(late(), hear).unwrap();
    let informed = world.node.on(&groups[1]).create_subscription(late(), hear_informed).unwrap();
    publisher.publish(world.number(4)).unwrap();
    // It goes to the subscription that was created last.
    world.arrive(5, 0);
    world.spin_all();
    assert_eq!([plain.missed(), informed.missed()], [0, 1]);
    drop((plain, informed));
    assert_eq!(groups.map(|group| group.into_payload().unwrap()), [vec![2, 12, 3, 13, 4], vec![12, 3, 13, 4, 5]]);
}

#[test]
fn a_message_was_received_when_there_was_room_for_it() {
    /// The number of messages that a queue holds which keeps all.
    const ALL: i64 = 8192;
    watchdog(|| {
        loop {
            let world = World::new();
            let group = world.executor.create_group("group", Vec::new());
            let keep = |received: &mut Vec<SystemTime>, _: &Number, info: MessageInfo| {
                received.push(info.received_timestamp);
            };
            let options = SubscriptionOptions::new("numbers").qos(Qos::keep_all());
            let subscription = world.node.on(&group).create_subscription(options, keep).unwrap();
            let options = PublisherOptions::new("numbers").qos(Qos::keep_all());
            let publisher = world.node.create_publisher::<Number>(options).unwrap();
            (0..ALL).for_each(|data| publisher.publish(world.number(data)).unwrap());
            let has_begun = Barrier::new(2);
            thread::scope(|scope| {
                let late = scope.spawn(|| {
                    let number = world.number(ALL);
                    has_begun.wait();
                    publisher.publish(number).unwrap();
                });
                has_begun.wait();
                // It waits in most cases, and receives the message at the same time in all.
                (0..100).for_each(|_| thread::yield_now());
                world.clock.advance(Duration::from_millis(5));
                while !late.is_finished() {
                    world.spin_all();
                }
            });
            world.spin_all();
            let lost = subscription.missed();
            drop(subscription);
            let received = group.into_payload().unwrap();
            // A publisher that has waited for as long as it may takes the room by force, perhaps before the clock
            // moved.
            if lost == 0 {
                let waited = received[ALL as usize].duration_since(received[0]).unwrap();
                assert_eq!(waited, Duration::from_millis(5));
                return;
            }
        }
    });
}

/// A number whose drop must not run within a middleware.
#[derive(Debug)]
struct Careful;

static WITHIN: AtomicBool = AtomicBool::new(false);
static DROPPED_WITHIN: AtomicBool = AtomicBool::new(false);

impl Drop for Careful {
    fn drop(&mut self) {
        if WITHIN.load(Ordering::SeqCst) {
            DROPPED_WITHIN.store(true, Ordering::SeqCst);
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Guarded {
    data: i64,
    #[serde(skip)]
    #[expect(dead_code, reason = "its drop is watched")]
    careful: Option<Arc<Careful>>,
}

impl Message for Guarded {
    const TYPE: &str = "std_msgs/msg/Int64";
}

#[test]
fn messages_of_this_process_are_not_dropped_on_the_thread_of_a_middleware() {
    let world = World::new();
    let group = world.executor.create_group("group", Vec::new());
    let keep = |heard: &mut Vec<i64>, number: &Guarded| heard.push(number.data);
    let options = SubscriptionOptions::new("numbers").keep_last(2);
    let subscription = world.node.on(&group).create_subscription(options, keep).unwrap();
    let publisher = world.node.create_publisher::<Guarded>("numbers").unwrap();
    let publish = |data| {
        let careful = Arc::new(Careful);
        let alive = Arc::downgrade(&careful);
        publisher.publish(Guarded { data, careful: Some(careful) }).unwrap();
        alive
    };
    let arrive = |data| {
        WITHIN.store(true, Ordering::SeqCst);
        world.arrive(data, 0);
        WITHIN.store(false, Ordering::SeqCst);
    };
    // One is displaced by an encoded message, which is displaced by a further one, which is taken.
    let first = publish(1);
    (2..=5).for_each(arrive);
    assert!(first.strong_count() == 1 && !DROPPED_WITHIN.load(Ordering::SeqCst));
    world.spin_all();
    assert_eq!(first.strong_count(), 0);
    // One is displaced by an encoded message, which is displaced by one of this process.
    let second = publish(6);
    (7..=8).for_each(arrive);
    let others = [publish(9), publish(10)];
    assert_eq!(second.strong_count(), 0);
    // Both are displaced by encoded messages, which nobody takes.
    (11..=13).for_each(arrive);
    assert!(others.iter().all(|other| other.strong_count() == 1) && !DROPPED_WITHIN.load(Ordering::SeqCst));
    assert_eq!(subscription.missed(), 3 + 1 + 2 + 2 + 1);
    drop(subscription);
    world.spin_all();
    assert!(others.iter().all(|other| other.strong_count() == 0));
    assert_eq!(group.into_payload().unwrap(), [4, 5]);
}

#[test]
fn a_subscription_that_keeps_all_has_one_bound_for_both_ways() {
    let world = World::new();
    let group = world.executor.create_group("group", Vec::new());
    let options = SubscriptionOptions::new("numbers").qos(Qos::keep_all());
    let subscription = world.node.on(&group).create_subscription(options, hear).unwrap();
    let publisher = world.publisher();
    for data in 0..5000 {
        publisher.publish(world.number(2 * data)).unwrap();
        world.arrive(2 * data + 1, 0);
    }
    let (bound, missed) = (world.waiting() as i64, subscription.missed() as i64);
    assert!(bound < 10_000 && bound + missed == 10_000, "{bound} {missed}");
    world.spin_all();
    drop(subscription);
    assert_eq!(group.into_payload().unwrap(), Vec::from_iter(missed..10_000));
}

#[test]
fn what_is_left_when_a_subscription_goes_is_counted_once_and_dropped() {
    let world = World::new();
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let network = Given::default();
    let node = Ros::over(&context, network.clone()).create_node("node").unwrap();
    let group = executor.create_group("group", Vec::new());
    let options = keep_last(4).name("left");
    let subscription = node.on(&group).create_subscription(options, hear).unwrap();
    let publisher = node.create_publisher::<Number>("numbers").unwrap();
    let inlet = network.topics.lock().unwrap()["/numbers"].clone();
    for data in 0..3 {
        publisher.publish(world.number(data)).unwrap();
        inlet.push(world.packet(data), 0);
    }
    drop(subscription);
    executor.spin(SpinOptions::spin_all()).unwrap();
    inlet.push(world.packet(9), 0);
    drop(inlet);
    network.topics.lock().unwrap().clear();
    assert_eq!(world.waiting(), 0);
    let mut lost: Vec<_> = context.losses().into_iter().filter(|loss| loss.entity == "left").collect();
    lost.sort_by_key(|loss| loss.cause);
    let lost: Vec<_> = lost.into_iter().map(|loss| (loss.cause, loss.count)).collect();
    assert_eq!(lost, [(LossCause::QueueFull, 2), (LossCause::EntityDropped, 4)]);
}

/// Each sender's messages are in order, and those that were not heard are counted.
#[test]
fn two_ways_at_once_lose_nothing_uncounted_and_a_subscription_may_go_meanwhile() {
    const ROUNDS: usize = 20;
    const BURST: i64 = 500;
    watchdog(|| {
        let world = World::new();
        let publisher = world.publisher();
        for round in 0..ROUNDS {
            let group = world.executor.create_group("group", Vec::new());
            let subscription = world.node.on(&group).create_subscription(keep_last(16), hear).unwrap();
            let inlet = world.network.topics.lock().unwrap()["/numbers"].clone();
            let start = Barrier::new(3);
            let missed = thread::scope(|scope| {
                let here = scope.spawn(|| {
                    start.wait();
                    (0..BURST).for_each(|data| publisher.publish(world.number(data)).unwrap());
                });
                let outside = scope.spawn(|| {
                    start.wait();
                    (0..BURST).for_each(|data| inlet.push(world.packet(-1 - data), 0));
                });
                start.wait();
                if round % 2 == 1 {
                    world.spin_all();
                    drop(subscription);
                    return None;
                }
                while !here.is_finished() || !outside.is_finished() {
                    world.spin_all();
                }
                world.spin_all();
                Some(subscription.missed())
            });
            world.spin_all();
            assert_eq!(world.waiting(), 0);
            let heard = group.into_payload().unwrap();
            if let Some(missed) = missed {
                assert_eq!(heard.len() as u64 + missed, 2 * BURST as u64);
            }
            let (outside, here): (Vec<_>, Vec<_>) = heard.into_iter().partition(|data| *data < 0);
            assert!(here.is_sorted() && outside.is_sorted_by(|one, next| one > next));
        }
    });
}

/// A text that uses its topic when it is dropped.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Nosy {
    data: String,
}

static NOSY: OnceLock<Publisher<Plain>> = OnceLock::new();

impl Drop for Nosy {
    fn drop(&mut self) {
        if let Some(publisher) = NOSY.get() {
            let _ = publisher.subscription_count();
        }
    }
}

impl Message for Nosy {
    const TYPE: &str = STRING;
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Plain {
    data: String,
}

impl Message for Plain {
    const TYPE: &str = STRING;
}

#[test]
fn a_message_that_makes_room_for_one_of_another_type_may_use_its_topic_when_it_is_dropped() {
    watchdog(|| {
        let world = World::new();
        let publisher = NOSY.get_or_init(|| world.node.create_publisher("texts").unwrap());
        let same = world.node.create_publisher::<Nosy>("texts").unwrap();
        let options = SubscriptionOptions::new("texts").keep_last(1);
        let group = world.executor.create_group("group", ());
        let subscription = world.node.on(&group).create_subscription(options, |(): &mut (), _: Nosy| ()).unwrap();
        same.publish(Nosy { data: String::new() }).unwrap();
        publisher.publish(Plain { data: String::new() }).unwrap();
        assert_eq!(subscription.missed(), 1);
    });
}
