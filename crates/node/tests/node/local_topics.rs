//! The topics of one process under hostile programs: ends that come and go at bad moments, and messages whose own code
//! does.

use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;

use rospin_engine::{Context, ContextOptions, Executor, ExecutorOptions, LossCause, SpinOptions};
use rospin_node::dynamic::{DynamicMessage, MessageType};
use rospin_node::{Message, Node, Publisher, PublisherOptions, Ros, SubscriptionOptions};
use serde::{Deserialize, Serialize};

use crate::actions::set_up::watchdog;
use crate::hostile::{BUSY, Busy, Moody, RESTLESS, Restless, STRING, Text, number, text};

struct World {
    executor: Executor,
    node: Node,
    string: MessageType,
}

impl World {
    fn new() -> Self {
        let context = Context::new(ContextOptions::new().on_incident(|_| {}));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let node = Ros::in_process(&context).create_node("node").unwrap();
        let install = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dynamic/tests/install");
        Self { executor, node, string: MessageType::find_in(STRING, &[install]).unwrap() }
    }

    fn spin_all(&self) {
        self.executor.spin(SpinOptions::spin_all()).unwrap();
    }

    fn latched(&self, depth: usize) -> Publisher<Text> {
        let options = PublisherOptions::new("topic").keep_last(depth).transient_local();
        self.node.create_publisher(options).unwrap()
    }

    fn dynamic(&self, data: &str) -> DynamicMessage {
        let mut message = DynamicMessage::new(&self.string);
        message.set("data", data).unwrap();
        message
    }
}

fn late(depth: usize) -> SubscriptionOptions {
    SubscriptionOptions::new("topic").keep_last(depth).transient_local()
}

fn hear(heard: &mut Vec<u32>, message: DynamicMessage) {
    heard.push(number(&message.get::<String>("data").unwrap()));
}

#[test]
fn a_message_that_makes_room_may_use_its_topic_when_it_is_dropped() {
    watchdog(|| {
        let world = World::new();
        let options = PublisherOptions::new("topic").keep_last(1).transient_local();
        let publisher = BUSY.get_or_init(|| world.node.create_publisher(options).unwrap());
        for _ in 0..3 {
            publisher.publish(Busy { data: String::new() }).unwrap();
        }
        assert_eq!(publisher.subscription_count(), 0);
    });
}

/// Each subscription hears every message from some message on, in order and once, whatever its Rust type.
#[test]
fn late_subscriptions_of_another_type_miss_nothing_while_a_latched_publisher_publishes() {
    const ROUNDS: u32 = 100;
    const BURST: u32 = 64;
    const KEPT: u32 = 8;
    watchdog(|| {
        let world = World::new();
        let publisher = world.latched(KEPT as usize);
        let both = Arc::new(Barrier::new(2));
        let other = Arc::clone(&both);
        let thread = thread::spawn(move || {
            for round in 0..ROUNDS {
                other.wait();
                for number in 0..BURST {
                    publisher.publish(text(round * BURST + number)).unwrap();
                }
                other.wait();
            }
        });
        for round in 0..ROUNDS {
            let group = world.executor.create_group("late", Vec::new());
            let options = late((BURST + KEPT) as usize);
            both.wait();
            let subscription = world.node.on(&group).create_dynamic_subscription(options, &world.string, hear).unwrap();
            both.wait();
            world.spin_all();
            assert_eq!(subscription.missed(), 0);
            drop(subscription);
            let (heard, end) = (group.into_payload().unwrap(), (round + 1) * BURST);
            let first = heard[0];
            assert_eq!(heard, Vec::from_iter(first..end));
            assert!(first + KEPT >= round * BURST && first + KEPT <= end, "{first} {end}");
        }
        thread.join().unwrap();
    });
}

#[test]
fn a_late_subscription_comes_although_there_is_a_new_message_whenever_it_has_encoded_the_last_ones() {
    watchdog(|| {
        let world = World::new();
        let options = PublisherOptions::new("topic").keep_last(1).transient_local();
        let publisher = RESTLESS.get_or_init(|| world.node.create_publisher(options).unwrap());
        publisher.publish(Restless(1)).unwrap();
        let group = world.executor.create_group("late", Vec::new());
        let _late = world.node.on(&group).create_dynamic_subscription(late(10), &world.string, hear).unwrap();
        world.spin_all();
        assert_eq!(group.into_payload().unwrap(), [1, 2]);
    });
}

