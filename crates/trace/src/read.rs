//! Reading of recordings. Of a damaged file, the chunks that are whole are read, and a fault names the place of each
//! missing one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use rospin_core::recording::Words;

use crate::file::{EVENT_BYTES, VERSION};
use crate::mcap::format::{Fields, kind};
use crate::mcap::{self, Record, RecordError, Records};
use crate::recording::{EventSorter, Fault, Recording};

/// The largest record that is read, in bytes. A chunk of a recording has about a MiB.
const RECORD_LIMIT: u64 = 1 << 28;
/// The largest number of events that are read of one file: about ten GiB of memory.
const EVENT_LIMIT: usize = 150_000_000;
/// The largest number of [`Recording::faults`] of one file. Further ones are left out.
const FAULT_LIMIT: usize = 20;

/// Reasons for which a file cannot be read as a recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {reason}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: io::Error,
    },
    /// The file does not begin as an MCAP file.
    #[error(
        "{}: is no recording: it does not begin as an MCAP file; `rospin trace record COMMAND` writes \
         one",
        path.display()
    )]
    NoMcap {
        /// The file.
        path: PathBuf,
    },
    /// The file has no events of rospin.
    #[error("{}: has no events of rospin{reason}; `rospin trace record COMMAND` writes a recording", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Text that continues the error message: the first fault or the topics of the file; empty if there are none.
        reason: String,
    },
    /// The file was written by a later version.
    #[error(
        "{}: has version {version} of the format, and this `rospin` knows {VERSION}; use a later \
         one",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version.
        version: u32,
    },
    /// A trace of ros2_tracing cannot be used.
    #[error("{}: {reason}", path.display())]
    Ros2 {
        /// The trace.
        path: PathBuf,
        /// The reason and the fix, which continue a sentence about the trace.
        reason: String,
    },
    /// A folder has no recordings.
    #[error("{}: the folder has no files that end in .mcap; name a recording", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
}

impl Recording {
    /// Reads the file, or all `.mcap` files of the folder. Files of one recording that follow each other become one,
    /// whose [`path`](Self::path) and [`part`](Self::part) are those of the first.
    ///
    /// # Errors
    /// If a file cannot be read or is no recording. A recording that is damaged or cut off is no error: see
    /// [`faults`](Self::faults).
    pub fn open(path: &Path) -> Result<Vec<Self>, ReadError> {
        let read = |path: &PathBuf| {
            let failed = |reason| ReadError::Io { path: path.clone(), reason };
            Self::read(BufReader::new(File::open(path).map_err(failed)?), path)
        };
        Ok(join(Self::files(path)?.iter().map(read).collect::<Result<_, _>>()?))
    }

    /// Returns the file, or all `.mcap` files of the folder, in the order of their names.
    ///
    /// # Errors
    /// If the folder cannot be read, or has no such files.
    pub fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
        let failed = |reason| ReadError::Io { path: path.to_owned(), reason };
        if !path.is_dir() {
            return Ok(vec![path.to_owned()]);
        }
        let mut files: Vec<PathBuf> = std::fs::read_dir(path)
            .map_err(failed)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|ending| ending == "mcap"))
            .collect();
        files.sort_unstable();
        if files.is_empty() {
            return Err(ReadError::Empty { path: path.to_owned() });
        }
        Ok(files)
    }

    /// Reads a recording from `file`. `path` is the file's path in [`path`](Self::path) and in errors; it is not
    /// opened.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn read(mut file: impl Read, path: &Path) -> Result<Self, ReadError> {
        let mut records = Records::new(&mut file, u64::MAX, RECORD_LIMIT).with_sum();
        let mut scan = Scan { recording: Self { path: path.to_owned(), ..Self::default() }, ..Scan::default() };
        let mut has_end = false;
        loop {
            match records.next_of(|_| true) {
                Ok(Some(record)) => {
                    has_end |= record.kind == kind::DATA_END;
                    scan.record(record)?;
                }
                Ok(None) => break,
                Err(RecordError::NoMcap) => return Err(ReadError::NoMcap { path: path.to_owned() }),
                Err(RecordError::Io(reason)) => return Err(ReadError::Io { path: path.to_owned(), reason }),
                Err(RecordError::Cut) => {
                    let text = "the file ends here without its end: the program was killed, or it still runs";
                    scan.fault(records.at(), text.to_owned());
                    has_end = true;
                    break;
                }
                Err(error) => {
                    scan.fault(records.at(), format!("the file {error}; what follows is missing"));
                    has_end = true;
                    break;
                }
            }
        }
        if !has_end {
            scan.fault(records.at(), "the file ends here without the end of its messages".to_owned());
        }
        scan.finish()
    }
}

