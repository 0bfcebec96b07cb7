//! Topics between two sessions, and within one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rospin_engine::{Executor, LossCause, SpinOptions};
use rospin_zenoh::dynamic::{DynamicMessage, MessageType};
use rospin_zenoh::interfaces::field_type;
use rospin_zenoh::interfaces::type_description_interfaces::{
    Field, FieldType, IndividualTypeDescription, TypeDescription,
};
use rospin_zenoh::zenoh::Wait;
use rospin_zenoh::{
    Durability, Message, Node, NodeOptions, PublishError, Publisher, PublisherOptions, Qos, Reliability, Session,
    Subscription, SubscriptionOptions, TopicError,
};
use serde::{Deserialize, Serialize};

use crate::common::{
    self, Place, Text, context, executor, isolated, keep_all, spin, take_failures, text, wait, wait_until,
};

fn matched(executor: &Executor, publisher: &Publisher<Text>, subscription: &Subscription) {
    wait(executor, "the publisher is matched", publisher.wait_for_subscription());
    wait(executor, "the subscription is matched", subscription.wait_for_publisher());
}

/// Hears texts until "the end".
fn hear(executor: &Executor) -> impl FnMut(&mut Vec<String>, Text) + Send + 'static {
    let handle = executor.handle();
    move |heard, message| {
        if message.data == "the end" {
            handle.halt();
        } else {
            heard.push(message.data);
        }
    }
}

#[test]
fn strings_arrive_in_their_order() {
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let (host, guest) = Place::new().both();
    let talker = host.ros(&context).create_node("talker").unwrap();
    let listener = guest.ros(&context).create_node(NodeOptions::new("listener").namespace("/robot/arm")).unwrap();
    let publisher = talker.create_publisher::<Text>(PublisherOptions::new("/chatter").qos(keep_all())).unwrap();
    let group = executor.create_group("listener", Vec::new());
    let options = SubscriptionOptions::new("/chatter").keep_last(100);
    let subscription = listener.on(&group).create_subscription(options, hear(&executor)).unwrap();
    matched(&executor, &publisher, &subscription);
    let said = ["Hello World: 1", "", "größer als ASCII", "with \u{1} control", &"long ".repeat(20_000)];
    for data in &said {
        publisher.publish(text(*data)).unwrap();
    }
    publisher.publish(text("the end")).unwrap();
    spin(&executor, "all is heard");
    assert_eq!((subscription.missed(), take_failures(&incidents)), (0, 0));
    drop(subscription);
    assert_eq!(group.into_payload().unwrap(), said);
}

/// A publisher is not told what another process has room for, and says so.
#[test]
fn room_in_another_process_is_not_known() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let (host, guest) = Place::new().both();
    let talker = host.ros(&context).create_node("talker").unwrap();
    let listener = guest.ros(&context).create_node("listener").unwrap();
    let publisher = talker.create_publisher::<Text>("chatter").unwrap();
    let unsure = talker.create_publisher::<Text>(PublisherOptions::new("chatter").best_effort()).unwrap();
    let group = executor.create_group("listener", Vec::new());
    let subscription = listener.on(&group).create_subscription("chatter", hear(&executor)).unwrap();
    matched(&executor, &publisher, &subscription);
    let unknown = |reason: &PublishError| reason.to_string().contains("Zenoh does not tell if there is room");
    assert!(unknown(&publisher.wait_for_room().unwrap_err()));
    let refused = publisher.publish_if_room(text("lost?")).unwrap_err();
    assert!(unknown(&refused.reason) && refused.message.data == "lost?");
    // It waits for nobody.
    assert_eq!(unsure.wait_for_room(), Ok(()));
    drop(subscription);
    wait_until(&executor, "nobody listens", || publisher.wait_for_room().is_ok());
    publisher.publish_if_room(text("nobody hears it")).unwrap();
}

