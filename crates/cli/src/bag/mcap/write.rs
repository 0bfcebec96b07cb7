//! Writer of one MCAP file, as rosbag2's storage plugin writes it: chunks with an index, schemas and channels in the
//! chunk of their first message, and a summary.
//!
//! A file is whole up to its last chunk at any time. On a full disk the part of a chunk that was written is cut off,
//! and the summary takes the place of the last chunks if there is no room for it elsewhere.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use rospin_trace::mcap::format::{MAGIC, kind, put_bytes, put_map, put_text, put_u64, record};

use super::compression::Compression;

/// The arrangement of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Bytes of messages after which a chunk is full; 0 writes messages without chunks, and thus without an index.
    pub(crate) chunk_bytes: usize,
    pub(crate) compression: Compression,
}

impl Default for Layout {
    fn default() -> Self {
        // A full disk costs one chunk. Smaller ones would compress less.
        Self { chunk_bytes: 1 << 18, compression: Compression::None }
    }
}

/// Numbers of messages, by channel.
pub(crate) type Counts = BTreeMap<u16, u64>;

/// A chunk that is being filled.
#[derive(Default)]
struct Chunk {
    records: Vec<u8>,
    /// Time and place in the chunk of each message, by channel.
    index: BTreeMap<u16, Vec<(u64, u64)>>,
    times: Option<(u64, u64)>,
}

/// Place of a chunk in the file.
struct Place {
    times: (u64, u64),
    start: u64,
    length: u64,
    /// For each channel the place of its index, and the number of its messages.
    indices: Vec<(u16, u64, u64)>,
    indices_length: u64,
    size: u64,
    compressed: u64,
}

/// Messages that could not be written, and the reason.
#[derive(Debug)]
pub(crate) struct Unwritten {
    pub(crate) reason: io::Error,
    pub(crate) lost: Counts,
}

/// Writer of an MCAP file.
pub(crate) struct McapFile {
    file: File,
    layout: Layout,
    /// Length of the file up to which everything is whole.
    end: u64,
    schemas: Vec<Vec<u8>>,
    channels: Vec<Vec<u8>>,
    chunk: Chunk,
    places: Vec<Place>,
    /// Counts and times of messages outside of chunks.
    loose: Counts,
    loose_times: Option<(u64, u64)>,
}

fn widen(times: &mut Option<(u64, u64)>, (first, last): (u64, u64)) {
    *times = Some(times.map_or((first, last), |(a, b)| (a.min(first), b.max(last))));
}

impl McapFile {
    /// Creates the file, which must not be there.
    pub(crate) fn create(path: &Path, layout: Layout) -> io::Result<Self> {
        let file = File::options().write(true).create_new(true).open(path)?;
        let mut begin = MAGIC.to_vec();
        record(&mut begin, kind::HEADER, |out| {
            put_text(out, "ros2");
            put_text(out, "rospin");
        });
        let mut new = Self {
            file,
            layout,
            end: 0,
            schemas: Vec::new(),
            channels: Vec::new(),
            chunk: Chunk::default(),
            places: Vec::new(),
            loose: Counts::new(),
            loose_times: None,
        };
        new.put(&[&begin])?;
        Ok(new)
    }

    /// Writes the bytes behind what is whole. If that fails, the file is as before.
    fn put(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let mut written = self.file.seek(SeekFrom::Start(self.end)).map(drop);
        for part in parts {
            written = written.and_then(|()| self.file.write_all(part));
        }
        if written.is_err() {
            let _ = self.file.set_len(self.end);
        } else {
            self.end += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        }
        written
    }

    /// Writes the declaration of a schema or a channel: into the chunk, or into the file.
    fn declare(&mut self, declaration: &[u8]) -> io::Result<()> {
        if self.layout.chunk_bytes == 0 {
            return self.put(&[declaration]);
        }
        self.chunk.records.extend(declaration);
        Ok(())
    }

