//! Types that are known only at run time: their messages and those of Rust types go to the same topics, and other
//! nodes can ask for the types.

use std::thread;
use std::time::{Duration, Instant};

use rospin_engine::{Executor, LossCause};
use rospin_node::dynamic::{AskTypeError, DynamicMessage, DynamicPublisher, MessageType, ServiceType, Value};
use rospin_node::interfaces::field_type as id;
use rospin_node::interfaces::type_description_interfaces::{
    Field, FieldType, IndividualTypeDescription, TypeDescription,
};
use rospin_node::{Message, NodeOptions, PublishError, ServiceInterface, Subscription, SubscriptionOptions};
use serde::{Deserialize, Serialize};

use super::fixture::Fixture;
use super::messages::{AddTwoInts, Number, Sum, Summands, Text};
use super::seen::Seen;
use super::world::World;

/// Returns a field that is neither nested nor bounded.
fn field(name: &str, type_id: u8) -> Field {
    let r#type = FieldType { type_id, ..FieldType::default() };
    Field { name: name.to_owned(), r#type, default_value: String::new() }
}

/// Returns the description of a type that has these fields.
fn individual(name: &str, fields: Vec<Field>) -> IndividualTypeDescription {
    IndividualTypeDescription { type_name: name.to_owned(), fields }
}

/// Returns the type of a description, which refers to the `others`.
fn of(type_description: IndividualTypeDescription, others: Vec<IndividualTypeDescription>) -> MessageType {
    let description = TypeDescription { type_description, referenced_type_descriptions: others };
    MessageType::from_description(&description).expect("a type")
}

/// Returns the type of [`Number`].
fn numbers() -> MessageType {
    of(individual(Number::TYPE, vec![field("data", id::INT64)]), vec![])
}

/// Returns the type of [`Text`].
pub(crate) fn texts() -> MessageType {
    of(individual(Text::TYPE, vec![field("data", id::STRING)]), vec![])
}

/// Returns a field of a described type.
fn nested(name: &str, of: &str, offset: u8, capacity: u64) -> Field {
    let mut field = field(name, id::NESTED_TYPE + offset);
    field.r#type.capacity = capacity;
    of.clone_into(&mut field.r#type.nested_type_name);
    field
}

/// Returns the type of [`AddTwoInts`].
pub(crate) fn sums() -> ServiceType {
    let [request, response, event] =
        ["Request", "Response", "Event"].map(|part| format!("{}_{part}", AddTwoInts::TYPE));
    let (info, time) = ("service_msgs/msg/ServiceEventInfo", "builtin_interfaces/msg/Time");
    let mut client = field("client_gid", id::UINT8 + id::ARRAY);
    client.r#type.capacity = 16;
    let told =
        vec![field("event_type", id::UINT8), nested("stamp", time, 0, 0), client, field("sequence_number", id::INT64)];
    let events = vec![
        nested("info", info, 0, 0),
        nested("request", &request, id::BOUNDED_SEQUENCE, 1),
        nested("response", &response, id::BOUNDED_SEQUENCE, 1),
    ];
    let parts = vec![
        nested("request_message", &request, 0, 0),
        nested("response_message", &response, 0, 0),
        nested("event_message", &event, 0, 0),
    ];
    let description = TypeDescription {
        type_description: individual(AddTwoInts::TYPE, parts),
        referenced_type_descriptions: vec![
            individual(time, vec![field("sec", id::INT32), field("nanosec", id::UINT32)]),
            individual(&event, events),
            individual(&request, vec![field("a", id::INT64), field("b", id::INT64)]),
            individual(&response, vec![field("sum", id::INT64)]),
            individual(info, told),
        ],
    };
    let found = ServiceType::from_description(&description).expect("a service");
    assert_eq!(Some(found.hash()), AddTwoInts::TYPE_HASH);
    assert_eq!(found.event().map(MessageType::hash), AddTwoInts::EVENT_TYPE_HASH);
    found
}

/// Answers a request to add two numbers.
pub(crate) fn answer_sum(request: DynamicMessage) -> DynamicMessage {
    let mut answer = DynamicMessage::new(sums().response());
    let summands = ["a", "b"].map(|name| request.get::<i64>(name).expect("a summand"));
    answer.set("sum", summands[0] + summands[1]).expect("a sum");
    answer
}

/// Returns a dynamic message like [`Number`].
fn a_number(data: i64) -> DynamicMessage {
    let mut message = DynamicMessage::new(&numbers());
    message.set("data", data).expect("a number");
    message
}

/// Returns a type with every kind of field: single, in arrays, and in sequences with and without bound.
fn everything() -> MessageType {
    let scalars = [
        ("int8", id::INT8),
        ("uint8", id::UINT8),
        ("int16", id::INT16),
        ("uint16", id::UINT16),
        ("int32", id::INT32),
        ("uint32", id::UINT32),
        ("int64", id::INT64),
        ("uint64", id::UINT64),
        ("float32", id::FLOAT),
        ("float64", id::DOUBLE),
        ("char", id::CHAR),
        ("bool", id::BOOLEAN),
        ("byte", id::BYTE),
        ("string", id::STRING),
        ("bounded", id::BOUNDED_STRING),
        ("nested", id::NESTED_TYPE),
    ];
    let mut fields = Vec::new();
    for (shape, offset, capacity) in [
        ("one", 0, 0),
        ("array", id::ARRAY, 3),
        ("at_most", id::BOUNDED_SEQUENCE, 4),
        ("any", id::UNBOUNDED_SEQUENCE, 0),
    ] {
        for (name, kind) in scalars {
            let mut field = field(&format!("{shape}_{name}"), kind + offset);
            field.r#type.capacity = capacity;
            field.r#type.string_capacity = if kind == id::BOUNDED_STRING { 8 } else { 0 };
            if kind == id::NESTED_TYPE {
                "test_msgs/msg/Nested".clone_into(&mut field.r#type.nested_type_name);
            }
            fields.push(field);
        }
    }
    let nested = individual("test_msgs/msg/Nested", vec![field("on", id::BOOLEAN), field("level", id::DOUBLE)]);
    of(individual("test_msgs/msg/Everything", fields), vec![nested])
}

/// Returns a message whose values are not the defaults, with `length` elements in each sequence.
fn filled(length: usize) -> DynamicMessage {
    let message_type = everything();
    let mut message = DynamicMessage::new(&message_type);
    for field in message_type.fields() {
        let (shape, kind) = field.name().rsplit_once('_').expect("shape and kind");
        let length = match shape {
            "one" => 1,
            "array" => 3,
            _ => length,
        };
        let value = match kind {
            "bool" => Value::from(vec![true; length]),
            "string" | "bounded" => Value::from((0..length).map(|n| format!("text {n}")).collect::<Vec<_>>()),
            "nested" => {
                let mut nested =
                    DynamicMessage::new(message.get::<DynamicMessage>("one_nested").unwrap().message_type());
                nested.set("on", true).unwrap();
                nested.set("level", -0.5).unwrap();
                Value::from(vec![nested; length])
            }
            _ => Value::from((100..).take(length).collect::<Vec<i32>>()),
        };
        let value = if shape == "one" { value.element(0).expect("one") } else { value };
        message.set(field.name(), value).unwrap_or_else(|error| panic!("{error}"));
    }
    message
}

impl<F: Fixture> World<F> {
    /// Publishes a dynamic message, and tries again while the middleware has no room, as `publish` does.
    #[track_caller]
    fn send(&self, publisher: &DynamicPublisher, message: DynamicMessage) {
        let begin = Instant::now();
        while let Err(error) = publisher.publish(message.clone()) {
            assert!(matches!(error, PublishError::Full { .. }), "{error}");
            assert!(begin.elapsed() < F::PATIENCE, "{error}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until a publisher is matched with these subscriptions.
    #[track_caller]
    fn dynamic_matched(&self, publisher: &DynamicPublisher, subs: &[&Subscription]) {
        self.until("the publisher is matched", || publisher.subscription_count() >= subs.len());
        for subscription in subs {
            self.wait("the subscription is matched", subscription.wait_for_publisher());
        }
    }

    /// Creates a subscription on a group of its own. Returns it with the record of what it receives.
    #[track_caller]
    fn dynamic_listen(
        &self,
        executor: &Executor,
        topic: &str,
        message_type: &MessageType,
    ) -> (Subscription, Seen<DynamicMessage>) {
        let group = executor.create_group("listener", ());
        let heard = Seen::new();
        let log = heard.clone();
        let options = SubscriptionOptions::new(topic).keep_last(200);
        let heard_one = move |(): &mut (), message| log.push(message);
        let subscription = self.here.on(&group).create_dynamic_subscription(options, message_type, heard_one);
        (subscription.expect("a subscription"), heard)
    }
}

/// Every kind of field arrives unchanged, with long and with empty sequences.
pub fn every_kind_of_field_comes_as_it_was<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.there.create_dynamic_publisher("everything", &everything()).unwrap();
    assert_eq!((publisher.topic(), publisher.message_type().name()), ("everything", "test_msgs/msg/Everything"));
    let (subscription, heard) = world.dynamic_listen(&main, "everything", &everything());
    world.dynamic_matched(&publisher, &[&subscription]);
    let sent = [DynamicMessage::new(&everything()), filled(0), filled(1), filled(4)];
    world.spinning(&[&main], || {
        for message in &sent {
            world.send(&publisher, message.clone());
        }
        world.wait("all are heard", heard.until_count(sent.len()));
    });
    assert_eq!(heard.all(), sent);
    assert_eq!(world.panics(), 0);
}

/// Dynamic and typed publishers and subscriptions of one type reach each other.
pub fn dynamic_and_typed_ends_hear_each_other<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    assert_eq!(Some(numbers().hash()), Number::TYPE_HASH);
    let typed = world.there.create_publisher("typed").unwrap();
    let dynamic = world.there.create_dynamic_publisher("dynamic", &numbers()).unwrap();
    let (of_typed, heard) = world.dynamic_listen(&main, "typed", &numbers());
    let of_dynamic = world.listen(&world.here, &main, SubscriptionOptions::new("dynamic").keep_last(200));
    world.matched(&typed, &[&of_typed]);
    world.dynamic_matched(&dynamic, &[&of_dynamic.subscription]);
    world.spinning(&[&main], || {
        world.publish_all(&typed, 0..20);
        for data in 0..20 {
            world.send(&dynamic, a_number(data));
        }
        world.wait("all are heard", heard.until_count(20));
        world.wait("all are heard", of_dynamic.heard.until_count(20));
    });
    assert_eq!(heard.all(), (0..20).map(a_number).collect::<Vec<_>>());
    assert_eq!(of_dynamic.heard.all(), (0..20).collect::<Vec<_>>());
}

/// Dynamic subscriptions are entities like any other: on either kind of group, synchronous or not.
pub fn dynamic_subscriptions_are_of_any_group<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.there.create_dynamic_publisher("numbers", &numbers()).unwrap();
    let exclusive = main.create_group("group", ());
    let reentrant = main.create_reentrant_group("reentrant");
    let heard = Seen::new();
    let log = |form: &'static str| {
        let heard = heard.clone();
        move |message: DynamicMessage| heard.push((form, message.get::<i64>("data").expect("a number")))
    };
    let options = |name: &str| SubscriptionOptions::new("numbers").name(name);
    let one = log("one");
    let two = log("two");
    let three = log("three");
    let four = log("four");
    let subscriptions = [
        world.here.on(&exclusive).create_dynamic_subscription(options("one"), &numbers(), one),
        world.here.on(&exclusive).create_dynamic_subscription(options("two"), &numbers(), move |_, message| {
            let two = two.clone();
            async move { two(message) }
        }),
        world.here.on(&reentrant).create_dynamic_subscription(options("three"), &numbers(), three),
        world.here.on(&reentrant).create_dynamic_subscription(options("four"), &numbers(), move |message| {
            let four = four.clone();
            async move { four(message) }
        }),
    ]
    .map(Result::unwrap);
    world.dynamic_matched(&publisher, &subscriptions.each_ref());
    world.spinning(&[&main], || {
        world.send(&publisher, a_number(7));
        world.wait("all have heard it", heard.until_count(4));
    });
    let mut forms = heard.all();
    forms.sort_unstable();
    assert_eq!(forms, [("four", 7), ("one", 7), ("three", 7), ("two", 7)]);
}

/// As with any subscription, the newest messages are kept and the others counted.
pub fn dynamic_messages_beyond_the_depth_are_counted<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.there.create_dynamic_publisher("numbers", &numbers()).unwrap();
    let group = main.create_group("slow", ());
    let heard = Seen::new();
    let gate = world.gate();
    let log = heard.clone();
    let wait = gate.clone();
    let options = SubscriptionOptions::new("numbers").keep_last(4);
    let slow =
        world.here.on(&group).create_dynamic_subscription(options, &numbers(), move |message: DynamicMessage| {
            log.push(message.get::<i64>("data").expect("a number"));
            wait.pass();
        });
    let slow = slow.unwrap();
    let (witness, witnessed) = world.dynamic_listen(world.helper(), "numbers", &numbers());
    world.dynamic_matched(&publisher, &[&slow, &witness]);
    world.spinning(&[&main], || {
        world.send(&publisher, a_number(-1));
        world.wait("the first one is heard", heard.until_count(1));
        for data in 0..20 {
            world.send(&publisher, a_number(data));
        }
        world.wait("all have arrived", witnessed.until_has(a_number(19)));
        world.until("those that have no room are counted", || slow.missed() >= 16);
        gate.open();
        world.wait("the last one is heard", heard.until_has(19));
    });
    assert_eq!(heard.all(), [-1, 16, 17, 18, 19]);
    assert_eq!(slow.missed(), 16);
}

/// A payload that is not of the type is counted and reported, and the callback does not run.
pub fn messages_of_another_type_than_the_dynamic_one_are_counted<F: Fixture>() {
    /// A message that claims to be a string.
    #[derive(Clone, Serialize, Deserialize)]
    struct Liar {
        /// In place of a string's length.
        length: u32,
        data: Vec<u8>,
    }
    impl Message for Liar {
        const TYPE: &str = Text::TYPE;
        const TYPE_HASH: Option<&str> = Text::TYPE_HASH;
    }
    let world = World::<F>::new();
    let main = world.executor("main");
    let liar = world.there.create_publisher("texts").unwrap();
    let honest = world.there.create_publisher("texts").unwrap();
    let (subscription, heard) = world.dynamic_listen(&main, "texts", &texts());
    world.matched(&liar, &[&subscription]);
    world.matched(&honest, &[&subscription]);
    world.spinning(&[&main], || {
        for length in [u32::MAX, 100, 1 << 20] {
            world.publish(&liar, Liar { length, data: vec![7; 20] });
        }
        world.until("they are counted", || subscription.lost(LossCause::TakeFailed) == 3);
        world.publish(&honest, Text { data: "still there".to_owned() });
        world.wait("it is heard", heard.until_count(1));
    });
    assert_eq!(heard.all()[0].get::<String>("data"), Ok("still there".to_owned()));
    assert_eq!((subscription.lost(LossCause::TakeFailed), world.incidents.count()), (3, 3));
}

/// A subscriber can learn the type of a topic from its publisher.
pub fn a_type_is_learned_from_who_publishes_it<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let learned = world.here.message_type_of(&main.handle(), "everything");
    let publisher = world.there.create_dynamic_publisher("everything", &everything()).unwrap();
    let server = world.there.serve_type_descriptions(&main.handle()).unwrap();
    world.spinning(&[&main], || {
        let learned = world.wait("the type is learned", learned).unwrap();
        assert_eq!(learned, everything());
        let (subscription, heard) = world.dynamic_listen(&main, "everything", &learned);
        world.dynamic_matched(&publisher, &[&subscription]);
        world.send(&publisher, filled(2));
        world.wait("it is heard", heard.until_has(filled(2)));
    });
    assert_eq!(server.missed(), 0);
}