#[test]
fn kept_messages_beyond_the_depth_are_no_loss() {
    let world = World::new();
    let publisher = world.latched(10);
    for number in 0..10 {
        publisher.publish(text(number)).unwrap();
    }
    let groups = [(); 2].map(|()| world.executor.create_group("late", Vec::new()));
    let typed = |heard: &mut Vec<u32>, Text { data }: Text| heard.push(number(&data));
    let same = world.node.on(&groups[0]).create_subscription(late(2), typed).unwrap();
    let other = world.node.on(&groups[1]).create_dynamic_subscription(late(2), &world.string, hear).unwrap();
    world.spin_all();
    assert_eq!(groups.map(|group| group.into_payload().unwrap()), [[8, 9], [8, 9]]);
    assert_eq!([same.missed(), other.missed()], [0, 0]);
}

#[test]
fn a_message_whose_decoding_panics_is_lost_and_later_ones_are_heard() {
    let world = World::new();
    let group = world.executor.create_group("group", Vec::new());
    let hear = |heard: &mut Vec<String>, Moody(data): Moody| heard.push(data);
    let subscription = world.node.on(&group).create_subscription("topic", hear).unwrap();
    let publisher = world.node.create_publisher::<Text>("topic").unwrap();
    for data in ["1", "-2", "3"] {
        publisher.publish(Text { data: data.to_owned() }).unwrap();
        world.spin_all();
    }
    assert_eq!(
        (subscription.lost(LossCause::TakeFailed), group.into_payload().unwrap()),
        (1, vec!["1".into(), "3".into()])
    );
}

#[test]
fn a_kept_message_whose_encoding_panics_is_not_the_late_subscriptions_panic() {
    let world = World::new();
    let options = PublisherOptions::new("topic").keep_last(3).transient_local();
    let publisher = world.node.create_publisher::<Moody>(options).unwrap();
    for data in ["1", "", "3"] {
        publisher.publish(Moody(data.to_owned())).unwrap();
    }
    let group = world.executor.create_group("late", Vec::new());
    let _late = world.node.on(&group).create_dynamic_subscription(late(3), &world.string, hear).unwrap();
    publisher.publish(Moody("4".to_owned())).unwrap();
    world.spin_all();
    assert_eq!(group.into_payload().unwrap(), [1, 3, 4]);
}

/// Two definitions have one name, as those of two versions of a package.
#[test]
fn a_dynamic_subscription_gets_messages_of_its_own_definition_only() {
    let world = World::new();
    let install = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dynamic/tests/install/share/std_msgs/msg/String.json");
    let json = std::fs::read_to_string(install).unwrap();
    let hashes = [
        "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18",
        "a3995014c62b013a8dc20289e4913934f1977e8bb18ae55fc90829d85a0ca0d6",
    ];
    let json = json.replace("\"data\"", "\"words\"").replace(hashes[0], hashes[1]);
    let other = MessageType::from_json(&json).unwrap();
    assert_ne!(other, world.string);
    let ours = world.string.clone();
    for (ours, other) in [(ours.clone(), other.clone()), (ours.without_hash(), other.without_hash())] {
        let group = world.executor.create_group("group", Vec::new());
        let hear = |heard: &mut Vec<DynamicMessage>, message: DynamicMessage| heard.push(message);
        let heard = world.node.on(&group).create_dynamic_subscription("topic", &other, hear).unwrap();
        let publisher = world.node.create_dynamic_publisher("topic", &ours).unwrap();
        publisher.publish(world.dynamic("1")).unwrap();
        world.spin_all();
        drop(heard);
        let heard = group.into_payload().unwrap();
        assert_eq!(heard.len(), 1);
        assert_eq!(*heard[0].message_type(), other, "{heard:?}");
    }
}