    /// Adds a schema, and returns its id; `None` if there are as many as the format has ids for.
    pub(crate) fn add_schema(&mut self, name: &str, encoding: &str, text: &str) -> io::Result<Option<u16>> {
        // Zero means that a channel has no schema.
        let Ok(id) = u16::try_from(self.schemas.len() + 1) else { return Ok(None) };
        let mut declaration = Vec::new();
        record(&mut declaration, kind::SCHEMA, |out| {
            out.extend(id.to_le_bytes());
            put_text(out, name);
            put_text(out, encoding);
            put_text(out, text);
        });
        self.declare(&declaration)?;
        self.schemas.push(declaration);
        Ok(Some(id))
    }

    /// Adds a channel of messages in that encoding, and returns its id; `None` if there are as many as the format has
    /// ids for.
    pub(crate) fn add_channel(
        &mut self,
        schema: u16,
        topic: &str,
        encoding: &str,
        metadata: &[(&str, &str)],
    ) -> io::Result<Option<u16>> {
        let Ok(id) = u16::try_from(self.channels.len()) else { return Ok(None) };
        let mut declaration = Vec::new();
        record(&mut declaration, kind::CHANNEL, |out| {
            out.extend(id.to_le_bytes());
            out.extend(schema.to_le_bytes());
            put_text(out, topic);
            put_text(out, encoding);
            put_map(out, metadata);
        });
        self.declare(&declaration)?;
        self.channels.push(declaration);
        Ok(Some(id))
    }

    /// Adds a record of metadata, by its fields.
    pub(crate) fn add_metadata(&mut self, fields: &[u8]) -> io::Result<()> {
        let mut metadata = Vec::new();
        record(&mut metadata, kind::METADATA, |out| out.extend(fields));
        self.put(&[&metadata])
    }

    /// Adds a message. It is in the file once its chunk is, see [`flush`](Self::flush).
    pub(crate) fn write(
        &mut self,
        channel: u16,
        number: u32,
        log_time: u64,
        publish_time: u64,
        payload: &[u8],
    ) -> Result<(), Unwritten> {
        let mut header = [0; 31];
        header[0] = kind::MESSAGE;
        header[1..9].copy_from_slice(&(payload.len() as u64 + 22).to_le_bytes());
        header[9..11].copy_from_slice(&channel.to_le_bytes());
        header[11..15].copy_from_slice(&number.to_le_bytes());
        header[15..23].copy_from_slice(&log_time.to_le_bytes());
        header[23..31].copy_from_slice(&publish_time.to_le_bytes());
        if self.layout.chunk_bytes == 0 {
            let written = self.put(&[&header, payload]);
            written.map_err(|reason| Unwritten { reason, lost: Counts::from([(channel, 1)]) })?;
            *self.loose.entry(channel).or_default() += 1;
            widen(&mut self.loose_times, (log_time, log_time));
            return Ok(());
        }
        let at = self.chunk.records.len() as u64;
        self.chunk.records.extend(header);
        self.chunk.index.entry(channel).or_default().push((log_time, at));
        widen(&mut self.chunk.times, (log_time, log_time));
        if payload.len() >= self.layout.chunk_bytes && self.layout.compression == Compression::None {
            // It is not copied.
            return self.flush_with(payload);
        }
        self.chunk.records.extend(payload);
        if self.chunk.records.len() >= self.layout.chunk_bytes { self.flush() } else { Ok(()) }
    }

    /// Writes the messages that wait for their chunk to be full.
    pub(crate) fn flush(&mut self) -> Result<(), Unwritten> {
        self.flush_with(&[])
    }

