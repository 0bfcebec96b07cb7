//! Messages of an MCAP file, one after the other.
//!
//! A file with a summary is read in the order of the messages' times: a chunk is read once a message of it may be the
//! next. Other files, which are cut off or have no chunks, or whose summary lacks something, are read from the
//! beginning on; only the messages of a chunk are sorted.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::chunk::{content, zstd};
use super::format::{Fields, RECORD_HEADER, kind};
use super::records::{Record, RecordError, Records, read_some};
use super::summary::{Chunk, Summary};

/// The largest record, or content of a chunk, that is read, in bytes.
const RECORD_MAX: u64 = 1 << 30;

/// Bytes of chunks above which no further chunk is read, even if a message of it is earlier than those that are read.
const HELD_MAX: usize = 1 << 30;

/// Nanoseconds behind the last time that is wanted after which a file without an index is not read further. Messages of
/// such a file come about in the order of their times.
const BEHIND_NS: u64 = 10_000_000_000;

/// A channel of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Channel {
    /// Its number in the file.
    pub id: u16,
    /// The topic of its messages.
    pub topic: String,
    /// Encoding of its messages.
    pub encoding: String,
    /// Name of its messages' type; empty if it has no schema.
    pub message_type: String,
    /// What else the writer said of it.
    pub metadata: BTreeMap<String, String>,
}

/// Schemas and channels that a file has declared.
#[derive(Debug, Default)]
pub struct Declared {
    schemas: BTreeMap<u16, String>,
    /// True if a channel was declared before its schema, or without it.
    lacks_schema: bool,
    /// The channels, by their numbers.
    pub channels: BTreeMap<u16, Arc<Channel>>,
}

impl Declared {
    /// Adds a record; `None` if its fields are damaged.
    pub(super) fn add(&mut self, kind: u8, mut fields: Fields<'_>) -> Option<()> {
        let id = fields.u16()?;
        if kind == kind::SCHEMA {
            self.schemas.insert(id, fields.text()?);
            return Some(());
        }
        let schema = fields.u16()?;
        // Channels without a schema have the number 0.
        self.lacks_schema |= schema != 0 && !self.schemas.contains_key(&schema);
        let channel = Channel {
            id,
            topic: fields.text()?,
            encoding: fields.text()?,
            message_type: self.schemas.get(&schema).cloned().unwrap_or_default(),
            metadata: fields.map()?,
        };
        self.channels.insert(id, Arc::new(channel));
        Some(())
    }

    /// Returns true if all of these channels are declared, with their schemas.
    pub(super) fn has<'a>(&self, channels: impl IntoIterator<Item = &'a u16>) -> bool {
        !self.lacks_schema && channels.into_iter().all(|id| self.channels.contains_key(id))
    }

    /// Returns true if a chunk may have messages that are wanted.
    fn is_wanted(&self, wanted: &Wanted, chunk: &Chunk) -> bool {
        let of_wanted = |id: &u16| self.channels.get(id).is_none_or(|of| wanted.takes(of));
        let (from, to) = wanted.times;
        chunk.times.0 <= to
            && chunk.times.1 >= from
            && (chunk.channels.is_empty() || chunk.channels.iter().any(of_wanted))
    }
}

/// A message of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct McapMessage {
    /// The channel.
    pub channel: Arc<Channel>,
    /// Time at which it was recorded, in nanoseconds since 1970.
    pub log_time: u64,
    /// Time at which it was published, in nanoseconds since 1970.
    pub publish_time: u64,
    /// The message as it is encoded.
    pub payload: Bytes,
}

/// A topic with one type and one encoding of its messages. A file may have several of one topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind<'a> {
    /// The topic.
    pub topic: &'a str,
    /// Name of the type; empty if it is not known.
    pub message_type: &'a str,
    /// Encoding of the messages.
    pub encoding: &'a str,
}

