//! Any bytes are a message of ROS 2 itself or none; what was read is written and read again, and becomes what a program has of it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rospin_engine::Instant;
use rospin_fuzz::{Check, decode, encode, for_a_message};
use rospin_node::ParameterValue;
use rospin_node::interfaces::builtin_interfaces::Time;
use rospin_node::interfaces::rcl_interfaces;
use rospin_wire::cdr::{ByteOrder, from_bytes};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What was read is written, and read again by the other end: that of DDS, that of Zenoh. Compared as bytes, since what is no
/// number is unlike itself.
struct ThereAndBack;

impl Check for ThereAndBack {
    fn check<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
        if let Ok(value) = from_bytes::<T>(bytes, ByteOrder::Little) {
            let written = encode(&value);
            let again = decode::<T>(&written).expect("what was written can be read");
            assert_eq!(encode(&again), written);
        }
        let Some(value) = decode::<T>(bytes) else { return };
        let written = encode(&value);
        let again = from_bytes::<T>(&written, ByteOrder::Little).expect("what was written can be read");
        assert_eq!(encode(&again), written);
    }
}

fn convert(bytes: &[u8]) {
    if let Some(time) = decode::<Time>(bytes) {
        let instant = Instant::from(time);
        // What does not fit is the latest time that does.
        assert!(Instant::from(Time::from(instant)) <= instant);
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