/// Puts the parts of a recording together that follow each other. Recordings of one file come first.
fn join(mut recordings: Vec<Recording>) -> Vec<Recording> {
    // By number, because ten thousand files have names of several lengths.
    recordings.sort_by_key(|recording| recording.part);
    let mut joined: Vec<Recording> = Vec::new();
    // The first and the next part of each recording, and its place. The first name describes the process, and so the
    // recording.
    let mut open: Vec<(u32, u32, usize)> = Vec::new();
    for mut recording in recordings {
        let Some(part) = recording.part else {
            joined.push(recording);
            continue;
        };
        let follows = |place: usize| joined[place].names.first() == recording.names.first();
        if let Some((_, next, place)) = open.iter_mut().find(|(_, next, place)| *next == part && follows(*place)) {
            let whole = &mut joined[*place];
            whole.names.append(&mut recording.names);
            whole.faults.append(&mut recording.faults);
            whole.events.append(&mut recording.events);
            *next = part.saturating_add(1);
        } else {
            open.push((part, part.saturating_add(1), joined.len()));
            joined.push(recording);
        }
    }
    for (_, _, place) in open.into_iter().filter(|(first, next, _)| next - first > 1) {
        let mut order = EventSorter::default();
        order.add_all(std::mem::take(&mut joined[place].events));
        joined[place].events = order.finish();
    }
    joined
}

/// Returns the number and the topic of a channel.
pub(crate) fn channel(fields: &mut Fields<'_>) -> Option<(u16, String)> {
    let id = fields.u16()?;
    let _schema = fields.u16()?;
    Some((id, fields.text()?))
}

/// Returns the channel and the payload of a message.
pub(crate) fn message<'a>(fields: &mut Fields<'a>) -> Option<(u16, &'a [u8])> {
    let channel = fields.u16()?;
    let _sequence = fields.u32()?;
    let _times = (fields.u64()?, fields.u64()?);
    Some((channel, fields.0))
}

/// What a recording says of itself.
pub(crate) struct About {
    pub(crate) version: u32,
    /// Number of the file if the recording has several.
    pub(crate) part: Option<u32>,
}

/// Returns what a record of metadata says of the recording; `None` if it says something else.
pub(crate) fn about(fields: &[u8]) -> Option<About> {
    let mut fields = Fields(fields);
    if fields.text()? != "rospin" {
        return None;
    }
    let map = fields.map()?;
    let version = map.get("version").and_then(|version| version.parse().ok()).unwrap_or(0);
    Some(About { version, part: map.get("part").and_then(|part| part.parse().ok()) })
}

/// Returns the words of the event in a message, and the number of its thread; `None` if the message is too short.
pub(crate) fn words_of(data: &[u8]) -> Option<(Words, u32)> {
    let mut words = [0; 6];
    let fields = data.get(4..EVENT_BYTES - 4)?;
    let thread = data.get(EVENT_BYTES - 4..EVENT_BYTES)?;
    for (word, bytes) in words.iter_mut().zip(fields.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().ok()?);
    }
    Some((words, u32::from_le_bytes(thread.try_into().ok()?)))
}

/// A file that is being read.
#[derive(Default)]
struct Scan {
    recording: Recording,
    topics: BTreeMap<u16, String>,
    order: EventSorter,
    is_full: bool,
}