#[test]
fn every_published_message_is_taken_or_counted_as_lost() {
    const EACH: u32 = 3000;
    watchdog(|| {
        let world = World::new();
        let group = world.executor.create_group("group", 0_u64);
        let count = |taken: &mut u64, _: Text| *taken += 1;
        let options = SubscriptionOptions::new("topic").keep_last(3);
        let subscription = world.node.on(&group).create_subscription(options, count).unwrap();
        let typed = world.node.create_publisher::<Text>("topic").unwrap();
        let dynamic = world.node.create_dynamic_publisher("topic", &world.string).unwrap();
        let message = world.dynamic("1");
        let threads = [
            thread::spawn(move || (0..EACH).for_each(|number| typed.publish(text(number)).unwrap())),
            thread::spawn(move || (0..EACH).for_each(|_| dynamic.publish(message.clone()).unwrap())),
        ];
        while threads.iter().any(|thread| !thread.is_finished()) {
            world.spin_all();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        world.spin_all();
        let taken = group.into_payload().unwrap();
        assert_eq!(taken + subscription.missed(), u64::from(2 * EACH), "{taken}");
    });
}

#[test]
fn messages_outlive_their_publishers() {
    let world = World::new();
    let group = world.executor.create_group("group", Vec::new());
    let _heard = world.node.on(&group).create_dynamic_subscription("topic", &world.string, hear).unwrap();
    let typed = world.node.create_publisher("topic").unwrap();
    let dynamic = world.node.create_dynamic_publisher("topic", &world.string).unwrap();
    typed.publish(text(1)).unwrap();
    dynamic.publish(world.dynamic("2")).unwrap();
    drop((typed, dynamic));
    world.spin_all();
    assert_eq!(group.into_payload().unwrap(), [1, 2]);
}

#[test]
fn a_callback_publishes_on_its_own_topic() {
    watchdog(|| {
        let world = World::new();
        let publisher = world.latched(4);
        let (typed, dynamic) =
            (world.executor.create_group("typed", ()), world.executor.create_group("dynamic", Vec::new()));
        let again = publisher.clone();
        let echo = move |(): &mut (), Text { data }: Text| {
            if number(&data) < 5 {
                again.publish(text(number(&data) + 1)).unwrap();
            }
        };
        let _typed = world.node.on(&typed).create_subscription("topic", echo).unwrap();
        let _dynamic = world.node.on(&dynamic).create_dynamic_subscription("topic", &world.string, hear).unwrap();
        publisher.publish(text(1)).unwrap();
        world.spin_all();
        assert_eq!(dynamic.into_payload().unwrap(), [1, 2, 3, 4, 5]);
    });
}

#[test]
fn ends_are_dropped_while_others_publish() {
    watchdog(|| {
        let world = World::new();
        let publisher = world.latched(4);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let publisher = publisher.clone();
                thread::spawn(move || (0..3000).for_each(|number| publisher.publish(text(number)).unwrap()))
            })
            .collect();
        let group = world.executor.create_group("group", Vec::new());
        while threads.iter().any(|thread| !thread.is_finished()) {
            let other = world.node.create_dynamic_publisher("topic", &world.string).unwrap();
            let subscription = world.node.on(&group).create_dynamic_subscription(late(2), &world.string, hear).unwrap();
            world.spin_all();
            drop((other, subscription));
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(publisher.subscription_count(), 0);
    });
}

#[test]
fn a_topic_without_ends_keeps_no_message() {
    #[derive(Clone, Debug, Serialize, Deserialize)]
    struct Held {
        data: String,
        #[serde(skip)]
        #[expect(dead_code, reason = "its count tells how many messages there are")]
        owner: Option<Arc<()>>,
    }
    impl Message for Held {
        const TYPE: &str = STRING;
    }
    let world = World::new();
    let owner = Arc::new(());
    let options = PublisherOptions::new("topic").keep_last(5).transient_local();
    let publisher = world.node.create_publisher::<Held>(options).unwrap();
    let group = world.executor.create_group("group", ());
    let subscription = world.node.on(&group).create_subscription(late(5), |(): &mut (), _: Held| {}).unwrap();
    for _ in 0..8 {
        publisher.publish(Held { data: String::new(), owner: Some(Arc::clone(&owner)) }).unwrap();
    }
    assert!(Arc::strong_count(&owner) > 1);
    drop((publisher, subscription));
    world.spin_all();
    assert_eq!(Arc::strong_count(&owner), 1);
}
