//! Blobs in payloads: large ones share the payload's memory, all others are copied, and the encoding is that of a
//! vector.

use std::sync::Arc;

use byteorder::{BigEndian, LittleEndian};
use bytes::Bytes;
use proptest::prelude::*;
use rospin_wire::Blob;
use rospin_wire::cdr::{
    ByteOrder, CdrError, HEADER, PayloadError, from_bytes, from_payload, from_shared_payload, to_payload, to_vec,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Length from which a field is shared.
const SHARED_MIN: usize = 64 << 10;

#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
struct Image<T> {
    height: u8,
    encoding: String,
    data: T,
}

fn image<T>(encoding: &str, data: T) -> Image<T> {
    Image { height: 7, encoding: encoding.to_owned(), data }
}

fn payload(value: &impl Serialize) -> Bytes {
    to_payload(value).unwrap().into()
}

fn decode<T: DeserializeOwned>(payload: &Bytes) -> T {
    from_shared_payload(payload).unwrap()
}

/// Returns true if the blob has no memory of its own.
fn is_in(payload: &Bytes, blob: &Blob) -> bool {
    payload.as_ptr_range().contains(&blob.as_ptr())
}

#[test]
fn a_large_field_is_not_copied() {
    // Strings of different lengths give the field every alignment.
    for length in 0..9 {
        let message = image(&"e".repeat(length), Blob::from(vec![length as u8; SHARED_MIN]));
        let payload = payload(&message);
        let decoded: Image<Blob> = decode(&payload);
        assert!(is_in(&payload, &decoded.data));
        assert_eq!(decoded, message);
        // Without a shared payload, the same is a copy.
        let copied: Image<Blob> = from_payload(&payload).unwrap();
        assert!(!is_in(&payload, &copied.data));
        assert_eq!(copied, message);
    }
}

#[test]
fn a_small_field_is_copied() {
    for length in [0, 1, 3, 100, SHARED_MIN - 1] {
        let message = image("", Blob::from(vec![1; length]));
        let payload = payload(&message);
        let decoded: Image<Blob> = decode(&payload);
        assert!(!is_in(&payload, &decoded.data), "{length} bytes");
        assert_eq!(decoded, message);
    }
}

#[test]
fn a_field_does_not_keep_more_than_twice_its_length() {
    let bytes = |length| Blob::from(vec![5; length]);
    let pair = (bytes(SHARED_MIN), bytes(2 * SHARED_MIN));
    let of_pair = payload(&pair);
    let (small, large): (Blob, Blob) = decode(&of_pair);
    assert_eq!((is_in(&of_pair, &small), is_in(&of_pair, &large)), (false, true));
    assert_eq!((small, large), pair);
    // Bytes after the message count, because they are kept, too.
    let mut long = to_payload(&bytes(SHARED_MIN)).unwrap();
    long.resize(3 * SHARED_MIN, 0);
    let long = Bytes::from(long);
    assert!(!is_in(&long, &decode(&long)));
}

/// A payload in memory that somebody counts.
struct Lent {
    bytes: Vec<u8>,
    _count: Arc<()>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[test]
fn a_field_keeps_the_payload_until_its_last_clone_is_dropped() {
    let message = image("mono8", Blob::from(vec![3; SHARED_MIN]));
    let count = Arc::new(());
    let bytes = to_payload(&message).unwrap();
    let payload = Bytes::from_owner(Lent { bytes, _count: Arc::clone(&count) });
    let decoded: Image<Blob> = decode(&payload);
    drop(payload);
    let clones = [decoded.data.clone(), decoded.data.clone()];
    std::thread::scope(|scope| {
        for clone in clones {
            scope.spawn(move || assert_eq!(clone, [3; SHARED_MIN]));
        }
    });
    assert_eq!(Arc::strong_count(&count), 2);
    // The payload is nobody's to write to.
    let mut written = decoded.clone();
    written.data[1] = 4;
    assert_eq!((decoded == message, written.data[1], Arc::strong_count(&count)), (true, 4, 2));
    drop(decoded);
    assert_eq!((Arc::strong_count(&count), written.data.len()), (1, SHARED_MIN));
}

#[test]
fn lengths_are_not_trusted() {
    let end = |missing, at| Err(PayloadError::Type(CdrError::End { at, missing }));
    for rest in [0, 1, SHARED_MIN] {
        for length in [rest as u32 + 1, i32::MAX as u32, u32::MAX] {
            let bytes = Bytes::from([&HEADER[..], &length.to_le_bytes(), &vec![0; rest]].concat());
            let missing = length as usize - rest;
            assert_eq!(from_shared_payload::<Blob>(&bytes), end(missing, rest + 4));
            from_shared_payload::<Vec<Blob>>(&bytes).unwrap_err();
        }
    }
    for cut in 0..3 {
        from_shared_payload::<Blob>(&Bytes::from([&HEADER[..], &vec![0; cut]].concat())).unwrap_err();
        from_shared_payload::<Blob>(&Bytes::from(vec![0; cut])).unwrap_err();
    }
}

#[test]
fn a_blob_may_be_anywhere_in_a_message() {
    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    enum Choice {
        Nothing,
        One(Blob),
        Named { before: u16, data: Blob },
    }

    let large = Blob::from(vec![8; SHARED_MIN]);
    let choice = Choice::Named { before: 1, data: large.clone() };
    let nested = (vec![image("", Blob::new()), image("a", large)], Some(Blob::from([1])), Choice::Nothing, choice);
    let of_nested = payload(&nested);
    let decoded: (Vec<Image<Blob>>, Option<Blob>, Choice, Choice) = decode(&of_nested);
    assert_eq!(decoded, nested);
    let one = Choice::One(nested.0[1].data.clone());
    let of_one = payload(&one);
    let decoded = decode(&of_one);
    assert!(matches!(&decoded, Choice::One(blob) if is_in(&of_one, blob)));
    assert_eq!(decoded, one);
}

/// A newtype that happens to have the name of a blob gives an error, and nothing worse.
#[test]
fn a_name_of_ours_on_something_else_is_refused() {
    #[derive(Debug, Deserialize)]
    #[serde(rename = "rospin_wire::Blob")]
    struct Number(#[expect(dead_code, reason = "it is never decoded")] u32);

    /// Asks for bytes, as a blob does, and does not know what to do with those that are shared.
    #[derive(Debug)]
    struct Borrowed;

    impl<'de> Deserialize<'de> for Borrowed {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Bytes;
            impl<'de> serde::de::Visitor<'de> for Bytes {
                type Value = Borrowed;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    write!(f, "bytes")
                }
                fn visit_newtype_struct<D: serde::Deserializer<'de>>(self, from: D) -> Result<Borrowed, D::Error> {
                    from.deserialize_bytes(self)
                }
                fn visit_bytes<E>(self, _: &[u8]) -> Result<Borrowed, E> {
                    Ok(Borrowed)
                }
            }
            deserializer.deserialize_newtype_struct("rospin_wire::Blob", Bytes)
        }
    }

    let of = |length| payload(&Blob::from(vec![0; length]));
    assert!(from_shared_payload::<Number>(&of(9)).unwrap_err().to_string().contains("and is none"));
    decode::<Borrowed>(&of(9));
    assert!(from_shared_payload::<Borrowed>(&of(SHARED_MIN)).unwrap_err().to_string().contains("and is none"));
}