    /// Writes the chunk, which ends with these bytes.
    fn flush_with(&mut self, end: &[u8]) -> Result<(), Unwritten> {
        let mut chunk = std::mem::take(&mut self.chunk);
        if chunk.records.is_empty() {
            return Ok(());
        }
        let written = self.put_chunk(&mut chunk, end);
        // Its memory serves the next chunk, unless one large message would keep it forever.
        if chunk.records.capacity() <= 8 * self.layout.chunk_bytes {
            chunk.records.clear();
            self.chunk.records = chunk.records;
        }
        let lost = || chunk.index.iter().map(|(channel, entries)| (*channel, entries.len() as u64)).collect();
        written.map_err(|reason| Unwritten { reason, lost: lost() })
    }

    fn put_chunk(&mut self, chunk: &mut Chunk, end: &[u8]) -> io::Result<()> {
        let compressed = self.layout.compression.compress(&chunk.records)?;
        let content: &[u8] = compressed.as_deref().unwrap_or(&chunk.records);
        let content_length = (content.len() + end.len()) as u64;
        let size = (chunk.records.len() + end.len()) as u64;
        let times = chunk.times.unwrap_or_default();
        let name = self.layout.compression.name();
        let mut begin = vec![kind::CHUNK];
        put_u64(&mut begin, 8 + 8 + 8 + 4 + 4 + name.len() as u64 + 8 + content_length);
        put_u64(&mut begin, times.0);
        put_u64(&mut begin, times.1);
        put_u64(&mut begin, size);
        // As rosbag2's, without a checksum.
        begin.extend(0_u32.to_le_bytes());
        put_text(&mut begin, name);
        put_u64(&mut begin, content_length);
        let start = self.end;
        let length = begin.len() as u64 + content_length;
        let mut indices = Vec::with_capacity(chunk.index.len());
        let mut rear = Vec::new();
        for (channel, entries) in &mut chunk.index {
            indices.push((*channel, start + length + rear.len() as u64, entries.len() as u64));
            // Readers expect them in the order of their times.
            entries.sort_by_key(|(time, _)| *time);
            let mut list = Vec::with_capacity(16 * entries.len());
            for (time, at) in &*entries {
                put_u64(&mut list, *time);
                put_u64(&mut list, *at);
            }
            record(&mut rear, kind::MESSAGE_INDEX, |out| {
                out.extend(channel.to_le_bytes());
                put_bytes(out, &list);
            });
        }
        let place = Place {
            times,
            start,
            length,
            indices,
            indices_length: rear.len() as u64,
            size,
            compressed: content_length,
        };
        self.put(&[&begin, content, end, &rear])?;
        self.places.push(place);
        Ok(())
    }

    /// Returns the length of the file as it would be without a summary now.
    pub(crate) fn length(&self) -> u64 {
        self.end + self.chunk.records.len() as u64
    }

    /// Returns true if messages wait for their chunk to be full.
    pub(crate) fn has_unflushed(&self) -> bool {
        !self.chunk.index.is_empty()
    }

