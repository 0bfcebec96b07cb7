//! Writer of MCAP, the container of recordings: chunks without compression, each with a checksum and an index.
//!
//! It writes the part of <https://mcap.dev/spec> that recordings need. The crate `mcap` writes all of it, but takes as
//! long to compile as rospin's engine, in every program that can be recorded. In tests, it reads what this writer
//! wrote.
//!
//! A format of our own would have needed chunks, an index, recovery of files that are cut off, and a converter for
//! people's tools. MCAP has them, so the recording itself is what Foxglove opens.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

const MAGIC: &[u8] = b"\x89MCAP0\r\n";
/// Bytes of messages after which a chunk is full.
const CHUNK: usize = 1 << 20;

/// A file, or a replacement of it, that `cut` shortens to `length` bytes.
pub(crate) trait Store: Write + Seek + Send {
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Store for File {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// Description of a channel's messages.
pub(crate) struct Schema<'a> {
    pub(crate) name: &'a str,
    /// Language of the text: `jsonschema` or `ros2msg`.
    pub(crate) encoding: &'a str,
    pub(crate) text: &'a str,
}

/// Place of a chunk in the file, for the index in the summary.
struct ChunkPlace {
    times: (u64, u64),
    start: u64,
    length: u64,
    indices: Vec<(u16, u64)>,
    indices_length: u64,
    size: u64,
}

/// Writer of an MCAP file.
pub(crate) struct Container<S: Store> {
    store: S,
    /// Length of the file up to the end of the data section, in bytes.
    end: u64,
    /// True if the file has a summary behind `end`. It is cut off before more data is written.
    is_complete: bool,
    /// State of the CRC-32 of the data section so far; its bits are inverted for the checksum.
    sum: u32,
    /// Schemas and channels as records, for the summary.
    declared: Vec<u8>,
    channels: u32,
    counts: BTreeMap<u16, u64>,
    chunk: Vec<u8>,
    index: BTreeMap<u16, Vec<(u64, u64)>>,
    times: Option<(u64, u64)>,
    places: Vec<ChunkPlace>,
    /// True if there will be no summary, so that the places of chunks are not kept.
    is_stream: bool,
}

/// Appends a record: its kind, its length, and what `fill` appends.
pub fn record(out: &mut Vec<u8>, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let at = out.len();
    out.extend([0; 8]);
    fill(out);
    let length = (out.len() - at - 8) as u64;
    out[at..at + 8].copy_from_slice(&length.to_le_bytes());
}

/// Returns a named list of texts as a record.
pub(crate) fn metadata(name: &str, entries: &[(&str, String)]) -> Vec<u8> {
    let mut metadata = Vec::new();
    record(&mut metadata, 0x0C, |out| {
        text(out, name);
        let mut map = Vec::new();
        for (key, value) in entries {
            text(&mut map, key);
            text(&mut map, value);
        }
        bytes(out, &map);
    });
    metadata
}

fn text(out: &mut Vec<u8>, text: &str) {
    bytes(out, text.as_bytes());
}

fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend(bytes);
}

