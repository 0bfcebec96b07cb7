//! Sink of recordings: a file that grows.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rospin_core::recording::{Definition, KINDS, Sink, Words};

use crate::container::{Container, Schema, Store};
use crate::handover::are_of_snapshots;
use crate::names::{self, Name};

/// Version of the file format. A change of the numbers or fields of events makes a new one.
pub const VERSION: u32 = 1;
/// Number of the MCAP channel of names. The channel of a kind of event has the sum of this number and that of the kind.
pub(crate) const NAMES: u16 = 1;
/// Age at which a chunk is written even if it is not full: the time by which the file is behind the program.
pub(crate) const CHUNK_AGE: Duration = Duration::from_secs(1);

/// Number of batches of snapshots that wait for a first event, at most.
const EARLY: usize = 1_000;

/// Number of bytes of an event in the file: the header of CDR, six words of 8 bytes, and the thread.
pub(crate) const EVENT_BYTES: usize = 4 + 6 * 8 + 4;

/// Writer of a recording.
pub(crate) struct TraceWriter<S: Store> {
    container: Container<S>,
    offset_ns: i64,
}

/// Description of the process that is recorded.
#[derive(Clone, Debug)]
pub struct ProcessName {
    /// The name of the program.
    pub name: String,
    /// The number of the process in the kernel.
    pub process: u32,
    /// The name of the machine.
    pub host: String,
    /// Time of the system clock minus that of the steady clock, in nanoseconds.
    pub system_offset_ns: i64,
}

impl ProcessName {
    /// Returns the description of this process. `steady_ns` is the present time of the steady clock, in nanoseconds.
    #[must_use]
    pub fn of_this(steady_ns: u64) -> Self {
        let program = std::env::args_os().next().map(PathBuf::from);
        let name = program.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
        let system = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let system_offset_ns = i64::try_from(system).unwrap_or(0).saturating_sub_unsigned(steady_ns);
        Self { name: name.unwrap_or_default(), process: std::process::id(), host, system_offset_ns }
    }

    /// Returns the description as a message of the channel of names.
    pub(crate) fn to_name(&self) -> Name {
        let Self { name, process, host, system_offset_ns } = self.clone();
        Name::Process { name, process, host, system_offset_ns }
    }
}

/// Returns the definition, as in a `.msg` file, of the message that has a kind of event. `small` and `fields` are the
/// names of the kind's own fields: an 8-bit one, and four 64-bit ones.
fn schema(small: &str, fields: [&str; 4]) -> String {
    let [a, b, c, d] = fields;
    format!(
        "uint64 time_ns\nuint8 kind\nuint8 {small}\nuint16 executor\nuint32 segment\nuint64 {a}\nuint64 {b}\n\
         uint64 {c}\n\
         uint64 {d}\nuint32 thread\n"
    )
}

/// Returns the message type of a kind of event: `rospin_trace/msg/Released` for `released`.
fn type_name(kind: &str) -> String {
    let words = kind.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
    format!("rospin_trace/msg/{}", words.collect::<String>())
}

impl<S: Store> TraceWriter<S> {
    /// Begins a recording of the process. `part` is the number of the file if the recording has several, from 1.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn new(store: S, process: &ProcessName, part: Option<u32>) -> io::Result<Self> {
        let mut container = Container::new(store)?;
        let mut about = vec![("version", VERSION.to_string()), ("program", process.name.clone())];
        about.extend(part.map(|part| ("part", part.to_string())));
        container.metadata("rospin", &about)?;
        let name = Schema { name: "rospin.Name", encoding: "jsonschema", text: names::SCHEMA };
        container.channel(NAMES, "/rospin/names", "json", &name)?;
        for (kind, name, small, fields) in KINDS {
            let schema = schema(small, fields);
            let name_of_type = type_name(name);
            let topic = format!("/rospin/{name}");
            let schema = Schema { name: &name_of_type, encoding: "ros2msg", text: &schema };
            container.channel(NAMES + u16::from(kind), &topic, "cdr", &schema)?;
        }
        let mut writer = Self { container, offset_ns: process.system_offset_ns };
        let time = writer.offset_ns.max(0).unsigned_abs();
        writer.name(&process.to_name(), time)?;
        Ok(writer)
    }

    /// Has the recording go on for ever in the same memory, without a summary at its end.
    pub(crate) fn without_summary(&mut self) {
        self.container.without_summary();
    }

    fn name(&mut self, name: &Name, time: u64) -> io::Result<()> {
        self.container.message(NAMES, time, &name.to_json())
    }

    /// Writes a definition into the channel of names. Does nothing if that kind of definition has no [`Name`].
    pub(crate) fn define(&mut self, definition: &Definition) -> io::Result<()> {
        let time = self.offset_ns.max(0).unsigned_abs();
        Name::of(definition).map_or(Ok(()), |name| self.name(&name, time))
    }

    /// Writes events of a thread.
    pub(crate) fn events(&mut self, thread: u32, events: &[Words]) -> io::Result<()> {
        let mut message = [0; EVENT_BYTES];
        // CDR in little-endian order. All fields are at multiples of their sizes.
        message[1] = 1;
        message[EVENT_BYTES - 4..].copy_from_slice(&thread.to_le_bytes());
        for words in events {
            for (place, word) in message[4..].chunks_exact_mut(8).zip(words) {
                place.copy_from_slice(&word.to_le_bytes());
            }
            let kind = u16::from(words[1] as u8);
            self.container.message(NAMES + kind, words[0].saturating_add_signed(self.offset_ns), &message)?;
        }
        Ok(())
    }

    /// Returns the size that the file would have if it ended here, about.
    pub(crate) fn bytes(&self) -> u64 {
        self.container.bytes()
    }

    pub(crate) fn end_chunk(&mut self) -> io::Result<()> {
        self.container.end_chunk()
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.container.flush()
    }
}

