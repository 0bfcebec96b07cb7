//! Records of MCAP as bytes, see <https://mcap.dev/spec>: a kind, a length, and fields.

use std::collections::BTreeMap;

/// Bytes at the beginning and at the end of a file.
pub(super) const MAGIC: &[u8] = b"\x89MCAP0\r\n";

/// Bytes before the fields of a record: its kind, and the length of its fields.
pub(super) const RECORD_HEADER: usize = 9;

/// Kinds of records.
pub(super) mod kind {
    pub(in super::super) const HEADER: u8 = 0x01;
    pub(in super::super) const FOOTER: u8 = 0x02;
    pub(in super::super) const SCHEMA: u8 = 0x03;
    pub(in super::super) const CHANNEL: u8 = 0x04;
    pub(in super::super) const MESSAGE: u8 = 0x05;
    pub(in super::super) const CHUNK: u8 = 0x06;
    pub(in super::super) const MESSAGE_INDEX: u8 = 0x07;
    pub(in super::super) const CHUNK_INDEX: u8 = 0x08;
    pub(in super::super) const STATISTICS: u8 = 0x0B;
    pub(in super::super) const METADATA: u8 = 0x0C;
    pub(in super::super) const METADATA_INDEX: u8 = 0x0D;
    pub(in super::super) const SUMMARY_OFFSET: u8 = 0x0E;
    pub(in super::super) const DATA_END: u8 = 0x0F;
}

/// Appends a record: its kind, its length, and what `fill` appends.
pub(super) fn record(out: &mut Vec<u8>, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let at = out.len();
    out.extend([0; 8]);
    fill(out);
    let length = (out.len() - at - 8) as u64;
    out[at..at + 8].copy_from_slice(&length.to_le_bytes());
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend(bytes);
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes(out, text.as_bytes());
}

pub(super) fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

/// Appends a map of texts.
pub(super) fn put_map(out: &mut Vec<u8>, entries: &[(&str, &str)]) {
    let mut map = Vec::new();
    for (key, value) in entries {
        put_text(&mut map, key);
        put_text(&mut map, value);
    }
    put_bytes(out, &map);
}

/// Fields of a record that are not read yet. A method returns `None` if the record ends before its field does.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

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

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Returns bytes behind a length of 32 bits.
    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.take(length as usize)
    }

    /// Returns bytes behind a length of 64 bits.
    pub(super) fn long_bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.u64()?;
        self.take(usize::try_from(length).ok()?)
    }

    /// Returns a text. Bytes that are not UTF-8 are replaced.
    pub(super) fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    /// Returns a map of texts.
    pub(super) fn map(&mut self) -> Option<BTreeMap<String, String>> {
        let mut entries = Fields(self.bytes()?);
        let mut map = BTreeMap::new();
        while !entries.0.is_empty() {
            map.insert(entries.text()?, entries.text()?);
        }
        Some(map)
    }

    /// Returns the kind and the fields of the next record; `None` if there is no whole one.
    pub(super) fn record(&mut self) -> Option<(u8, Fields<'a>)> {
        let [kind] = self.array()?;
        Some((kind, Fields(self.long_bytes()?)))
    }
}