fn number(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

impl<S: Store> Container<S> {
    /// Begins a file: writes its magic bytes and its header.
    pub(crate) fn new(store: S) -> io::Result<Self> {
        let mut container = Self {
            store,
            end: 0,
            is_complete: false,
            sum: !0,
            declared: Vec::new(),
            channels: 0,
            counts: BTreeMap::new(),
            chunk: Vec::new(),
            index: BTreeMap::new(),
            times: None,
            places: Vec::new(),
            is_stream: false,
        };
        let mut begin = MAGIC.to_vec();
        record(&mut begin, 0x01, |out| {
            text(out, "");
            text(out, concat!("rospin ", env!("CARGO_PKG_VERSION")));
        });
        container.append(&begin)?;
        Ok(container)
    }

    /// Has the container go on for ever in the same memory: there will be no summary, and no [`flush`](Self::flush).
    pub(crate) fn without_summary(&mut self) {
        self.is_stream = true;
    }

    /// Declares a channel of a topic with a schema of its own.
    pub(crate) fn channel(
        &mut self,
        id: u16,
        topic: &str,
        message_encoding: &str,
        schema: &Schema<'_>,
    ) -> io::Result<()> {
        let mut declared = Vec::new();
        record(&mut declared, 0x03, |out| {
            out.extend(id.to_le_bytes());
            text(out, schema.name);
            text(out, schema.encoding);
            text(out, schema.text);
        });
        record(&mut declared, 0x04, |out| {
            out.extend(id.to_le_bytes());
            out.extend(id.to_le_bytes());
            text(out, topic);
            text(out, message_encoding);
            out.extend(0_u32.to_le_bytes());
        });
        self.declared.extend(&declared);
        self.channels += 1;
        self.append(&declared)
    }

    /// Adds a named list of texts.
    pub(crate) fn metadata(&mut self, name: &str, entries: &[(&str, String)]) -> io::Result<()> {
        self.append(&metadata(name, entries))
    }

    /// Adds a message of a channel, with its `time` in nanoseconds of the system clock. It is in the file once its
    /// chunk is full or [ended](Self::end_chunk), or the file is [flushed](Self::flush).
    pub(crate) fn message(&mut self, channel: u16, time: u64, data: &[u8]) -> io::Result<()> {
        let count = self.counts.entry(channel).or_default();
        let sequence = *count as u32;
        *count += 1;
        self.index.entry(channel).or_default().push((time, self.chunk.len() as u64));
        record(&mut self.chunk, 0x05, |out| {
            out.extend(channel.to_le_bytes());
            out.extend(sequence.to_le_bytes());
            number(out, time);
            number(out, time);
            out.extend(data);
        });
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
        if self.chunk.len() >= CHUNK { self.end_chunk() } else { Ok(()) }
    }

    /// Returns the number of bytes that the file would have if it ended here, about.
    pub(crate) fn bytes(&self) -> u64 {
        // An entry of an index has 16 bytes. The summary has what was declared, and at most 512 bytes of each chunk.
        let index = 16 * self.index.values().map(Vec::len).sum::<usize>() as u64;
        let summary = self.declared.len() as u64 + 512 * (self.places.len() as u64 + 2);
        self.end + self.chunk.len() as u64 + index + summary
    }

    /// Writes the messages that are not in the file yet as a chunk, with its indices. Does nothing if there are none.
    pub(crate) fn end_chunk(&mut self) -> io::Result<()> {
        let Some(times) = self.times.take() else { return Ok(()) };
        let chunk = std::mem::take(&mut self.chunk);
        let mut written = Vec::with_capacity(chunk.len() + 1024);
        record(&mut written, 0x06, |out| {
            number(out, times.0);
            number(out, times.1);
            number(out, chunk.len() as u64);
            out.extend(checksum(&chunk).to_le_bytes());
            text(out, "");
            number(out, chunk.len() as u64);
            out.extend(&chunk);
        });
        let start = self.end;
        let length = written.len() as u64;
        let mut indices = Vec::new();
        for (channel, mut entries) in std::mem::take(&mut self.index) {
            entries.sort_unstable();
            indices.push((channel, start + written.len() as u64));
            record(&mut written, 0x07, |out| {
                out.extend(channel.to_le_bytes());
                out.extend((entries.len() as u32 * 16).to_le_bytes());
                for (time, offset) in &entries {
                    number(out, *time);
                    number(out, *offset);
                }
            });
        }
        let indices_length = written.len() as u64 - length;
        self.append(&written)?;
        let size = chunk.len() as u64;
        if !self.is_stream {
            self.places.push(ChunkPlace { times, start, length, indices, indices_length, size });
        }
        self.chunk = chunk;
        self.chunk.clear();
        Ok(())
    }

    /// Completes the file: writes the last chunk and the summary. Messages that come later overwrite the summary.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.end_chunk()?;
        if self.is_complete {
            return Ok(());
        }
        let mut end = Vec::new();
        record(&mut end, 0x0F, |out| out.extend((!self.sum).to_le_bytes()));
        let summary_start = self.end + end.len() as u64;
        let before = end.len();
        end.extend(&self.declared);
        for place in &self.places {
            record(&mut end, 0x08, |out| {
                for value in [place.times.0, place.times.1, place.start, place.length] {
                    number(out, value);
                }
                out.extend((place.indices.len() as u32 * 10).to_le_bytes());
                for (channel, offset) in &place.indices {
                    out.extend(channel.to_le_bytes());
                    number(out, *offset);
                }
                number(out, place.indices_length);
                text(out, "");
                number(out, place.size);
                number(out, place.size);
            });
        }
        record(&mut end, 0x0B, |out| {
            let times = self.places.iter().map(|place| place.times);
            let times = times.reduce(|all, times| (all.0.min(times.0), all.1.max(times.1))).unwrap_or_default();
            number(out, self.counts.values().sum());
            out.extend((self.channels as u16).to_le_bytes());
            for count in [self.channels, 0, 1, self.places.len() as u32] {
                out.extend(count.to_le_bytes());
            }
            number(out, times.0);
            number(out, times.1);
            out.extend((self.counts.len() as u32 * 10).to_le_bytes());
            for (channel, count) in &self.counts {
                out.extend(channel.to_le_bytes());
                number(out, *count);
            }
        });
        // The checksum of the summary covers the footer up to itself.
        let mut footer = Vec::new();
        record(&mut footer, 0x02, |out| {
            number(out, summary_start);
            number(out, 0);
            out.extend([0; 4]);
        });
        end.extend(&footer);
        let at = end.len() - 4;
        let sum = checksum(&end[before..at]);
        end[at..].copy_from_slice(&sum.to_le_bytes());
        end.extend(MAGIC);
        self.store.write_all(&end)?;
        self.store.flush()?;
        self.is_complete = true;
        Ok(())
    }

    /// Appends to the data section.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_complete {
            self.store.cut(self.end)?;
            self.store.seek(SeekFrom::Start(self.end))?;
            self.is_complete = false;
        }
        self.store.write_all(bytes)?;
        self.end += bytes.len() as u64;
        self.sum = add_to_checksum(self.sum, bytes);
        Ok(())
    }
}

/// Returns the CRC-32 of the bytes, as ZIP and MCAP have it.
fn checksum(bytes: &[u8]) -> u32 {
    !add_to_checksum(!0, bytes)
}

/// Returns the state of a CRC-32 after further bytes, from the state `sum` before them. The first state is `!0`; the
/// inverted last one is the checksum.
fn add_to_checksum(sum: u32, bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let mut value = byte as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 { 0xEDB8_8320 ^ (value >> 1) } else { value >> 1 };
                bit += 1;
            }
            table[byte] = value;
            byte += 1;
        }
        table
    };
    bytes.iter().fold(sum, |sum, byte| TABLE[((sum as u8) ^ byte) as usize] ^ (sum >> 8))
}

#[cfg(test)]
mod tests {
    use super::checksum;

    #[test]
    fn checksums_are_those_of_the_standard() {
        assert_eq!(checksum(b"123456789"), 0xCBF4_3926);
        assert_eq!(checksum(b""), 0);
    }
}
