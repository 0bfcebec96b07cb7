//! Any bytes are an MCAP file whose messages are read as far as it is whole. Records lie within the file, and nothing
//! comes behind the damage behind which nothing can be read.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use rospin_trace::mcap::{McapMessages, Records, Wanted};

/// The most bytes of a record that are read.
const LIMIT: u64 = 1 << 24;

fuzz_target!(|bytes: &[u8]| {
    let length = bytes.len() as u64;
    let mut records = Records::new(bytes, length, LIMIT).with_sum();
    while let Ok(Some(record)) = records.next_of(|_| true) {
        assert!(record.at + record.fields.len() as u64 <= length);
        assert!(records.at() <= length);
    }
    let file = Box::new(Cursor::new(bytes.to_vec()));
    let mut messages = McapMessages::of(file, Wanted::default()).expect("bytes in memory can be read");
    let mut is_over = false;
    for item in &mut messages {
        assert!(!is_over);
        is_over = item.is_err_and(|damage| damage.after.is_some());
    }
    assert!(messages.next().is_none());
});
