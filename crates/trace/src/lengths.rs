//! Lengths in records of MCAP files, which are looked at before the parser reserves as much memory as they say.

use mcap::records::op;

/// Returns false if a text in the record is said to be longer than what there is of the record, or a record of an
/// uncompressed chunk than what there is of the chunk. Records of kinds without texts are not looked at.
pub(crate) fn are_within(opcode: u8, data: &[u8]) -> bool {
    Rest(data).record(opcode).is_some()
}

/// Rest of a record that is not read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    /// Passes the texts of a record. `None` if one of them is longer than what there is.
    fn record(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            op::HEADER => self.texts(2),
            op::SCHEMA => {
                self.skip(2)?;
                self.texts(2)
            }
            op::CHANNEL => {
                self.skip(4)?;
                self.texts(2)?;
                self.map()
            }
            op::METADATA => {
                self.text()?;
                self.map()
            }
            op::METADATA_INDEX => {
                self.skip(16)?;
                self.text()
            }
            op::ATTACHMENT_INDEX => {
                self.skip(40)?;
                self.texts(2)
            }
            op::ATTACHMENT => {
                self.skip(16)?;
                self.texts(2)
            }
            op::CHUNK => self.chunk(),
            op::CHUNK_INDEX => {
                self.skip(32)?;
                self.text()?;
                self.skip(8)?;
                self.text()
            }
            _ => Some(()),
        }
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.bytes(count).map(drop)
    }

    /// Passes a length of four bytes, and as many bytes as it says.
    fn text(&mut self) -> Option<()> {
        self.block().map(drop)
    }

    fn texts(&mut self, count: usize) -> Option<()> {
        for _ in 0..count {
            self.text()?;
        }
        Some(())
    }

    fn block(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(self.bytes(4)?.try_into().ok()?);
        self.bytes(usize::try_from(length).ok()?)
    }

    /// Passes a map of texts. The parser reads its last text also if it is longer than the map, but not than the
    /// record.
    fn map(&mut self) -> Option<()> {
        let length = u32::from_le_bytes(self.bytes(4)?.try_into().ok()?);
        let end = self.0.len().checked_sub(usize::try_from(length).ok()?)?;
        while self.0.len() > end {
            self.text()?;
            self.text()?;
        }
        Some(())
    }

    /// Passes a chunk: times, size and checksum, the name of the compression, and records.
    fn chunk(&mut self) -> Option<()> {
        self.skip(28)?;
        let compression = self.block()?;
        let length = u64::from_le_bytes(self.bytes(8)?.try_into().ok()?);
        let mut records = Rest(self.bytes(usize::try_from(length).ok()?)?);
        if !compression.is_empty() {
            return Some(());
        }
        while !records.0.is_empty() {
            let opcode = *records.bytes(1)?.first()?;
            let length = u64::from_le_bytes(records.bytes(8)?.try_into().ok()?);
            let record = records.bytes(usize::try_from(length).ok()?)?;
            if opcode == op::CHUNK || !are_within(opcode, record) {
                return None;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(said: u32, bytes: &[u8]) -> Vec<u8> {
        [&said.to_le_bytes(), bytes].concat()
    }

    fn record(opcode: u8, data: &[u8]) -> Vec<u8> {
        [&[opcode][..], &(data.len() as u64).to_le_bytes(), data].concat()
    }

    fn chunk(compression: &[u8], records: &[u8]) -> Vec<u8> {
        let name = text(compression.len() as u32, compression);
        [&[0; 28][..], &name, &(records.len() as u64).to_le_bytes(), records].concat()
    }

    #[test]
    fn texts_end_within_their_record() {
        let good = text(2, b"ab");
        let bad = text(u32::MAX, b"ab");
        assert!(are_within(op::HEADER, &[good.clone(), good.clone()].concat()));
        assert!(!are_within(op::HEADER, &[good.clone(), bad.clone()].concat()));
        assert!(!are_within(op::HEADER, &[bad.clone(), good.clone()].concat()));
        let map = |texts: &[u8]| text(texts.len() as u32, texts);
        let metadata = |texts: &[u8]| [good.clone(), map(texts)].concat();
        assert!(are_within(op::METADATA, &metadata(&[good.clone(), good.clone()].concat())));
        assert!(!are_within(op::METADATA, &metadata(&[good.clone(), bad.clone()].concat())));
        assert!(!are_within(op::METADATA, &[good.clone(), text(u32::MAX, &good)].concat()));
        let channel = |last: &[u8]| [&[0; 4][..], &good, last, &[0; 4]].concat();
        assert!(are_within(op::CHANNEL, &channel(&good)) && !are_within(op::CHANNEL, &channel(&bad)));
        assert!(are_within(op::MESSAGE, &bad), "a message has no text of MCAP");
    }

    #[test]
    fn records_in_chunks_are_looked_at_and_chunks_in_chunks_refused() {
        let good = text(2, b"ab");
        let bad = text(u32::MAX, b"ab");
        let header = |second: &[u8]| record(op::HEADER, &[&good[..], second].concat());
        assert!(are_within(op::CHUNK, &chunk(b"", &header(&good))));
        assert!(!are_within(op::CHUNK, &chunk(b"", &header(&bad))));
        assert!(are_within(op::CHUNK, &chunk(b"zstd", &header(&bad))), "its bytes are no records yet");
        assert!(!are_within(op::CHUNK, &chunk(b"", &record(op::CHUNK, &chunk(b"", &[])))));
        assert!(!are_within(op::CHUNK, &chunk(b"", &header(&good)[..5])), "it is cut off");
        let mut huge = header(&good);
        huge[1..9].fill(0xff);
        assert!(!are_within(op::CHUNK, &chunk(b"", &huge)));
        let mut longer = chunk(b"", &[]);
        longer[32..40].fill(0xff);
        assert!(!are_within(op::CHUNK, &longer));
    }
}
