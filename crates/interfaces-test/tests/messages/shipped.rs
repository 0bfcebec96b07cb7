//! Every shipped type, and every kind of field: random values survive encoding and decoding, and both codecs give the
//! same bytes.

use std::fmt::Debug;

use byteorder::{BigEndian, LittleEndian};
use rospin_wire::cdr::{self, ByteOrder};
use serde::Serialize;
use serde::de::DeserializeOwned;

include!(concat!(env!("OUT_DIR"), "/each_type.rs"));

fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(name: &str) {
    for seed in 0..4 {
        let value: T = crate::random::value(seed);
        let bytes = cdr::to_vec(&value).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(bytes, cdr_encoding::to_vec::<_, LittleEndian>(&value).unwrap(), "{name} by RustDDS' codec");
        assert_eq!(cdr::from_bytes::<T>(&bytes, ByteOrder::Little).as_ref(), Ok(&value), "{name}");
        let (read, length) = cdr_encoding::from_bytes::<T, LittleEndian>(&bytes).unwrap();
        assert_eq!((&read, length), (&value, bytes.len()), "{name} by RustDDS' codec");
        let big = cdr_encoding::to_vec::<_, BigEndian>(&value).unwrap();
        assert_eq!(cdr::from_bytes::<T>(&big, ByteOrder::Big).as_ref(), Ok(&value), "{name}, big-endian");
        let json = serde_json::to_value(&value).unwrap();
        assert_eq!(serde_json::from_value::<T>(json).unwrap(), value, "{name} as JSON");
        for length in (0..bytes.len()).step_by(bytes.len() / 16 + 1) {
            assert!(cdr::from_bytes::<T>(&bytes[..length], ByteOrder::Little).is_err(), "{name} cut off");
        }
    }
}

#[test]
fn all_types_survive_the_wire() {
    let mut count = 0;
    macro_rules! check_one {
        ($of:ty, $name:literal) => {
            check::<$of>($name);
            count += 1;
        };
    }
    each_type!(check_one);
    assert!(count > 250, "{count} types");
}