/// A server of a dynamic type answers clients of Rust types, and dynamic clients call such servers.
pub fn dynamic_and_typed_ends_call_each_other<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let group = main.create_group("servers", ());
    let on = world.here.on(&group);
    let of = sums();
    let _dynamic = on.create_dynamic_service("dynamic", &of, answer_sum).unwrap();
    let _typed = on.create_service("typed", |summands: Summands| summands.add()).unwrap();
    world.spinning(&[&main], || {
        for service in ["dynamic", "typed"] {
            let typed = world.there.create_client::<AddTwoInts>(service).unwrap();
            let dynamic = world.there.create_dynamic_client(service, &of).unwrap();
            world.wait("the server is there", typed.wait_for_service());
            world.wait("the server is there", dynamic.wait_for_service());
            let response = world.wait("the answer comes", typed.call(Summands { a: 2, b: 3 }));
            assert_eq!(response, Ok(Sum { sum: 5 }));
            let mut request = DynamicMessage::new(of.request());
            request.set("a", 4).unwrap();
            let response = world.wait("the answer comes", dynamic.call(&request)).unwrap();
            assert_eq!(response.get::<i64>("sum"), Ok(4));
        }
    });
}

/// Types without a hash, as all are on Humble: a dynamic type that was learned from such a publisher meets it, and one
/// that announces no hash meets such a subscription.
pub fn dynamic_ends_meet_types_without_a_hash<F: Fixture>() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Plain {
        data: i64,
    }
    impl Message for Plain {
        const TYPE: &str = "test_msgs/msg/Plain";
    }
    let world = World::<F>::new();
    let main = world.executor("main");
    let plain = of(individual(Plain::TYPE, vec![field("data", id::INT64)]), vec![]);
    let message = |data: i64| {
        let mut message = DynamicMessage::new(&plain);
        message.set("data", data).expect("a number");
        message
    };
    let typed = world.there.create_publisher("plain").unwrap();
    world.there.add_message_type(&plain);
    let server = world.there.serve_type_descriptions(&main.handle()).unwrap();
    let dynamic = world.there.create_dynamic_publisher("dynamic", &plain.clone().without_hash()).unwrap();
    let group = main.create_group("typed", ());
    let heard_typed = Seen::new();
    let log = heard_typed.clone();
    let of_dynamic =
        world.here.on(&group).create_subscription("dynamic", move |message: Plain| log.push(message.data)).unwrap();
    world.dynamic_matched(&dynamic, &[&of_dynamic]);
    let learned = world.here.message_type_of(&main.handle(), "plain");
    world.spinning(&[&main], || {
        let learned = world.wait("the type is learned", learned).unwrap();
        assert_eq!(learned, plain);
        let (of_typed, heard) = world.dynamic_listen(&main, "plain", &learned);
        world.matched(&typed, &[&of_typed]);
        world.publish(&typed, Plain { data: 7 });
        world.send(&dynamic, message(8));
        world.wait("the dynamic subscription hears", heard.until_has(message(7)));
        world.wait("the typed subscription hears", heard_typed.until_has(8));
    });
    drop(server);
}