    /// Returns the numbers of messages that are in the file, by channel.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = self.loose.clone();
        for place in &self.places {
            for (channel, _, count) in &place.indices {
                *counts.entry(*channel).or_default() += count;
            }
        }
        counts
    }

    /// Returns the times of the first and the last message that is in the file.
    pub(crate) fn times(&self) -> Option<(u64, u64)> {
        let mut times = self.loose_times;
        for place in self.places.iter().filter(|place| !place.indices.is_empty()) {
            widen(&mut times, place.times);
        }
        times
    }

    /// Writes the summary. `described` returns the text of the metadata record, by the content of the file. If the disk
    /// is full, the last chunks make room, and their messages are lost.
    pub(crate) fn finish(&mut self, described: impl Fn(&Self) -> String) -> Result<Counts, Unwritten> {
        let mut lost = Counts::new();
        loop {
            let Err(reason) = self.put_summary(&described(self)) else { return Ok(lost) };
            if !is_full(&reason) || !self.give_room(&mut lost) {
                return Err(Unwritten { reason, lost });
            }
        }
    }

    /// Cuts off the last chunk and what follows it, and counts its messages as lost. Returns false if no chunk is left.
    pub(crate) fn give_room(&mut self, lost: &mut Counts) -> bool {
        let Some(place) = self.places.pop() else { return false };
        self.end = place.start;
        for (channel, _, count) in place.indices {
            *lost.entry(channel).or_default() += count;
        }
        self.file.set_len(self.end).is_ok()
    }

    fn put_summary(&mut self, described: &str) -> io::Result<()> {
        let mut out = Vec::new();
        let metadata_at = self.end;
        record(&mut out, kind::METADATA, |out| {
            put_text(out, "rosbag2");
            put_map(out, &[("serialized_metadata", described)]);
        });
        let metadata_length = out.len() as u64;
        record(&mut out, kind::DATA_END, |out| out.extend(0_u32.to_le_bytes()));
        let summary = out.len();
        let mut groups = Vec::new();
        let mut group = |out: &mut Vec<u8>, kind: u8, fill: &dyn Fn(&mut Vec<u8>)| {
            let at = out.len();
            fill(out);
            if out.len() > at {
                groups.push((kind, at as u64, (out.len() - at) as u64));
            }
        };
        group(&mut out, kind::SCHEMA, &|out| self.schemas.iter().for_each(|schema| out.extend(schema)));
        group(&mut out, kind::CHANNEL, &|out| self.channels.iter().for_each(|channel| out.extend(channel)));
        group(&mut out, kind::STATISTICS, &|out| self.statistics(out));
        group(&mut out, kind::CHUNK_INDEX, &|out| {
            self.places.iter().for_each(|place| place.index(out, self.layout.compression));
        });
        group(&mut out, kind::METADATA_INDEX, &|out| {
            record(out, kind::METADATA_INDEX, |out| {
                put_u64(out, metadata_at);
                put_u64(out, metadata_length);
                put_text(out, "rosbag2");
            });
        });
        let offsets = out.len();
        for (kind_of, at, length) in groups {
            record(&mut out, kind::SUMMARY_OFFSET, |out| {
                out.push(kind_of);
                put_u64(out, self.end + at);
                put_u64(out, length);
            });
        }
        record(&mut out, kind::FOOTER, |out| {
            put_u64(out, metadata_at + summary as u64);
            put_u64(out, metadata_at + offsets as u64);
            out.extend(0_u32.to_le_bytes());
        });
        out.extend(MAGIC);
        let end = self.end;
        let written = self.put(&[&out]);
        // Later data takes the summary's place.
        self.end = end;
        written
    }

    fn statistics(&self, out: &mut Vec<u8>) {
        let counts = self.counts();
        let times = self.times().unwrap_or_default();
        record(out, kind::STATISTICS, |out| {
            put_u64(out, counts.values().sum());
            out.extend((self.schemas.len() as u16).to_le_bytes());
            out.extend((self.channels.len() as u32).to_le_bytes());
            out.extend(0_u32.to_le_bytes());
            out.extend(1_u32.to_le_bytes());
            out.extend((self.places.len() as u32).to_le_bytes());
            put_u64(out, times.0);
            put_u64(out, times.1);
            let mut map = Vec::new();
            for (channel, count) in &counts {
                map.extend(channel.to_le_bytes());
                put_u64(&mut map, *count);
            }
            put_bytes(out, &map);
        });
    }
}

impl Place {
    fn index(&self, out: &mut Vec<u8>, compression: Compression) {
        record(out, kind::CHUNK_INDEX, |out| {
            put_u64(out, self.times.0);
            put_u64(out, self.times.1);
            put_u64(out, self.start);
            put_u64(out, self.length);
            let mut map = Vec::new();
            for (channel, at, _) in &self.indices {
                map.extend(channel.to_le_bytes());
                put_u64(&mut map, *at);
            }
            put_bytes(out, &map);
            put_u64(out, self.indices_length);
            put_text(out, compression.name());
            put_u64(out, self.compressed);
            put_u64(out, self.size);
        });
    }
}

/// Returns true if there is no room for more.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}