#[test]
fn both_ends_meet_with_any_quality_of_service() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let (host, guest) = Place::new().both();
    let talker = host.ros(&context).create_node("talker").unwrap();
    let listener = guest.ros(&context).create_node("listener").unwrap();
    let all = || {
        let reliabilities = [Reliability::Reliable, Reliability::BestEffort];
        let durabilities = [Durability::Volatile, Durability::TransientLocal];
        reliabilities.into_iter().flat_map(move |reliability| {
            durabilities.into_iter().map(move |durability| {
                let mut qos = Qos::default();
                (qos.reliability, qos.durability) = (reliability, durability);
                qos
            })
        })
    };
    let pairs = all().flat_map(|offered| all().map(move |asked| (offered, asked)));
    for (n, (offered, asked)) in pairs.enumerate() {
        // The ends of the last round may still be in the graph.
        let topic = format!("chatter_{n}");
        let publisher = talker.create_publisher::<Text>(PublisherOptions::new(topic.as_str()).qos(offered)).unwrap();
        let group = executor.create_group("listener", Vec::new());
        let options = SubscriptionOptions::new(topic).qos(asked);
        let subscription = listener.on(&group).create_subscription(options, hear(&executor)).unwrap();
        matched(&executor, &publisher, &subscription);
        publisher.publish(text("the end")).unwrap();
        spin(&executor, "it is heard");
        drop(subscription);
    }
}

#[test]
fn displaced_messages_are_counted() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let (host, guest) = Place::new().both();
    let talker = host.ros(&context).create_node("talker").unwrap();
    let listener = guest.ros(&context).create_node("listener").unwrap();
    let publisher = talker.create_publisher::<Text>("chatter").unwrap();
    let group = executor.create_group("listener", Vec::new());
    let options = SubscriptionOptions::new("chatter").keep_last(3);
    let subscription = listener.on(&group).create_subscription(options, hear(&executor)).unwrap();
    matched(&executor, &publisher, &subscription);
    for number in 0..10 {
        publisher.publish(text(number.to_string())).unwrap();
    }
    // The executor does not spin meanwhile, so the queue fills up on Zenoh's threads.
    let began = std::time::Instant::now();
    while subscription.missed() < 7 && began.elapsed() < common::PATIENCE {
        std::thread::yield_now();
    }
    assert_eq!(subscription.missed(), 7);
    publisher.publish(text("the end")).unwrap();
    while subscription.missed() < 8 && began.elapsed() < common::PATIENCE {
        std::thread::yield_now();
    }
    spin(&executor, "the rest is heard");
    assert_eq!(context.losses()[0].count, 8);
    assert_eq!(group.into_payload().unwrap(), ["8", "9"]);
}

#[test]
fn messages_left_in_a_removed_entity_are_counted() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = Session::open(isolated()).unwrap().ros(&context).create_node("both").unwrap();
    let publisher = node.create_publisher::<Text>("chatter").unwrap();
    let group = executor.create_group("listener", Vec::new());
    let subscription = node.on(&group).create_subscription("chatter", hear(&executor)).unwrap();
    for number in 0..4 {
        publisher.publish(text(number.to_string())).unwrap();
    }
    assert_eq!(subscription.lost(LossCause::QueueFull), 0);
    drop(subscription);
    executor.spin(SpinOptions::spin_all()).unwrap();
    let losses = context.losses();
    assert_eq!(losses.iter().map(|loss| (loss.cause, loss.count)).collect::<Vec<_>>(), [(LossCause::EntityDropped, 4)]);
    assert!(group.into_payload().unwrap().is_empty());
}

#[test]
fn late_subscriptions_get_what_was_kept() {
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let (host, guest) = Place::new().both();
    let talker = host.ros(&context).create_node("talker").unwrap();
    let listener = guest.ros(&context).create_node("listener").unwrap();
    acquaint(&executor, &talker, &listener);
    for (topic, offered, asked) in [
        ("reliable", Reliability::Reliable, Reliability::Reliable),
        ("mixed", Reliability::Reliable, Reliability::BestEffort),
        ("best_effort", Reliability::BestEffort, Reliability::BestEffort),
    ] {
        let options = PublisherOptions::new(topic).qos(latched(3, offered));
        let publisher = talker.create_publisher::<Text>(options).unwrap();
        for data in ["0", "1", "2", "3", "the end"] {
            publisher.publish(text(data)).unwrap();
        }
        let group = executor.create_group("latched", Vec::new());
        let options = SubscriptionOptions::new(topic).qos(latched(10, asked));
        let subscription = listener.on(&group).create_subscription(options, hear(&executor)).unwrap();
        spin(&executor, "what was kept is heard");
        let others = executor.create_group("volatile", ());
        let count = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&count);
        let count_one = move |(): &mut (), _: Text| _ = counted.fetch_add(1, Ordering::Relaxed);
        let volatile = listener.on(&others).create_subscription(topic, count_one).unwrap();
        matched(&executor, &publisher, &volatile);
        publisher.publish(text("new")).unwrap();
        publisher.publish(text("the end")).unwrap();
        spin(&executor, "what is new is heard");
        wait_until(&executor, "the other one hears it, too", || count.load(Ordering::Relaxed) == 2);
        assert_eq!(subscription.missed(), 0);
        drop((subscription, volatile));
        assert_eq!(group.into_payload().unwrap(), ["2", "3", "new"], "{topic}");
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }
    assert_eq!(take_failures(&incidents), 0);
}

