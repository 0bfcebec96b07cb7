//! Input from DDS: names of topics and types, requests with their headers, and other nodes' announcements.

#![no_main]

use byteorder::LittleEndian;
use cdr_encoding::CdrDeserializer;
use libfuzzer_sys::fuzz_target;
use rospin_fuzz::{Check, encode, for_a_message};
use rospin_ros2_client::{ServiceMapping, fuzzing};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Requests and responses.
struct Headed;

impl Check for Headed {
    fn check<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
        for mapping in [ServiceMapping::Enhanced, ServiceMapping::Cyclone] {
            let read = |bytes: &[u8]| {
                fuzzing::read_headed::<T, _>(mapping, &mut CdrDeserializer::<LittleEndian>::new(bytes)).ok()
            };
            let Some(headed) = read(bytes) else { continue };
            let write = |(header, body): (Option<([u8; 8], i64)>, T)| match header {
                None => encode(&body),
                Some(header) => encode(&(header, body)),
            };
            let written = write(headed);
            let again = read(&written).expect("what was written can be read");
            assert_eq!(write(again), written);
        }
    }
}

fn names(text: &str) {
    let (topic, dds_type) = text.split_once('\n').unwrap_or((text, ""));
    for is_writer in [true, false] {
        if let Some((name, _)) = fuzzing::endpoint(is_writer, topic, dds_type) {
            assert!(name.starts_with('/') && topic.contains(&name));
        }
    }
}

/// Messages, each after a byte with its length.
fn nodes(bytes: &[u8]) {
    let discovery = fuzzing::Discovery::default();
    let mut rest = bytes;
    while let [length, further @ ..] = rest {
        let (message, further) = further.split_at(usize::from(*length).min(further.len()));
        // The announcement is about its own writer.
        let writer: [u8; 12] = std::array::from_fn(|at| message.get(at).copied().unwrap_or_default());
        let _ = discovery.said(writer, &mut CdrDeserializer::<LittleEndian>::new(message));
        rest = further;
    }
    let names = discovery.node_names();
    assert!(names.iter().all(|name| name.contains('/')), "{names:?}");
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&which, rest)) = bytes.split_first() else { return };
    match which % 3 {
        0 => for_a_message::<Headed>(rest),
        1 => nodes(rest),
        _ => _ = std::str::from_utf8(rest).map(names),
    }
});
