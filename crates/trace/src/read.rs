//! Reading of recordings. Of a damaged file, the chunks that are whole are read, and a fault names the place of each
//! missing one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use mcap::records::{Record, op};
use mcap::sans_io::linear_reader::{LinearReadEvent, LinearReader, LinearReaderOptions};
use rospin_core::recording::Words;

use crate::file::{EVENT_BYTES, VERSION};
use crate::lengths;
use crate::recording::{EventSorter, Fault, Recording};

/// The largest record that is read, in bytes. A chunk of a recording has about a MiB.
const RECORD_LIMIT: usize = 1 << 28;
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
        let options = LinearReaderOptions::default()
            .with_emit_chunks(true)
            .with_skip_end_magic(true)
            .with_validate_data_section_crc(true)
            .with_record_length_limit(RECORD_LIMIT);
        let mut reader = LinearReader::new_with_options(options);
        let mut scan = Scan { recording: Self { path: path.to_owned(), ..Self::default() }, ..Scan::default() };
        // The magic bytes at the beginning of the file.
        let mut offset = 8;
        let mut is_finished = false;
        while let Some(event) = reader.next_event() {
            match event {
                Ok(LinearReadEvent::ReadRequest(wanted)) => {
                    let read = file.read(reader.insert(wanted));
                    let read = read.map_err(|reason| ReadError::Io { path: path.to_owned(), reason })?;
                    reader.notify_read(read);
                }
                Ok(LinearReadEvent::Record { data, opcode }) => {
                    is_finished |= opcode == op::FOOTER;
                    scan.record(opcode, data, offset)?;
                    offset += 9 + data.len() as u64;
                }
                Err(mcap::McapError::BadMagic) if offset == 8 => {
                    return Err(ReadError::NoMcap { path: path.to_owned() });
                }
                Err(_) if scan.is_summary => break,
                Err(error) => {
                    scan.fault(offset, format!("{}; what follows is missing", plain(&error)));
                    is_finished = true;
                    break;
                }
            }
        }
        if !is_finished && !scan.is_summary {
            scan.fault(
                offset,
                "the file ends here without its end: the program was killed, or it still runs".to_owned(),
            );
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

/// Returns the error as a message for the user.
fn plain(error: &mcap::McapError) -> String {
    match error {
        mcap::McapError::UnexpectedEof => "the file is cut off within a record".to_owned(),
        mcap::McapError::BadMagic => "the file is no MCAP file".to_owned(),
        mcap::McapError::Parse(_) => "a record cannot be parsed".to_owned(),
        mcap::McapError::UnsupportedCompression(name) => {
            format!("a chunk is compressed with {name}; decompress the file with `mcap decompress`")
        }
        other => other.to_string(),
    }
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
    is_summary: bool,
    is_full: bool,
}

impl Scan {
    fn fault(&mut self, offset: u64, text: String) {
        if self.recording.faults.len() < FAULT_LIMIT {
            self.recording.faults.push(Fault { offset, text });
        }
    }

    fn record(&mut self, opcode: u8, data: &[u8], offset: u64) -> Result<(), ReadError> {
        if opcode == op::DATA_END {
            self.is_summary = true;
        }
        if self.is_summary {
            return Ok(());
        }
        if !lengths::are_within(opcode, data) {
            let missing = if opcode == op::CHUNK { "the events of this chunk are missing" } else { "it is left out" };
            self.fault(offset, format!("a record cannot be parsed; {missing}"));
            return Ok(());
        }
        match mcap::parse_record(opcode, data) {
            Ok(Record::Chunk { header, data }) => {
                let messages: Result<Vec<Record<'_>>, _> =
                    mcap::read::ChunkReader::new(header, &data).and_then(Iterator::collect);
                match messages {
                    Ok(records) => {
                        for record in &records {
                            self.message(record, offset);
                        }
                    }
                    Err(error) => {
                        self.fault(offset, format!("{}; the events of this chunk are missing", plain(&error)))
                    }
                }
            }
            Ok(Record::Metadata(metadata)) if metadata.name == "rospin" => {
                let version = metadata.metadata.get("version").and_then(|version| version.parse().ok()).unwrap_or(0);
                if version > VERSION {
                    return Err(ReadError::Newer { path: self.recording.path.clone(), version });
                }
                self.recording.part = metadata.metadata.get("part").and_then(|part| part.parse().ok());
            }
            Ok(record) => self.message(&record, offset),
            Err(error) => self.fault(offset, format!("{}; it is left out", plain(&error))),
        }
        Ok(())
    }

    fn message(&mut self, record: &Record<'_>, offset: u64) {
        match record {
            Record::Channel(channel) => _ = self.topics.insert(channel.id, channel.topic.clone()),
            Record::Message { header, data } => {
                let Some(topic) = self.topics.get(&header.channel_id) else { return };
                if topic == "/rospin/names" {
                    match serde_json::from_slice(data) {
                        Ok(name) => self.recording.names.push(name),
                        Err(error) => {
                            self.fault(offset, format!("a name cannot be understood ({error}); it is left out"))
                        }
                    }
                } else if topic.starts_with("/rospin/") {
                    self.event(data, offset);
                }
            }
            _ => {}
        }
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
