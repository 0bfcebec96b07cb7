//! Tests: invalid types are refused, and messages of all others survive encoding and decoding.

use cdr_encoding::{CdrDeserializer, CdrSerializer};
use proptest::prelude::*;
use rospin_msgs::type_description_interfaces::msg::{self as wire, IndividualTypeDescription, TypeDescription};
use serde::de::DeserializeSeed;
use serde::{Deserialize, Serialize};

use crate::error::DEPTH_MAX;
use crate::field_type as id;
use crate::*;

type Endian = byteorder::LittleEndian;

fn encode(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.serialize(&mut CdrSerializer::<_, Endian>::new(&mut bytes)).unwrap();
    bytes
}

fn decode(of: &MessageType, bytes: &[u8]) -> Result<DynamicMessage, String> {
    let seed = DynamicSeed::new(of);
    seed.deserialize(&mut CdrDeserializer::<Endian>::new(bytes)).map_err(|error| error.to_string())
}

/// Returns a field with that type number.
pub(crate) fn field(name: &str, type_id: u8) -> wire::Field {
    let r#type = wire::FieldType { type_id, ..wire::FieldType::default() };
    wire::Field { name: name.to_owned(), r#type, default_value: String::new() }
}

pub(crate) fn nested(name: &str, type_id: u8, of: &str) -> wire::Field {
    let mut field = field(name, type_id);
    of.clone_into(&mut field.r#type.nested_type_name);
    field
}

fn bounded(name: &str, type_id: u8, capacity: u64, string_capacity: u64) -> wire::Field {
    let mut field = field(name, type_id);
    (field.r#type.capacity, field.r#type.string_capacity) = (capacity, string_capacity);
    field
}

pub(crate) fn individual(name: &str, fields: Vec<wire::Field>) -> IndividualTypeDescription {
    IndividualTypeDescription { type_name: name.to_owned(), fields }
}

fn described(fields: Vec<wire::Field>, others: Vec<IndividualTypeDescription>) -> TypeDescription {
    let type_description = individual("test_msgs/msg/Main", fields);
    TypeDescription { type_description, referenced_type_descriptions: others }
}

pub(crate) fn build(
    fields: Vec<wire::Field>,
    others: Vec<IndividualTypeDescription>,
) -> Result<MessageType, MessageTypeError> {
    MessageType::from_description(&described(fields, others))
}

#[test]
fn invalid_types_are_refused_by_name() {
    let refused = |fields, others, expected: &str| {
        let error = build(fields, others).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    let of = |name, fields| individual(&format!("test_msgs/msg/{name}"), fields);
    refused(vec![], vec![], "structure_needs_at_least_one_member");
    refused(vec![field("", id::INT8)], vec![], "not a valid name of a field");
    refused(vec![field("a b", id::INT8)], vec![], "`a b`");
    refused(vec![field("a", id::INT8), field("a", id::INT8)], vec![], "a of test_msgs/msg/Main");
    refused(vec![nested("a", 1, "test_msgs/msg/B")], vec![], "`test_msgs/msg/B`, which is not described");
    refused(vec![nested("a", 1, "B")], vec![individual("B", vec![field("x", id::INT8)])], "not a valid name of a type");
    refused(vec![nested("a", 145, "test_msgs/msg/Main")], vec![], "contains itself");
    let ring =
        vec![of("B", vec![nested("c", 49, "test_msgs/msg/C")]), of("C", vec![nested("b", 1, "test_msgs/msg/B")])];
    refused(vec![nested("b", 1, "test_msgs/msg/B")], ring, "contains itself");
    let two = vec![of("B", vec![field("x", id::INT8)]), of("B", vec![field("y", id::INT8)])];
    refused(vec![nested("b", 1, "test_msgs/msg/B")], two, "`test_msgs/msg/B` is described twice");
    for type_id in [0, 12, 14, 18, 19, 20, 22, 23, 48, 60, 96, 162, 192, 255] {
        refused(vec![bounded("a", type_id, 3, 3)], vec![], "field `a` of test_msgs/msg/Main is");
    }
    refused(vec![bounded("a", id::INT8 + id::ARRAY, 0, 0)], vec![], "an array of 0");
    refused(vec![bounded("a", id::INT8 + id::BOUNDED_SEQUENCE, 0, 0)], vec![], "a sequence of 0");
    refused(vec![bounded("a", id::BOUNDED_STRING, 0, 0)], vec![], "a string of 0");
    refused(vec![bounded("a", id::INT8 + id::ARRAY, u64::MAX, 0)], vec![], "bytes before anything is in it");
}

#[test]
fn types_that_would_take_too_much_are_refused() {
    let name = |level| format!("test_msgs/msg/L{level}");
    // Each level is a message with `count` of the next one.
    let tower = |levels: usize, type_id: u8, count: u64| {
        let level = |level| {
            let mut field = nested("a", type_id, &name(level + 1));
            field.r#type.capacity = count;
            individual(&name(level), vec![field])
        };
        let mut types: Vec<_> = (1..levels).map(level).collect();
        types.push(individual(&name(levels), vec![field("x", id::INT8)]));
        build(vec![nested("a", 1, &name(1))], types)
    };
    let highest = DynamicMessage::new(&tower(DEPTH_MAX - 1, 1, 0).unwrap());
    assert_eq!(decode(highest.message_type(), &[0]), Ok(highest));
    assert!(matches!(tower(DEPTH_MAX, 1, 0), Err(MessageTypeError::Deep { .. })));
    assert!(matches!(tower(12, 49, 4), Err(MessageTypeError::Large { .. })));
    assert!(tower(12, 145, 0).is_ok());
}

#[test]
fn the_hash_is_that_of_ros() {
    let text = build(vec![field("data", id::STRING)], vec![]).unwrap();
    let string = TypeDescription {
        type_description: individual("std_msgs/msg/String", text.description().type_description.fields),
        ..TypeDescription::default()
    };
    let string = MessageType::from_description(&string).unwrap();
    assert_eq!(string.hash(), "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18");
    assert_ne!(string, text);
    let error = string.check_hash(text.hash()).unwrap_err();
    assert!(error.to_string().contains("two versions"), "{error}");
}

/// Types that the described one does not refer to have no effect, in any order.
#[test]
fn only_what_is_referred_to_counts() {
    let of = |name| individual(&format!("test_msgs/msg/{name}"), vec![field("x", id::INT8)]);
    let fields = || vec![nested("b", 1, "test_msgs/msg/B"), nested("a", 145, "test_msgs/msg/A")];
    let one = build(fields(), vec![of("A"), of("B")]).unwrap();
    let other = build(fields(), vec![of("C"), of("B"), of("A"), of("A")]).unwrap();
    assert_eq!(one, other);
    assert_eq!(one.description(), described(fields(), vec![of("A"), of("B")]));
    assert_eq!(one.field("a").unwrap().field_type().to_string(), "test_msgs/msg/A[]");
}

/// A Rust type with every kind of field.
#[derive(Serialize, Deserialize)]
struct Everything {
    flag: bool,
    small: [i8; 3],
    bytes: Vec<u8>,
    byte_array: [u8; 2],
    wide: (i64, f32),
    names: Vec<String>,
    points: Vec<(f64, u16)>,
}

#[test]
fn it_is_on_the_wire_what_a_rust_type_is() {
    let pair = |name: &str, a, b| individual(name, vec![field("a", a), field("b", b)]);
    let fields = vec![
        field("flag", id::BOOLEAN),
        bounded("small", id::INT8 + id::ARRAY, 3, 0),
        field("bytes", id::BYTE + id::UNBOUNDED_SEQUENCE),
        bounded("byte_array", id::CHAR + id::ARRAY, 2, 0),
        nested("wide", 1, "test_msgs/msg/Wide"),
        field("names", id::STRING + id::UNBOUNDED_SEQUENCE),
        nested("points", 145, "test_msgs/msg/Point"),
    ];
    let others =
        vec![pair("test_msgs/msg/Wide", id::INT64, id::FLOAT), pair("test_msgs/msg/Point", id::DOUBLE, id::UINT16)];
    let of = build(fields, others).unwrap();
    let typed = Everything {
        flag: true,
        small: [1, -2, 3],
        bytes: vec![4, 5, 6],
        byte_array: [7, 8],
        wide: (-9, 0.5),
        names: vec!["ä".to_owned(), String::new()],
        points: vec![(1.5, 2), (2.5, 3)],
    };
    let bytes = encode(&typed);
    let message = decode(&of, &bytes).unwrap();
    assert_eq!(message.get::<Vec<i8>>("small"), Ok(vec![1, -2, 3]));
    assert_eq!(message.get::<Vec<u8>>("bytes"), Ok(vec![4, 5, 6]));
    assert_eq!(message.get::<u8>("byte_array[1]"), Ok(8));
    assert_eq!(message.get::<i64>("wide.a"), Ok(-9));
    assert_eq!(message.get::<String>("names[0]"), Ok("ä".to_owned()));
    assert_eq!(message.get::<u16>("points[1].b"), Ok(3));
    assert_eq!(encode(&message), bytes);
    for length in 0..bytes.len() {
        assert!(decode(&of, &bytes[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn bounds_are_kept_on_the_wire_too() {
    let of = build(
        vec![
            bounded("text", id::BOUNDED_STRING, 0, 3),
            bounded("numbers", id::INT32 + id::BOUNDED_SEQUENCE, 2, 0),
            bounded("bytes", id::UINT8 + id::BOUNDED_SEQUENCE, 2, 0),
        ],
        vec![],
    )
    .unwrap();
    let try_with = |text: &str, numbers: &[i32], bytes: &[u8]| decode(&of, &encode(&(text, numbers, bytes)));
    assert!(try_with("abc", &[1, 2], &[1, 2]).is_ok());
    for (too_long, expected) in [
        (try_with("abcd", &[], &[]), "`text` has 4 bytes, and may have 3"),
        (try_with("", &[1, 2, 3], &[]), "`numbers` with no more than 2"),
        (try_with("", &[], &[1, 2, 3]), "`bytes` with no more than 2"),
    ] {
        let error = too_long.unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn announced_lengths_take_no_memory() {
    let others = vec![individual("test_msgs/msg/B", vec![field("x", id::INT8)])];
    for type_id in (1..=id::STRING).filter(|type_id| ![12, 14].contains(type_id)) {
        let of = build(vec![nested("many", type_id + id::UNBOUNDED_SEQUENCE, "test_msgs/msg/B")], others.clone());
        let announced = [&u32::MAX.to_le_bytes()[..], &[1; 64]].concat();
        assert!(decode(&of.unwrap(), &announced).is_err(), "type id {type_id}");
    }
}

#[test]
fn it_is_shown_as_ros_shows_it() {
    let others = vec![individual("test_msgs/msg/B", vec![field("x", id::FLOAT), field("on", id::BOOLEAN)])];
    let fields = vec![
        field("data", id::STRING),
        nested("one", 1, "test_msgs/msg/B"),
        nested("many", 145, "test_msgs/msg/B"),
        field("numbers", id::INT32 + id::UNBOUNDED_SEQUENCE),
        field("texts", id::STRING + id::UNBOUNDED_SEQUENCE),
    ];
    let of = build(fields, others).unwrap();
    let mut message = DynamicMessage::new(&of);
    assert_eq!(message.to_string(), "data: ''\none:\n  x: 0.0\n  on: false\nmany: []\nnumbers: []\ntexts: []");
    let mut one = message.get::<DynamicMessage>("one").unwrap();
    one.set("x", f64::NAN).unwrap();
    message.set("many", vec![one.clone(), one]).unwrap();
    message.set("many[1].x", -1.5).unwrap();
    message.set("one.on", true).unwrap();
    message.set("data", "Hello World: 1").unwrap();
    message.set("numbers", vec![7; 130]).unwrap();
    message.set("texts", vec!["map", "true", "12", "it's", "two\nlines", "/a b"]).unwrap();
    let expected = format!(
        "data: 'Hello World: 1'\none:\n  x: 0.0\n  on: true\nmany:\n- x: .nan\n  on: false\n- x: -1.5\n  on: false\n\
         numbers:\n{}- '...'\ntexts:\n- map\n- 'true'\n- '12'\n- it's\n- 'two\n\n  lines'\n- /a b",
        "- 7\n".repeat(128)
    );
    assert_eq!(message.to_string(), expected);
    assert_eq!(format!("{message:#}").matches("- 7").count(), 130);
    message.set("data", "ä".repeat(130)).unwrap();
    assert!(message.to_string().starts_with(&format!("data: {}...\n", "ä".repeat(128))), "{message}");
}

/// A planned type of a field; that of a message lists its fields.
#[derive(Clone, Debug)]
enum Plan {
    Scalar(u8),
    Text(Option<u8>),
    Message(Vec<(Plan, Shape)>),
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    One,
    Array(u8),
    Bounded(u8),
    Unbounded,
}

fn plans() -> impl Strategy<Value = Plan> {
    let scalars = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 16];
    let leaf = prop_oneof![
        3 => proptest::sample::select(scalars.to_vec()).prop_map(Plan::Scalar),
        1 => proptest::option::of(1_u8..9).prop_map(Plan::Text),
    ];
    let message = |plan| proptest::collection::vec((plan, shapes()), 1..5).prop_map(Plan::Message);
    message(leaf.prop_recursive(3, 24, 4, message).boxed())
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::One),
        (1_u8..5).prop_map(Shape::Array),
        (1_u8..5).prop_map(Shape::Bounded),
        Just(Shape::Unbounded)
    ]
}

/// Describes a planned message after those that it contains, under a unique name.
fn describe(plan: &[(Plan, Shape)], types: &mut Vec<IndividualTypeDescription>) -> String {
    let mut fields = Vec::new();
    for (at, (plan, shape)) in plan.iter().enumerate() {
        let mut one = match plan {
            Plan::Scalar(type_id) => field("", *type_id),
            Plan::Text(None) => field("", id::STRING),
            Plan::Text(Some(max)) => bounded("", id::BOUNDED_STRING, 0, (*max).into()),
            Plan::Message(plan) => nested("", id::NESTED_TYPE, &describe(plan, types)),
        };
        let (offset, capacity) = match shape {
            Shape::One => (0, 0),
            Shape::Array(length) => (id::ARRAY, *length),
            Shape::Bounded(max) => (id::BOUNDED_SEQUENCE, *max),
            Shape::Unbounded => (id::UNBOUNDED_SEQUENCE, 0),
        };
        one.name = format!("field_{at}");
        (one.r#type.type_id, one.r#type.capacity) = (one.r#type.type_id + offset, capacity.into());
        fields.push(one);
    }
    let name = format!("test_msgs/msg/T{}", types.len());
    types.push(individual(&name, fields));
    name
}

/// A generator of random numbers: the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next()).unwrap() % end
    }

    fn text(&mut self, max: usize) -> String {
        let length = self.below(max + 1);
        (0..length).map(|_| char::from(b' ' + u8::try_from(self.next() % 95).unwrap())).collect()
    }

    fn message(&mut self, of: &MessageType) -> DynamicMessage {
        let mut message = DynamicMessage::new(of);
        for field in of.fields() {
            let value = self.value(field.field_type());
            message.set(field.name(), value).unwrap();
        }
        message
    }

    fn value(&mut self, of: &FieldType) -> Value {
        match of {
            FieldType::Bool => self.next().is_multiple_of(2).into(),
            FieldType::String { max } => self.text(max.unwrap_or(12)).into(),
            FieldType::Message(of) => self.message(of).into(),
            FieldType::Array { of, length } => self.values(of, *length),
            FieldType::Sequence { of, max } => {
                let length = self.below(max.unwrap_or(6) + 1);
                self.values(of, length)
            }
            // 0 to 127 fits every number type. The field's type decides which one the value becomes.
            _ => i64::try_from(self.next() % 128).unwrap().into(),
        }
    }

    fn values(&mut self, of: &FieldType, length: usize) -> Value {
        match of {
            FieldType::Bool => (0..length).map(|_| self.next().is_multiple_of(2)).collect::<Vec<_>>().into(),
            FieldType::String { max } => (0..length).map(|_| self.text(max.unwrap_or(12))).collect::<Vec<_>>().into(),
            FieldType::Message(of) => (0..length).map(|_| self.message(of)).collect::<Vec<_>>().into(),
            _ => (0..length).map(|_| i64::try_from(self.next() % 128).unwrap()).collect::<Vec<_>>().into(),
        }
    }
}

fn built(plan: &Plan) -> MessageType {
    let Plan::Message(fields) = plan else { panic!("messages are planned") };
    let mut types = Vec::new();
    describe(fields, &mut types);
    let type_description = types.pop().unwrap();
    let of = TypeDescription { type_description, referenced_type_descriptions: types };
    MessageType::from_description(&of).unwrap()
}

proptest! {
    #[test]
    fn encoded_messages_come_back(plan in plans(), seed: u64) {
        let of = built(&plan);
        let message = Random(seed).message(&of);
        let bytes = encode(&message);
        prop_assert_eq!(decode(&of, &bytes), Ok(message.clone()));
        // The description contains all types that the type consists of.
        let again = MessageType::from_description(&of.description()).unwrap();
        prop_assert_eq!(&again, &of);
        prop_assert_eq!(decode(&again, &bytes), Ok(message));
    }

    #[test]
    fn noise_is_an_error_at_worst(plan in plans(), noise: Vec<u8>) {
        if let Ok(message) = decode(&built(&plan), &noise) {
            // A received empty string may lack its final zero, and is encoded with one.
            prop_assert!(encode(&message).len() <= 2 * noise.len() + 16);
        }
    }
}