/// A node that does not answer with the type is named with the reason: it has no service, or another version of the
/// type.
pub fn a_node_that_does_not_tell_a_type_is_named<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let mute = NodeOptions::new("mute").start_type_description_service(false);
    let mute = world.ros_there.create_node(mute).unwrap();
    let publisher = mute.create_publisher::<Number>("numbers").unwrap();
    let reason = |asked: Result<MessageType, AskTypeError>| match asked {
        Err(error @ AskTypeError::NobodyTells { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    world.spinning(&[&main], || {
        let asked = world.wait("it is given up", world.here.message_type_of(&main.handle(), "numbers"));
        assert!(reason(asked).contains("`/mute` (it has no service `/mute/get_type_description`)"));
        let server = mute.serve_type_descriptions(&main.handle()).unwrap();
        assert!(mute.serve_type_descriptions(&main.handle()).is_err(), "once is enough");
        let asked = world.wait("it is refused", world.here.message_type_of(&main.handle(), "numbers"));
        assert!(reason(asked).contains("this node has no type std_msgs/msg/Int64"));
        // The graph knows the hash of another version.
        let other = of(individual(Number::TYPE, vec![field("value", id::INT64)]), vec![]);
        mute.add_message_type(&other);
        let asked = world.wait("it is answered", world.here.message_type_of(&main.handle(), "numbers"));
        let hash = world.here.publishers_info_by_topic("numbers").unwrap().remove(0).type_hash;
        match &hash {
            Some(hash) => {
                assert!(reason(asked).contains(&format!("this node has no type std_msgs/msg/Int64 with hash {hash}")))
            }
            // If the middleware does not announce hashes, only the name is compared.
            None => assert_eq!(asked.unwrap(), other),
        }
        mute.add_message_type(&numbers());
        let asked = world.wait("it is answered", world.here.message_type_of(&main.handle(), "numbers"));
        match hash {
            Some(_) => assert_eq!(asked.unwrap(), numbers()),
            None => assert!(reason(asked).contains("more than one type std_msgs/msg/Int64")),
        }
        drop(server);
    });
    drop(publisher);
}
