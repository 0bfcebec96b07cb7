//! Messages that are sent and received as they travel, encoded.

use rospin_engine::LossCause;
use rospin_node::{Message, MessageInfo, PublisherOptions, SerializedMessage, SubscriptionOptions, TypeName};

use super::fixture::Fixture;
use super::messages::{Number, Text, number};
use super::seen::Seen;
use super::world::World;

fn encoded(data: i64) -> SerializedMessage {
    SerializedMessage::serialize(&number(data)).expect("a number")
}

/// Returns the name of a type, as a program has it that learned it from the graph.
fn named<M: Message>() -> TypeName {
    let hash = M::TYPE_HASH.expect("a hash");
    TypeName::new(M::TYPE).expect("a name").with_hash(hash)
}

/// A serialized publisher and a serialized subscription bridge two topics, whose other ends are typed.
pub fn serialized_and_typed_ends_hear_each_other<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let typed = world.there.create_publisher::<Number>("numbers").unwrap();
    let out = world.here.create_serialized_publisher("copies", &named::<Number>()).unwrap();
    let group = main.create_group("bridge", ());
    let seen = Seen::new();
    let sender = out.clone();
    let log = seen.clone();
    let bridge = move |message: SerializedMessage, info: MessageInfo| {
        log.push((message.clone(), info.is_in_process));
        sender.publish(message)
    };
    let options = SubscriptionOptions::new("numbers").keep_last(200);
    let bridge = world.here.on(&group).create_serialized_subscription(options, &named::<Number>(), bridge).unwrap();
    let heard = world.listen(&world.there, &main, SubscriptionOptions::new("copies").keep_last(200));
    world.matched(&typed, &[&bridge]);
    world.matched(&out, &[&heard.subscription]);
    world.spinning(&[&main], || {
        world.publish_all(&typed, 0..20);
        world.wait("all are heard", heard.heard.until_count(20));
    });
    assert_eq!(seen.all(), (0..20).map(|data| (encoded(data), !F::APART)).collect::<Vec<_>>());
    assert_eq!(heard.heard.all(), (0..20).collect::<Vec<_>>());
}

/// Serialized ends hear each other. A serialized publisher keeps its last messages for a late serialized subscription.
pub fn serialized_messages_are_latched<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let options = PublisherOptions::new("latched").transient_local().keep_last(2);
    let publisher = world.there.create_serialized_publisher(options, &named::<Number>()).unwrap();
    for data in 0..3 {
        world.publish(&publisher, encoded(data));
    }
    let group = main.create_group("late", ());
    let seen = Seen::new();
    let log = seen.clone();
    let options = || SubscriptionOptions::new("latched").transient_local().keep_last(2);
    let late = world.here.on(&group).create_serialized_subscription(
        options(),
        &named::<Number>(),
        move |(): &mut (), message: SerializedMessage| log.push(message),
    );
    let late = late.unwrap();
    world.matched(&publisher, &[&late]);
    world.spinning(&[&main], || world.wait("both are heard", seen.until_count(2)));
    assert_eq!(seen.all(), [encoded(1), encoded(2)]);
}

/// Bytes that are no value of the type cost one message of a typed subscription, which is counted.
pub fn messages_of_another_type_are_lost_and_counted<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.there.create_serialized_publisher("texts", &named::<Text>()).unwrap();
    let group = main.create_group("listener", ());
    let heard = Seen::new();
    let log = heard.clone();
    let options = SubscriptionOptions::new("texts").keep_last(200);
    let typed = world.here.on(&group).create_subscription(options, move |text: Text| log.push(text.data)).unwrap();
    world.matched(&publisher, &[&typed]);
    world.spinning(&[&main], || {
        // The text is said to be longer than the message.
        world.publish(&publisher, SerializedMessage::from_bytes(vec![0, 1, 0, 0, 200, 0, 0, 0, b'a', 0]).unwrap());
        world.publish(&publisher, SerializedMessage::serialize(&Text { data: "right".to_owned() }).unwrap());
        world.wait("the right one is heard", heard.until_count(1));
    });
    assert_eq!(heard.all(), ["right"]);
    assert_eq!((typed.lost(LossCause::TakeFailed), world.incidents.count()), (1, 1));
}