proptest! {
    #[test]
    fn the_encoding_is_that_of_a_vector(bytes: Vec<u8>, encoding in ".{0,5}") {
        let blob = image(&encoding, Blob::from(bytes.clone()));
        let vector = image(&encoding, bytes);
        let encoded = to_vec(&blob).unwrap();
        prop_assert_eq!(&encoded, &to_vec(&vector).unwrap());
        prop_assert_eq!(&encoded, &cdr_encoding::to_vec::<_, LittleEndian>(&blob).unwrap());
        prop_assert_eq!(&from_bytes::<Image<Blob>>(&encoded, ByteOrder::Little).unwrap(), &blob);
        prop_assert_eq!(&cdr_encoding::from_bytes::<Image<Blob>, LittleEndian>(&encoded).unwrap().0, &blob);
        let big = cdr_encoding::to_vec::<_, BigEndian>(&vector).unwrap();
        prop_assert_eq!(&from_bytes::<Image<Blob>>(&big, ByteOrder::Big).unwrap(), &blob);
        let json = serde_json::to_string(&blob).unwrap();
        prop_assert_eq!(&json, &serde_json::to_string(&vector).unwrap());
        prop_assert_eq!(&serde_json::from_str::<Image<Blob>>(&json).unwrap(), &blob);
    }

    /// With or without shared memory, the value and the error are the same.
    #[test]
    fn sharing_changes_nothing_but_memory(lengths in prop::collection::vec(0..3 * SHARED_MIN, 0..4), cut: usize) {
        let blobs: Vec<_> = lengths.iter().map(|length| Blob::from(vec![*length as u8; *length])).collect();
        let mut bytes = to_payload(&blobs).unwrap();
        if cut % 2 == 1 {
            bytes.truncate(cut / 2 % (bytes.len() + 1));
        }
        let bytes = Bytes::from(bytes);
        prop_assert_eq!(from_shared_payload::<Vec<Blob>>(&bytes), from_payload::<Vec<Blob>>(&bytes));
    }
}