impl Scan {
    fn fault(&mut self, offset: u64, text: String) {
        if self.recording.faults.len() < FAULT_LIMIT {
            self.recording.faults.push(Fault { offset, text });
        }
    }

    fn record(&mut self, record: Record) -> Result<(), ReadError> {
        let Record { kind, fields, at } = record;
        if kind == kind::CHUNK {
            self.chunk(&Bytes::from(fields), at);
            return Ok(());
        }
        if kind == kind::METADATA
            && let Some(about) = about(&fields)
        {
            if about.version > VERSION {
                return Err(ReadError::Newer { path: self.recording.path.clone(), version: about.version });
            }
            self.recording.part = about.part;
            return Ok(());
        }
        if self.message(kind, Fields(&fields), at).is_none() {
            self.fault(at, "a record cannot be parsed; it is left out".to_owned());
        }
        Ok(())
    }

    fn chunk(&mut self, fields: &Bytes, at: u64) {
        let content = match mcap::content(fields, RECORD_LIMIT) {
            Ok(content) => content,
            Err(reason) => return self.fault(at, format!("a chunk {reason}; the events of this chunk are missing")),
        };
        let mut rest = Fields(&content);
        let mut records = Vec::new();
        while !rest.0.is_empty() {
            let Some(record) = rest.record() else {
                return self.fault(at, "a record cannot be parsed; the events of this chunk are missing".to_owned());
            };
            records.push(record);
        }
        for (kind, fields) in records {
            if self.message(kind, fields, at).is_none() {
                self.fault(at, "a record cannot be parsed; it is left out".to_owned());
            }
        }
    }

    /// Takes a channel or a message; `None` if its fields are damaged.
    fn message(&mut self, kind: u8, mut fields: Fields<'_>, at: u64) -> Option<()> {
        match kind {
            kind::CHANNEL => {
                let (id, topic) = channel(&mut fields)?;
                self.topics.insert(id, topic);
            }
            kind::MESSAGE => {
                let (id, data) = message(&mut fields)?;
                let Some(topic) = self.topics.get(&id) else { return Some(()) };
                if topic == "/rospin/names" {
                    match serde_json::from_slice(data) {
                        Ok(name) => self.recording.names.push(name),
                        Err(error) => self.fault(at, format!("a name cannot be understood ({error}); it is left out")),
                    }
                } else if topic.starts_with("/rospin/") {
                    self.event(data, at);
                }
            }
            _ => {}
        }
        Some(())
    }

    fn event(&mut self, data: &[u8], offset: u64) {
        let Some((words, thread)) = words_of(data) else {
            return self
                .fault(offset, format!("an event has {} bytes instead of {EVENT_BYTES}; it is left out", data.len()));
        };
        if self.order.len() >= EVENT_LIMIT {
            if !std::mem::replace(&mut self.is_full, true) {
                self.fault(offset, format!("the file has more than {EVENT_LIMIT} events; the rest is left out"));
            }
            return;
        }
        self.order.add(thread, &words);
    }

    fn finish(mut self) -> Result<Recording, ReadError> {
        if self.order.unknown() > 0 {
            self.fault(
                0,
                format!(
                    "{} events are of kinds that this `rospin` does not know; they are left out",
                    self.order.unknown()
                ),
            );
        }
        if self.recording.names.is_empty() && self.order.len() == 0 {
            let path = self.recording.path;
            let mut topics: Vec<String> = self.topics.into_values().take(5).collect();
            topics.sort_unstable();
            let reason = match (self.recording.faults.first(), topics.is_empty()) {
                (Some(fault), _) => format!(" ({fault})"),
                (None, false) => format!(" (but {}, …)", topics.join(", ")),
                (None, true) => String::new(),
            };
            return Err(ReadError::Foreign { path, reason });
        }
        self.recording.events = self.order.finish();
        Ok(self.recording)
    }
}
