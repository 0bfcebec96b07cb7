//! Records of MCAP as bytes, see <https://mcap.dev/spec>: a kind, a length, and fields.

use std::collections::BTreeMap;

/// Bytes at the beginning and at the end of a file.
pub const MAGIC: &[u8] = b"\x89MCAP0\r\n";

/// Bytes before the fields of a record: its kind, and the length of its fields.
pub const RECORD_HEADER: usize = 9;

/// Kinds of records.
pub mod kind {
    /// The first record, with the profile.
    pub const HEADER: u8 = 0x01;
    /// The last record, with the place of the summary.
    pub const FOOTER: u8 = 0x02;
    /// Definition of messages.
    pub const SCHEMA: u8 = 0x03;
    /// Topic with its encoding and schema.
    pub const CHANNEL: u8 = 0x04;
    /// Message of a channel.
    pub const MESSAGE: u8 = 0x05;
    /// Records, which may be compressed.
    pub const CHUNK: u8 = 0x06;
    /// Places of messages in a chunk.
    pub const MESSAGE_INDEX: u8 = 0x07;
    /// Place of a chunk.
    pub const CHUNK_INDEX: u8 = 0x08;
    /// Counts of messages.
    pub const STATISTICS: u8 = 0x0B;
    /// Map of texts with a name.
    pub const METADATA: u8 = 0x0C;
    /// Place of such a map.
    pub const METADATA_INDEX: u8 = 0x0D;
    /// Place of records of one kind in the summary.
    pub const SUMMARY_OFFSET: u8 = 0x0E;
    /// End of the messages.
    pub const DATA_END: u8 = 0x0F;
}

pub use crate::container::record;

/// Appends bytes behind their length of 32 bits.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend(bytes);
}

/// Appends a text behind its length of 32 bits.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes(out, text.as_bytes());
}

/// Appends a number.
pub fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

/// Appends a map of texts.
pub fn put_map(out: &mut Vec<u8>, entries: &[(&str, &str)]) {
    let mut map = Vec::new();
    for (key, value) in entries {
        put_text(&mut map, key);
        put_text(&mut map, value);
    }
    put_bytes(out, &map);
}

/// Fields of a record that are not read yet. A method returns `None` if the record ends before its field does.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(
    /// The bytes of those fields.
    pub &'a [u8],
);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    /// Returns a number of 16 bits.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Returns a number of 32 bits.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Returns a number of 64 bits.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Returns bytes behind a length of 32 bits.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.take(length as usize)
    }

    /// Returns bytes behind a length of 64 bits.
    pub fn long_bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.u64()?;
        self.take(usize::try_from(length).ok()?)
    }

    /// Returns a text. Bytes that are not UTF-8 are replaced.
    pub fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    /// Returns a map of texts.
    pub fn map(&mut self) -> Option<BTreeMap<String, String>> {
        let mut entries = Fields(self.bytes()?);
        let mut map = BTreeMap::new();
        while !entries.0.is_empty() {
            map.insert(entries.text()?, entries.text()?);
        }
        Some(map)
    }

    /// Returns the kind and the fields of the next record; `None` if there is no whole one.
    pub fn record(&mut self) -> Option<(u8, Fields<'a>)> {
        let [kind] = self.array()?;
        Some((kind, Fields(self.long_bytes()?)))
    }
}
