//! Every kind of field: constants, defaults, encoded bytes, and invalid values.

use rospin_interfaces_test::kinds_msgs::action::{Walk, WalkFeedback, WalkGoal};
use rospin_interfaces_test::kinds_msgs::msg::{Defaults, Kinds, Nothing, Point, String as Named, String2};
use rospin_interfaces_test::kinds_msgs::srv::{Measure, MeasureRequest, MeasureResponse, PingRequest};
use rospin_msgs::builtin_interfaces::msg::Time;
use rospin_msgs::geometry_msgs::msg::Vector3;
use rospin_msgs::sensor_msgs::msg::PointField;
use rospin_wire::cdr::{self, ByteOrder};
use rospin_wire::{Action, Message, ServiceInterface};

/// Returns a message whose fields all differ from their defaults.
fn kinds() -> Kinds {
    Kinds {
        flag: true,
        octet: 1,
        letter: b'x',
        i8: -1,
        u8: 2,
        i16: -300,
        u16: 40_000,
        i32: -70_000,
        u32: 3_000_000_000,
        i64: i64::MIN,
        u64: u64::MAX,
        f32: 1.5,
        f64: -2.25,
        text: "größer".to_owned(),
        short_text: "five!".to_owned(),
        wide: "a𝄞b".to_owned(),
        short_wide: "größe".to_owned(),
        nested: Point { x: 0.5, y: -0.5 },
        foreign: Vector3 { x: 1.0, y: 2.0, z: 3.0 },
        stamp: Time { sec: -1, nanosec: 999_999_999 },
        flags: [true, false, true],
        octets: [7, 8, 9],
        i16s: [-1, 0, 1],
        u32s: std::array::from_fn(|at| at as u32),
        covariance: std::array::from_fn(|at| at as f64 / 4.0),
        texts: ["".to_owned(), "two".to_owned()],
        short_texts: ["a".to_owned(), "b".to_owned()],
        wides: ["ä".to_owned(), "".to_owned()],
        points: [Point { x: 1.0, y: 2.0 }, Point { x: 3.0, y: 4.0 }],
        flag_sequence: vec![false, true],
        bytes: [0, 255, 1].into(),
        octet_sequence: vec![4, 5].into(),
        letter_sequence: b"ab".into(),
        i8_sequence: vec![-128, 127],
        u16_sequence: vec![1, 65_535],
        f32_sequence: vec![0.25, f32::INFINITY],
        i64_sequence: vec![i64::MAX],
        text_sequence: vec!["one".to_owned(), String::new()],
        wide_sequence: vec!["𝄞".to_owned()],
        point_sequence: vec![Point::default(); 3],
        few_flags: vec![true; 3],
        few_bytes: vec![1, 2, 3],
        few_f64: vec![0.125; 2],
        few_texts: vec!["five!".to_owned()],
        few_points: vec![],
        r#type: 1,
        self_: 2,
        r#match: 3,
    }
}

#[test]
fn constants_are_those_of_the_definition() {
    assert_eq!((Kinds::YES, Kinds::LEAST, Kinds::MOST), (true, -128, u64::MAX));
    assert_eq!((Kinds::HALF, Kinds::ENDLESS), (0.5, f64::INFINITY));
    assert_eq!((Kinds::NAME, Kinds::WIDE), ("kinds of 'fields'", "größer"));
    assert_eq!(MeasureRequest::FAST, 1);
}

#[test]
fn defaults_are_those_of_the_definition() {
    let expected = Defaults {
        flag: true,
        u8: 255,
        i64: i64::MIN,
        u64: u64::MAX,
        f32: -1.25,
        f64: 1e300,
        text: "two words".to_owned(),
        wide: "größer".to_owned(),
        numbers: [1, -2, 3],
        floats: vec![0.5, 1.0],
        bytes: [0, 255].into(),
        few_bytes: vec![7],
        texts: vec!["a, b".to_owned(), "c".to_owned()],
        long: [0; 40],
        flags: [true, false],
    };
    assert_eq!(Defaults::default(), expected);
    assert_eq!(WalkGoal::default().to, Point { x: 1.5, y: 0.0 });
    assert_eq!(MeasureRequest::default().mode, MeasureRequest::FAST);
}

#[test]
fn names_are_those_of_ros() {
    assert_eq!(Kinds::TYPE, "kinds_msgs/msg/Kinds");
    assert_eq!(<Measure as ServiceInterface>::TYPE, "kinds_msgs/srv/Measure");
    // The build script gives the crate the name of its package.
    assert_eq!(<rospin_interfaces_test::srv::Measure as ServiceInterface>::TYPE, "kinds_msgs/srv/Measure");
    assert_eq!(<Walk as Action>::TYPE, "kinds_msgs/action/Walk");
    let is_hash = |hash: &str| hash.starts_with("RIHS01_") && hash.len() == 71;
    assert_eq!(Kinds::TYPE_HASH.map(is_hash), (env!("DISTRIBUTION") != "humble").then_some(true));
}

#[test]
fn both_codecs_write_the_same_and_read_either_order() {
    let message = kinds();
    let bytes = cdr::to_vec(&message).unwrap();
    assert_eq!(bytes, cdr_encoding::to_vec::<_, byteorder::LittleEndian>(&message).unwrap());
    assert_eq!(cdr::from_bytes::<Kinds>(&bytes, ByteOrder::Little).unwrap(), message);
    assert_eq!(
        cdr_encoding::from_bytes::<Kinds, byteorder::LittleEndian>(&bytes).unwrap(),
        (message.clone(), bytes.len())
    );
    let big = cdr_encoding::to_vec::<_, byteorder::BigEndian>(&message).unwrap();
    assert_eq!(cdr::from_bytes::<Kinds>(&big, ByteOrder::Big).unwrap(), message);
    for length in 0..bytes.len() {
        cdr::from_bytes::<Kinds>(&bytes[..length], ByteOrder::Little).unwrap_err();
    }
}

