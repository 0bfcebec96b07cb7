//! Any bytes are a valid message of ROS 2's own packages, or are refused. A valid one survives encoding and decoding,
//! and its conversion to rospin's types.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use rospin_fuzz::{Check, decode, encode, for_a_message};
use rospin_node::ParameterValue;
use rospin_node::interfaces::builtin_interfaces::Time;
use rospin_node::interfaces::rcl_interfaces;
use rospin_wire::cdr::{ByteOrder, HEADER, from_bytes, from_payload, from_shared_payload};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Encodes a decoded message and decodes it again, with the codec of DDS and with that of Zenoh. Compares bytes,
/// because NaN is not equal to itself.
struct ThereAndBack;

impl Check for ThereAndBack {
    fn check<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
        if let Ok(value) = from_bytes::<T>(bytes, ByteOrder::Little) {
            let written = encode(&value);
            let again = decode::<T>(&written).expect("what was written can be read");
            assert_eq!(encode(&again), written);
        }
        Self::check_shared::<T>(bytes);
        let Some(value) = decode::<T>(bytes) else { return };
        let written = encode(&value);
        let again = from_bytes::<T>(&written, ByteOrder::Little).expect("what was written can be read");
        assert_eq!(encode(&again), written);
    }
}

impl ThereAndBack {
    /// Bytes that a value shares with its payload are those that it would have copied, also after the payload is
    /// dropped.
    fn check_shared<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
        let payload = Bytes::from([&HEADER, bytes].concat());
        let copied = from_payload::<T>(&payload).map(|value| encode(&value));
        let shared = from_shared_payload::<T>(&payload);
        drop(payload);
        assert_eq!(shared.map(|value| encode(&value)), copied);
    }
}

fn convert(bytes: &[u8]) {
    if let Some(time) = decode::<Time>(bytes) {
        let point = rospin_engine::Time::from(time);
        // A time that does not fit becomes the latest one that does.
        assert!(rospin_engine::Time::from(Time::from(point)) <= point);
    }
    let value = decode::<rcl_interfaces::ParameterValue>(bytes).map(ParameterValue::try_from);
    if let Some(Ok(value)) = value {
        let again = ParameterValue::try_from(rcl_interfaces::ParameterValue::from(value.clone()));
        assert_eq!(format!("{:?}", Ok::<_, ()>(value)), format!("{again:?}"));
    }
}

fuzz_target!(|bytes: &[u8]| {
    for_a_message::<ThereAndBack>(bytes);
    convert(bytes);
});