/// Sink that writes a recording into a file. The first error of writing ends the recording, and is printed on stderr.
pub struct FileSink {
    path: PathBuf,
    process: ProcessName,
    /// Definitions from before the first event, which are written when it has the file created.
    early: Vec<Definition>,
    /// Snapshots from before the first other event. They alone create no file.
    early_events: Vec<(u32, Vec<Words>)>,
    writer: Option<TraceWriter<File>>,
    /// True if the file could not be created or written.
    is_over: bool,
    chunk_begun: Instant,
}

impl FileSink {
    /// Creates the file at once. It must not be there yet.
    ///
    /// # Errors
    /// If the file cannot be created or written.
    pub fn create(path: &Path, process: &ProcessName) -> io::Result<Self> {
        let mut sink = Self::new(path, process);
        sink.writer = Some(begin(path, process)?);
        Ok(sink)
    }

    /// Returns a sink that creates the file when there is a first event other than of a snapshot, so that processes
    /// that run no callback leave no file. If the file is there already, the number of the process is added to its
    /// name.
    #[must_use]
    pub fn new(path: &Path, process: &ProcessName) -> Self {
        let path = path.to_owned();
        let process = process.clone();
        let early = Vec::new();
        let early_events = Vec::new();
        Self { path, process, early, early_events, writer: None, is_over: false, chunk_begun: Instant::now() }
    }

    /// Creates the file and writes the early definitions, unless this was done or the recording is over.
    fn open(&mut self) {
        if self.writer.is_some() || self.is_over {
            return;
        }
        let begun = match begin(&self.path, &self.process) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.path = beside(&self.path, self.process.process);
                begin(&self.path, &self.process)
            }
            begun => begun,
        };
        match begun {
            Ok(writer) => {
                self.writer = Some(writer);
                for definition in std::mem::take(&mut self.early) {
                    self.define(&definition);
                }
                for (thread, events) in std::mem::take(&mut self.early_events) {
                    self.write(|writer| writer.events(thread, &events));
                }
            }
            Err(error) => {
                self.is_over = true;
                complain(&self.path, &error);
            }
        }
    }

    fn write(&mut self, write: impl FnOnce(&mut TraceWriter<File>) -> io::Result<()>) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(error) = write(writer) {
            complain(&self.path, &error);
            self.writer = None;
            self.is_over = true;
        }
    }
}

fn begin(path: &Path, process: &ProcessName) -> io::Result<TraceWriter<File>> {
    TraceWriter::new(OpenOptions::new().write(true).create_new(true).open(path)?, process, None)
}

/// Returns the path with the number of the process before its ending.
fn beside(path: &Path, process: u32) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
    path.with_file_name(format!("{stem}-{process}{ending}"))
}

#[expect(clippy::print_stderr, reason = "a recording has no other way to tell that it ended")]
pub(crate) fn complain(path: &Path, error: &io::Error) {
    eprintln!("rospin: the recording ends, because {} cannot be written: {error}", path.display());
}

impl Sink for FileSink {
    fn define(&mut self, definition: &Definition) {
        if self.writer.is_none() && !self.is_over {
            self.early.push(definition.clone());
        }
        self.write(|writer| writer.define(definition));
    }

    fn record(&mut self, thread: u32, events: &[Words]) {
        if self.writer.is_none() && self.early_events.len() < EARLY && are_of_snapshots(events) {
            self.early_events.push((thread, events.to_vec()));
            return;
        }
        self.open();
        self.write(|writer| writer.events(thread, events));
    }

    fn flush(&mut self) {
        self.write(TraceWriter::flush);
    }

    fn end_round(&mut self) {
        if self.chunk_begun.elapsed() >= CHUNK_AGE {
            self.chunk_begun = Instant::now();
            self.write(TraceWriter::end_chunk);
        }
    }
}
