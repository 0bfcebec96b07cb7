//! Bytes from DDS: names of topics and types, requests with their headers or with identities beside them, and what
//! others say of themselves and of their nodes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rospin_dds::fuzzing;

fn request(bytes: &[u8]) {
    let Some((client, number, body)) = fuzzing::request(bytes) else { return };
    let mut again = body.clone();
    fuzzing::insert(&mut again, client, number);
    // Whatever the byte order was, it is written as little-endian; the payload keeps its own.
    let little = bytes[1] == 1;
    assert_eq!(again.len(), bytes.len());
    assert!(!little || again == bytes);
}

fn names(text: &str) {
    let (topic, dds_type) = text.split_once('\n').unwrap_or((text, ""));
    for is_writer in [true, false] {
        if let Some((name, _)) = fuzzing::endpoint(is_writer, topic, dds_type) {
            assert!(name.starts_with('/') && topic.contains(&name));
        }
    }
}

/// Messages with a byte before each that says how long it is: what participants say of their nodes, and what is found
/// of their readers and writers.
fn discovery(bytes: &[u8]) {
    let discovery = fuzzing::Discovery::default();
    let mut rest = bytes;
    while let [length, further @ ..] = rest {
        let (message, further) = further.split_at(usize::from(*length).min(further.len()));
        // It speaks for itself, whoever it is: its own id stands at the beginning, behind the header.
        let at = |offset: usize| message.get(offset).copied().unwrap_or_default();
        let _ = discovery.nodes(std::array::from_fn(|byte| at(4 + byte)), message);
        let mut texts = message.get(20..).unwrap_or_default().splitn(3, |byte| *byte == b'\n');
        let mut text = || texts.next().unwrap_or_default();
        if let (Ok(topic), Ok(type_name)) = (std::str::from_utf8(text()), std::str::from_utf8(text())) {
            let guid = std::array::from_fn(|byte| at(4 + byte));
            discovery.endpoint(guid, at(0) % 2 == 0, topic, type_name, text());
        }
        rest = further;
    }
    let names = discovery.node_names();
    assert!(names.iter().all(|name| name.contains('/')), "{names:?}");
}

fn said(bytes: &[u8]) {
    let (hash, pair) = fuzzing::said(bytes);
    let is_in = |text: &str| String::from_utf8_lossy(bytes).contains(text);
    assert!(hash.iter().chain(&pair).all(|text| is_in(text)));
}

/// Parameters before a message: an identity is read only if it is there as a whole.
fn identity(bytes: &[u8]) {
    for is_little in [true, false] {
        if let Some((guid, _)) = fuzzing::identity(bytes, is_little) {
            assert!(bytes.windows(guid.len()).any(|window| window == guid));
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&which, rest)) = bytes.split_first() else { return };
    match which % 5 {
        0 => request(rest),
        1 => discovery(rest),
        2 => _ = std::str::from_utf8(rest).map(names),
        3 => said(rest),
        _ => identity(rest),
    }
});