/// The messages that are read: those of some topics, from a time on, and up to a time.
#[derive(Clone)]
pub struct Wanted {
    /// Returns true for the topics.
    pub is_wanted: Arc<dyn Fn(Kind<'_>) -> bool + Send + Sync>,
    /// The first and the last time, in nanoseconds since 1970.
    pub times: (u64, u64),
}

impl Wanted {
    fn takes(&self, channel: &Channel) -> bool {
        let Channel { topic, message_type, encoding, .. } = channel;
        (self.is_wanted)(Kind { topic, message_type, encoding })
    }
}

impl Default for Wanted {
    fn default() -> Self {
        Self { is_wanted: Arc::new(|_| true), times: (0, u64::MAX) }
    }
}

/// A message that was read and waits for its turn: that of its time, its chunk and its place in it.
struct Held((u64, u64, u64), McapMessage);

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// A file, or its bytes.
pub trait Source: Read + Seek + Send {}

impl<S: Read + Seek + Send> Source for S {}

enum Way {
    /// Chunks that are not read yet, the next one last.
    Indexed(Box<dyn Source>, Vec<Chunk>),
    Linear(Records<Box<dyn Read + Send>>),
    Ended,
}

/// Damage of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// Description of the damage, which continues a sentence about the file.
    pub text: String,
    /// If nothing can be read behind the damage, the number of messages before it.
    pub after: Option<u64>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.after {
            Some(messages) => write!(f, "{}, after {messages} messages", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// Messages of a file. An item that is an error is damage; what follows it is what can be read behind the damage.
pub struct McapMessages {
    way: Way,
    declared: Declared,
    wanted: Wanted,
    held: BinaryHeap<Reverse<Held>>,
    /// By the place of a chunk, the number of its messages that are held, and its bytes. A message keeps all of them.
    chunks: BTreeMap<u64, (usize, usize)>,
    held_bytes: usize,
    /// Number of messages that were read.
    messages: u64,
}

impl McapMessages {
    /// Opens a file. Its name may end in `.zstd`, as that of one that rosbag2 has compressed as a whole.
    ///
    /// # Errors
    /// If it cannot be read. Damage is no error: see the items.
    pub fn open(path: &Path, wanted: Wanted) -> io::Result<Self> {
        let file = File::open(path)?;
        if path.extension().is_some_and(|ending| ending == "zstd") {
            let from: Box<dyn Read + Send> = Box::new(BufReader::new(zstd(file)?));
            let way = Way::Linear(Records::new(from, u64::MAX, RECORD_MAX));
            return Ok(Self::new(way, Declared::default(), wanted));
        }
        Self::of(Box::new(file), wanted)
    }

    /// Reads the messages of a file that is not compressed as a whole.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(mut file: Box<dyn Source>, wanted: Wanted) -> io::Result<Self> {
        let mut declared = Declared::default();
        if let Some(summary) = Summary::read(&mut file)?.filter(Summary::is_complete) {
            declared = summary.declared;
            let mut chunks = summary.chunks;
            if !chunks.is_empty() {
                chunks.sort_by_key(|chunk| Reverse((chunk.times.0, chunk.at)));
                return Ok(Self::new(Way::Indexed(file, chunks), declared, wanted));
            }
        }
        let rest = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(0))?;
        let from: Box<dyn Read + Send> = Box::new(BufReader::with_capacity(1 << 18, file));
        Ok(Self::new(Way::Linear(Records::new(from, rest, RECORD_MAX)), declared, wanted))
    }

    fn new(way: Way, declared: Declared, wanted: Wanted) -> Self {
        Self { way, declared, wanted, held: BinaryHeap::new(), chunks: BTreeMap::new(), held_bytes: 0, messages: 0 }
    }

    /// Returns the schemas and channels that were read so far.
    pub const fn declared(&self) -> &Declared {
        &self.declared
    }

    fn pop(&mut self) -> Option<McapMessage> {
        let Reverse(Held((_, at, _), message)) = self.held.pop()?;
        if let Some((messages, bytes)) = self.chunks.get_mut(&at) {
            *messages -= 1;
            if *messages == 0 {
                self.held_bytes -= *bytes;
                self.chunks.remove(&at);
            }
        }
        self.messages += 1;
        Some(message)
    }

    /// Reads the content of a chunk.
    fn add_chunk(&mut self, chunk: Vec<u8>, at: u64) -> Result<(), String> {
        let damaged = || format!("has a damaged chunk at byte {at}");
        let content = content(&Bytes::from(chunk), RECORD_MAX);
        let content = content.map_err(|reason| format!("has a chunk at byte {at} that {reason}"))?;
        let mut rest = Fields(&content);
        let mut place = 0;
        while !rest.0.is_empty() {
            let (kind, fields) = rest.record().ok_or_else(damaged)?;
            match kind {
                kind::SCHEMA | kind::CHANNEL => self.declared.add(kind, fields).ok_or_else(damaged)?,
                kind::MESSAGE => {
                    let message = self.message(fields, |payload| content.slice_ref(payload)).ok_or_else(damaged)?;
                    if let Some(message) = message {
                        if !self.chunks.contains_key(&at) {
                            self.held_bytes += content.len();
                        }
                        self.chunks.entry(at).or_insert((0, content.len())).0 += 1;
                        self.held.push(Reverse(Held((message.log_time, at, place), message)));
                    }
                    place += 1;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns a message from the fields of its record, and `Some(None)` if it is not wanted.
    fn message(&self, mut fields: Fields<'_>, share: impl FnOnce(&[u8]) -> Bytes) -> Option<Option<McapMessage>> {
        let channel = fields.u16()?;
        fields.u32()?;
        let (log_time, publish_time) = (fields.u64()?, fields.u64()?);
        let channel = self.declared.channels.get(&channel)?;
        let (from, to) = self.wanted.times;
        if log_time < from || log_time > to || !self.wanted.takes(channel) {
            return Some(None);
        }
        let channel = Arc::clone(channel);
        Some(Some(McapMessage { channel, log_time, publish_time, payload: share(fields.0) }))
    }
}

impl Iterator for McapMessages {
    type Item = Result<McapMessage, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let first = self.held.peek().map(|Reverse(held)| held.0.0);
            match &mut self.way {
                Way::Ended => return self.pop().map(Ok),
                Way::Indexed(file, chunks) => {
                    let Some(next) = chunks.last() else {
                        self.way = Way::Ended;
                        continue;
                    };
                    if self.held_bytes > HELD_MAX || first.is_some_and(|first| first < next.times.0) {
                        return self.pop().map(Ok);
                    }
                    let chunk = chunks.pop()?;
                    if !self.declared.is_wanted(&self.wanted, &chunk) {
                        continue;
                    }
                    let record = read_chunk(file, &chunk);
                    if let Err(text) = record.and_then(|record| self.add_chunk(record, chunk.at)) {
                        return Some(Err(Damage { text, after: None }));
                    }
                }
                Way::Linear(linear) => {
                    if first.is_some() {
                        return self.pop().map(Ok);
                    }
                    match linear.next_of(is_of_messages) {
                        Ok(Some(record)) => {
                            if let Some(item) = self.add_record(record) {
                                return Some(item);
                            }
                        }
                        Ok(None) => self.way = Way::Ended,
                        Err(reason) => {
                            self.way = Way::Ended;
                            return Some(Err(self.end_of(&reason)));
                        }
                    }
                }
            }
        }
    }
}

impl McapMessages {
    /// Returns the damage behind which nothing can be read.
    fn end_of(&self, reason: &RecordError) -> Damage {
        let after = if matches!(reason, RecordError::NoMcap) { None } else { Some(self.messages) };
        Damage { text: reason.to_string(), after }
    }

    /// Adds a record of a file that is read from the beginning. Returns its message, or its damage.
    fn add_record(&mut self, record: Record) -> Option<Result<McapMessage, Damage>> {
        let Record { kind, fields, at } = record;
        let damaged = |text| Some(Err(Damage { text, after: None }));
        // The time of a message is behind its channel and its number, that of a chunk is its first field.
        let time = Fields(fields.get(if kind == kind::MESSAGE { 6 } else { 0 }..).unwrap_or_default()).u64();
        if matches!(kind, kind::CHUNK | kind::MESSAGE) && time > Some(self.wanted.times.1.saturating_add(BEHIND_NS)) {
            self.way = Way::Ended;
            return None;
        }
        match kind {
            kind::SCHEMA | kind::CHANNEL => match self.declared.add(kind, Fields(&fields)) {
                Some(()) => None,
                None => damaged(format!("has a damaged record at byte {at}")),
            },
            kind::CHUNK => match self.add_chunk(fields, at) {
                Ok(()) => None,
                Err(text) => damaged(text),
            },
            _ => {
                let record = Bytes::from(fields);
                let Some(message) = self.message(Fields(&record), |payload| record.slice_ref(payload)) else {
                    return damaged(format!("has a damaged record at byte {at}"));
                };
                if message.is_some() {
                    self.messages += 1;
                }
                message.map(Ok)
            }
        }
    }
}

/// Returns true for records that have to do with messages.
const fn is_of_messages(kind: u8) -> bool {
    matches!(kind, kind::SCHEMA | kind::CHANNEL | kind::MESSAGE | kind::CHUNK)
}

/// Returns the fields of a chunk's record.
fn read_chunk(file: &mut impl Source, chunk: &Chunk) -> Result<Vec<u8>, String> {
    let failed = |reason: io::Error| format!("has an unreadable chunk at byte {}: {reason}", chunk.at);
    let header = RECORD_HEADER as u64;
    if chunk.length < header || chunk.length > RECORD_MAX {
        return Err(format!("has a damaged index of its chunk at byte {}", chunk.at));
    }
    let mut begin = [0; RECORD_HEADER];
    file.seek(SeekFrom::Start(chunk.at)).map_err(failed)?;
    file.read_exact(&mut begin).map_err(failed)?;
    if begin[0] != kind::CHUNK {
        return Err(format!("has no chunk at byte {}, although its index says so", chunk.at));
    }
    read_some(file, chunk.length - header).map_err(failed)
}
