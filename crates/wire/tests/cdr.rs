//! Our codec and that of RustDDS: the same bytes, and values that survive, in either byte order.

use std::collections::BTreeMap;

use byteorder::{BigEndian, LittleEndian};
use proptest::prelude::*;
use rospin_wire::cdr::{ByteOrder, CdrError, append, from_bytes, to_vec};
use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
enum Choice {
    Nothing,
    Number(i16),
    Pair(u8, f64),
    Named { text: String, flag: bool },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Wrapped(u64);

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Sample {
    small: (i8, u16, bool, char),
    choice: Choice,
    some: Option<Wrapped>,
    texts: Vec<String>,
    numbers: Vec<f32>,
    array: [i64; 2],
    map: BTreeMap<u8, i32>,
    unit: (),
}

fn choices() -> impl Strategy<Value = Choice> {
    prop_oneof![
        Just(Choice::Nothing),
        any::<i16>().prop_map(Choice::Number),
        (any::<u8>(), -1e9..1e9).prop_map(|(first, second)| Choice::Pair(first, second)),
        (".{0,4}", any::<bool>()).prop_map(|(text, flag)| Choice::Named { text, flag }),
    ]
}

prop_compose! {
    fn samples()(
        small in any::<(i8, u16, bool, char)>(),
        choice in choices(),
        some in any::<Option<u64>>(),
        texts in prop::collection::vec(".{0,5}", 0..3),
        numbers in prop::collection::vec(-1e9_f32..1e9, 0..4),
        array in any::<[i64; 2]>(),
        map in prop::collection::btree_map(any::<u8>(), any::<i32>(), 0..3),
    ) -> Sample {
        Sample { small, choice, some: some.map(Wrapped), texts, numbers, array, map, unit: () }
    }
}

proptest! {
    #[test]
    fn bytes_are_those_of_the_other_codec(sample in samples()) {
        let bytes = to_vec(&sample).unwrap();
        prop_assert_eq!(&bytes, &cdr_encoding::to_vec::<_, LittleEndian>(&sample).unwrap());
        prop_assert_eq!(&from_bytes::<Sample>(&bytes, ByteOrder::Little).unwrap(), &sample);
        let big = cdr_encoding::to_vec::<_, BigEndian>(&sample).unwrap();
        prop_assert_eq!(&from_bytes::<Sample>(&big, ByteOrder::Big).unwrap(), &sample);
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(sample) = from_bytes::<Sample>(&bytes, ByteOrder::Little) {
            let written = to_vec(&sample).unwrap();
            prop_assert!(written.len() <= bytes.len() + 8, "what was left out is text without its zero, or padding");
        }
    }
}

#[test]
fn alignment_begins_where_the_value_does() {
    let mut bytes = vec![0xaa; 3];
    append(&mut bytes, &(1_u8, 2_u16)).unwrap();
    assert_eq!(bytes, [0xaa, 0xaa, 0xaa, 1, 0, 2, 0]);
}

#[test]
fn errors_say_what_is_wrong() {
    fn error<T: serde::de::DeserializeOwned + std::fmt::Debug>(bytes: &[u8]) -> CdrError {
        from_bytes::<T>(bytes, ByteOrder::Little).unwrap_err()
    }
    assert_eq!(error::<(u8, u32)>(&[1, 0, 0, 0, 9, 9]), CdrError::End { at: 6, missing: 2 });
    assert_eq!(error::<(u8, u32)>(&[1, 0]), CdrError::End { at: 2, missing: 2 });
    assert_eq!(error::<bool>(&[2]), CdrError::Bool(2));
    assert_eq!(error::<char>(&[0, 0xd8, 0, 0]), CdrError::Char(0xd800));
    assert_eq!(error::<Option<u8>>(&[2, 0, 0, 0]), CdrError::Option(2));
    assert!(matches!(error::<String>(&[2, 0, 0, 0, 0xff, 0]), CdrError::Utf8(_)));
    assert!(matches!(error::<Choice>(&[9, 0, 0, 0]), CdrError::Type(_)));
    assert_eq!(error::<serde_json::Value>(&[0; 8]), CdrError::NotDescribed);
    let end = "the payload ends at byte 6, 2 bytes before the end of a value";
    assert_eq!(error::<(u8, u32)>(&[1, 0, 0, 0, 9, 9]).to_string(), end);
}

#[test]
fn a_string_may_lack_its_zero() {
    assert_eq!(from_bytes::<String>(&[0, 0, 0, 0], ByteOrder::Little).unwrap(), "");
    assert_eq!(from_bytes::<String>(&[1, 0, 0, 0, b'a'], ByteOrder::Little).unwrap(), "a");
}

/// A newtype that happens to have one of our names gives an error, and nothing worse.
#[test]
fn a_name_of_ours_on_something_else_is_refused() {
    #[derive(Debug, Serialize, Deserialize)]
    #[serde(rename = "rospin_engine::Sequence4")]
    struct Accident(u32);

    assert!(to_vec(&Accident(1)).unwrap_err().to_string().contains("and is none"));
    from_bytes::<Accident>(&[0; 8], ByteOrder::Little).unwrap_err();
}
