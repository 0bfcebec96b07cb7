//! Input from Zenoh: payloads, attachments and tokens; and the options of a session.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rospin_fuzz::{Check, for_a_message};
use rospin_wire::cdr::{from_payload, to_payload};
use rospin_zenoh::fuzzing;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Messages with their header.
struct Payload;

impl Check for Payload {
    fn check<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
        let Ok(value) = from_payload::<T>(bytes) else { return };
        let written = to_payload(&value).expect("what was read can be written");
        let again = from_payload::<T>(&written).expect("what was written can be read");
        assert_eq!(to_payload(&again).as_deref(), Ok(&written[..]));
        // The body is encoded in the same way without the header.
        if written.len() > 4 {
            let other = rospin_fuzz::decode::<T>(&written[4..]).expect("CDR");
            assert_eq!(rospin_fuzz::encode(&other), written[4..]);
        }
    }
}

fn attachment(bytes: &[u8]) {
    if let Some(written) = fuzzing::attachment(bytes) {
        // Later versions may append fields, which are ignored.
        assert_eq!(written, bytes[..written.len()]);
    }
}

fn token(key: &str) {
    if let Some(name) = fuzzing::token(key) {
        assert!(key.starts_with("@ros2_lv/") && name.contains('/'), "{name}");
    }
}

fn environment(text: &str) {
    let (domain_id, overrides) = text.split_once('\n').unwrap_or((text, ""));
    let error = fuzzing::environment(domain_id, overrides).err();
    assert!(error.is_none_or(|error| !error.is_empty()));
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&which, rest)) = bytes.split_first() else { return };
    match which % 4 {
        0 => for_a_message::<Payload>(rest),
        1 => attachment(rest),
        2 => _ = std::str::from_utf8(rest).map(token),
        _ => _ = std::str::from_utf8(rest).map(environment),
    }
});