/// Peers that have just met send each other everything, until they know what the other one wants.
fn acquaint(executor: &Executor, talker: &Node, listener: &Node) {
    let publisher = talker.create_publisher::<Text>("acquaint").unwrap();
    let group = executor.create_group("acquaint", Vec::new());
    let subscription = listener.on(&group).create_subscription("acquaint", hear(executor)).unwrap();
    matched(executor, &publisher, &subscription);
    publisher.publish(text("the end")).unwrap();
    spin(executor, "the sessions know each other");
    drop(subscription);
}

#[test]
fn the_last_word_of_a_latched_talker_that_comes_late_is_heard() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let (host, guest) = Place::new().both();
    let talker = host.ros(&context).create_node("talker").unwrap();
    let listener = guest.ros(&context).create_node("listener").unwrap();
    for n in 0..10 {
        let topic = format!("map_{n}");
        let group = executor.create_group("latched", Vec::new());
        let options = SubscriptionOptions::new(topic.as_str()).qos(latched(1, Reliability::Reliable));
        let subscription = listener.on(&group).create_subscription(options, hear(&executor)).unwrap();
        let options = PublisherOptions::new(topic).qos(latched(1, Reliability::Reliable));
        let publisher = talker.create_publisher::<Text>(options).unwrap();
        // The test publishes at once, without waiting for the subscription.
        for data in ["0", "1", "the end"] {
            publisher.publish(text(data)).unwrap();
        }
        spin(&executor, "it is heard");
        drop(subscription);
    }
}

fn latched(depth: usize, reliability: Reliability) -> Qos {
    let mut qos = Qos::keep_last(depth);
    (qos.reliability, qos.durability) = (reliability, Durability::TransientLocal);
    qos
}

#[test]
fn nodes_of_one_session_hear_each_other_and_themselves() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = Session::open(isolated()).unwrap().ros(&context).create_node("both").unwrap();
    let early = node.create_publisher::<Text>("chatter").unwrap();
    let group = executor.create_group("listener", Vec::new());
    let publisher = node.create_publisher::<Text>("chatter").unwrap();
    let handle = executor.handle();
    let echo = publisher.clone();
    // The callback answers each message on the same topic.
    let callback = move |heard: &mut Vec<usize>, message: Text| {
        let count = message.data.len();
        heard.push(count);
        if count == 5 { handle.halt() } else { echo.publish(text("x".repeat(count + 1))).unwrap() }
    };
    let subscription = node.on(&group).create_subscription("chatter", callback).unwrap();
    matched(&executor, &early, &subscription);
    matched(&executor, &publisher, &subscription);
    wait_until(&executor, "both are known", || subscription.publisher_count() == 2);
    assert_eq!((early.subscription_count(), publisher.subscription_count()), (1, 1));
    early.publish(text("x")).unwrap();
    spin(&executor, "the echo ends");
    drop((early, subscription));
    wait_until(&executor, "the subscription is gone", || publisher.subscription_count() == 0);
    assert_eq!(group.into_payload().unwrap(), [1, 2, 3, 4, 5]);
}