#[test]
fn formats_that_name_fields_know_them_as_ros_does() {
    let json = serde_json::to_value(Point { x: 0.5, y: 2.0 }).unwrap();
    assert_eq!(json, serde_json::json!({ "x": 0.5, "y": 2.0 }));
    let text = serde_json::to_string(&Kinds { f32_sequence: vec![0.25], ..kinds() }).unwrap();
    assert!(text.contains(r#""type":1,"self":2,"match":3"#), "{text}");
    assert!(text.contains(r#""wide":"a𝄞b""#) && text.contains(r#""i8_sequence":[-128,127]"#), "{text}");
    let back: Kinds = serde_json::from_str(&text).unwrap();
    assert_eq!(back, Kinds { f32_sequence: vec![0.25], ..kinds() });
    let some: Point = serde_json::from_str(r#"{ "y": 3.0, "unknown": [1] }"#).unwrap();
    assert_eq!(some, Point { x: 1.5, y: 3.0 });
}

/// The expected bytes are written by hand: little-endian, numbers aligned to their size, strings with a final zero.
#[test]
fn the_bytes_are_those_of_ros() {
    assert_eq!(cdr::to_vec(&Nothing {}).unwrap(), [0]);
    assert_eq!(cdr::to_vec(&PingRequest {}).unwrap(), [0]);
    assert_eq!(cdr::to_vec(&WalkFeedback {}).unwrap(), [0]);
    let named = Named { data: "ab".to_owned(), other: String2 { data: vec!["c".to_owned()] } };
    #[rustfmt::skip]
    assert_eq!(cdr::to_vec(&named).unwrap(), [
        3, 0, 0, 0, b'a', b'b', 0, 0,
        1, 0, 0, 0, 2, 0, 0, 0, b'c', 0,
    ]);
    let response = MeasureResponse {
        fields: vec![PointField { name: "x".to_owned(), offset: 4, datatype: 7, count: 1 }],
        values: vec![1.0, -2.0],
    };
    #[rustfmt::skip]
    assert_eq!(cdr::to_vec(&response).unwrap(), [
        1, 0, 0, 0,
        2, 0, 0, 0, b'x', 0, 0, 0,
        4, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0,
        2, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0,
    ]);
    // A sequence of 8-byte numbers is aligned after its length, unless it is empty.
    let with = |few_f64| {
        let before = kinds();
        cdr::to_vec(&Kinds { few_f64, few_texts: vec![], ..before }).unwrap()
    };
    let empty = with(vec![]);
    let one = with(vec![1.0]);
    let length = empty.len() - 4 * 6;
    assert_eq!(empty[length..], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    let begin = (length + 4).next_multiple_of(8);
    assert_eq!(one[length..length + 4], [1, 0, 0, 0]);
    assert_eq!(one[begin..begin + 8], 1.0_f64.to_le_bytes());
    assert_eq!(one[begin + 8..], empty[length + 4..]);
}

/// Wide strings are encoded as the number of UTF-16 code units, and 32 bits for each.
#[test]
fn wide_strings_are_counted_in_units() {
    let wide = Defaults { wide: "a𝄞".to_owned(), ..Defaults::default() };
    let bytes = cdr::to_vec(&wide).unwrap();
    let units = [3_u32, 0x61, 0xd834, 0xdd1e].map(u32::to_le_bytes).concat();
    assert!(bytes.windows(units.len()).any(|part| part == units), "{bytes:?}");
    // Half of a surrogate pair is not valid text.
    let at = bytes.windows(4).position(|part| part == 0xd834_u32.to_le_bytes()).unwrap();
    let mut broken = bytes;
    broken[at] = b'x';
    broken[at + 1] = 0;
    assert!(cdr::from_bytes::<Defaults>(&broken, ByteOrder::Little).unwrap_err().to_string().contains("UTF-16"));
}

#[test]
fn values_beyond_their_bound_are_neither_sent_nor_taken() {
    let refused = [
        Kinds { short_text: "sixsix".to_owned(), ..kinds() },
        Kinds { short_wide: "sixsix".to_owned(), ..kinds() },
        Kinds { few_flags: vec![true; 4], ..kinds() },
        Kinds { few_bytes: vec![0; 4], ..kinds() },
        Kinds { few_f64: vec![0.0; 4], ..kinds() },
        Kinds { few_texts: vec![String::new(); 4], ..kinds() },
        Kinds { few_texts: vec!["sixsix".to_owned()], ..kinds() },
        Kinds { few_points: vec![Point::default(); 4], ..kinds() },
    ];
    for message in refused {
        cdr::to_vec(&message).unwrap_err();
    }
    // One element more than the bound of three, in the bytes of the bounded sequence.
    let bytes = cdr::to_vec(&kinds()).unwrap();
    let at = bytes.windows(7).rposition(|part| part == [3, 0, 0, 0, 1, 2, 3]).unwrap();
    let mut long = bytes;
    long[at] = 4;
    let error = cdr::from_bytes::<Kinds>(&long, ByteOrder::Little).unwrap_err();
    assert_eq!(error.to_string(), "4 elements in a sequence of at most 3");
}

#[test]
fn an_announced_length_allocates_nothing() {
    // Lengths of four billion numbers, strings and messages, without the elements.
    let lie = u32::MAX.to_le_bytes();
    for bytes in [[lie, lie], [[0; 4], lie]] {
        cdr::from_bytes::<MeasureResponse>(&bytes.concat(), ByteOrder::Little).unwrap_err();
    }
    cdr::from_bytes::<String2>(&lie, ByteOrder::Little).unwrap_err();
}