#[test]
fn domains_and_types_and_hashes_keep_apart() {
    #[derive(Clone, Serialize, Deserialize)]
    struct NoHash(String);
    impl Message for NoHash {
        const TYPE: &str = Text::TYPE;
    }
    #[derive(Clone, Serialize, Deserialize)]
    struct BadHash(String);
    impl Message for BadHash {
        const TYPE: &str = Text::TYPE;
        const TYPE_HASH: Option<&str> = Some("RIHS01_df66");
    }

    let (context, _) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    let host = place.host();
    let other_domain = Session::open(common::guest_options(&place.endpoint).domain_id(7)).unwrap();
    let node = host.ros(&context).create_node("node").unwrap();
    let stranger = other_domain.ros(&context).create_node("stranger").unwrap();
    let group = executor.create_group("heard", Vec::new());
    let hear = |heard: &mut Vec<String>, message: NoHash| heard.push(message.0);
    let without = node.on(&group).create_subscription("chatter", hear).unwrap();
    let with =
        node.on(&group).create_subscription("chatter", |heard: &mut Vec<String>, _: Text| heard.push("?".into()));
    let with = with.unwrap();
    let apart = stranger.create_publisher::<NoHash>("chatter").unwrap();
    let publisher = node.create_publisher::<NoHash>("chatter").unwrap();
    wait(&executor, "those without a hash are matched", publisher.wait_for_subscription());
    assert_eq!((publisher.subscription_count(), with.publisher_count(), apart.subscription_count()), (1, 0, 0));
    apart.publish(NoHash("from another domain".to_owned())).unwrap();
    publisher.publish(NoHash("without a hash".to_owned())).unwrap();
    executor.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(without.publisher_count(), 1);
    drop((with, without));
    assert_eq!(group.into_payload().unwrap(), ["without a hash"]);
    let Err(TopicError::Refused { reason, .. }) = node.create_publisher::<BadHash>("chatter") else { panic!() };
    assert!(reason.to_string().contains("`RIHS01_` and 64 digits"), "{reason}");
}

#[test]
fn a_queue_without_a_depth_has_an_end() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = Session::open(isolated()).unwrap().ros(&context).create_node("both").unwrap();
    let publisher = node.create_publisher::<Text>(PublisherOptions::new("chatter").qos(keep_all())).unwrap();
    let group = executor.create_group("listener", 0);
    let options = SubscriptionOptions::new("chatter").qos(keep_all());
    let subscription = node.on(&group).create_subscription(options, |count: &mut u32, _: Text| *count += 1).unwrap();
    for _ in 0..9000 {
        publisher.publish(text("x")).unwrap();
    }
    executor.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!((subscription.missed(), group.into_payload().ok()), (808, Some(8192)));
}

/// A session that knows nothing of ROS writes to the key that Humble's `rmw_zenoh_cpp` would.
#[test]
fn dynamic_types_without_a_hash_have_the_keys_of_humble() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let (host, guest) = Place::new().both();
    let stranger = guest.zenoh();
    let r#type = FieldType { type_id: field_type::INT64, ..FieldType::default() };
    let data = Field { name: "data".to_owned(), r#type, default_value: String::new() };
    let described =
        IndividualTypeDescription { type_name: "example_interfaces/msg/Int64".to_owned(), fields: vec![data] };
    let description = TypeDescription { type_description: described, referenced_type_descriptions: vec![] };
    let numbers = MessageType::from_description(&description).unwrap().without_hash();
    let node = host.ros(&context).create_node("node").unwrap();
    let group = executor.create_group("heard", Vec::new());
    let handle = executor.handle();
    let hear = move |heard: &mut Vec<i64>, message: DynamicMessage| {
        heard.push(message.get("data").unwrap());
        handle.halt();
    };
    let subscription = node.on(&group).create_dynamic_subscription("numbers", &numbers, hear).unwrap();
    let key = "0/numbers/example_interfaces::msg::dds_::Int64_/TypeHashNotSupported";
    let writer = stranger.declare_publisher(key).wait().unwrap();
    wait_until(&executor, "the stranger is heard", || writer.matching_status().wait().unwrap().matching());
    writer.put([&[0, 1, 0, 0][..], &7_i64.to_le_bytes()].concat()).wait().unwrap();
    spin(&executor, "the number is heard");
    drop(subscription);
    assert_eq!(group.into_payload().unwrap(), [7]);
    let _publisher = node.create_dynamic_publisher("numbers", &numbers).unwrap();
    let tokens = "@ros2_lv/0/*/*/*/MP/*/*/*/%numbers/example_interfaces::msg::dds_::Int64_/TypeHashNotSupported/**";
    wait_until(&executor, "the publisher is announced", || {
        stranger.liveliness().get(tokens).wait().unwrap().into_iter().any(|reply| reply.result().is_ok())
    });
}
