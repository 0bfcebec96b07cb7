//! The trace of a program in the bag: what its executors decide, on the same axis of time as the messages.
//!
//! The program sends its recording through its socket, as it does for `rospin top`. Its channels become topics of the
//! bag as they are, `/rospin/released` and so on, so that the bag is a recording, too.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use rospin_trace::mcap::format::{Fields, kind};
use rospin_trace::mcap::{RecordError, Records, content};
use rospin_trace::places;

use super::Tell;
use super::queue::{Item, Queue, TraceMessage};
use crate::bag::metadata::Topic;

/// The largest record that is read: a chunk of a program has about a MiB.
const RECORD_LIMIT: u64 = 1 << 26;

/// Time within which a program sends what its executors did before.
const TAIL: Duration = Duration::from_millis(500);

/// Reasons for which a program's trace cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TraceError {
    #[error(
        "--trace {0}: no program that can be recorded while it runs; one that calls rospin::init can be, unless ROSPIN_LIVE is 0 for it, \
         and only by its own user or root"
    )]
    Nobody(u32),
    #[error("--trace {0}: {1}")]
    Io(u32, io::Error),
}

/// Connects to the program with that number.
pub(super) fn connect(pid: u32) -> Result<UnixStream, TraceError> {
    let sockets = places::programs().into_iter().filter(|(of, _)| *of == pid);
    let stream = sockets.map(|(_, socket)| places::connect(&socket)).find_map(Result::ok);
    stream.ok_or(TraceError::Nobody(pid))
}

/// A trace that is recorded.
pub(super) struct Trace {
    stream: UnixStream,
    thread: JoinHandle<()>,
    refused: Arc<AtomicU64>,
}

impl Trace {
    /// Asks the program at the other end of the stream, which has that number, for its trace, and puts it into the
    /// queue.
    pub(super) fn start(mut stream: UnixStream, pid: u32, queue: Arc<Queue>, tell: Tell) -> Result<Self, TraceError> {
        let failed = |reason| TraceError::Io(pid, reason);
        stream.write_all(b"live\n").map_err(failed)?;
        let read = stream.try_clone().map_err(failed)?;
        let refused = Arc::<AtomicU64>::default();
        let reader =
            Reader { queue, refused: Arc::clone(&refused), channels: BTreeMap::new(), schemas: BTreeMap::new() };
        let run = move || tell(&format!("The trace of process {pid} ends: {}", reader.run(read)));
        let thread = thread::Builder::new().name("bag trace".to_owned()).spawn(run).map_err(failed)?;
        Ok(Self { stream, thread, refused })
    }

    /// Waits for what the program has not sent yet, and ends the trace. Returns the number of events for which the queue
    /// had no room.
    pub(super) fn finish(self) -> u64 {
        thread::sleep(TAIL);
        // It fails only if the program has ended.
        let _ = self.stream.shutdown(Shutdown::Both);
        // A panic there has been printed.
        let _ = self.thread.join();
        self.refused.load(Ordering::Relaxed)
    }
}

/// Returns true for a topic of a trace, which is not for nodes.
pub(crate) fn is_trace(topic: &Topic) -> bool {
    let is_event = topic.message_type.starts_with("rospin_trace/msg/") || topic.message_type == "rospin.Name";
    topic.name.starts_with("/rospin/") && is_event
}

/// A channel of the program's recording.
struct Channel {
    topic: Topic,
    /// Text of its schema.
    definition: String,
    /// True once the queue has it.
    is_told: bool,
}

/// Reader of what the program sends.
struct Reader {
    queue: Arc<Queue>,
    refused: Arc<AtomicU64>,
    channels: BTreeMap<u16, Channel>,
    /// Name and text of each schema.
    schemas: BTreeMap<u16, (String, String)>,
}

impl Reader {
    /// Reads until the end, and returns its reason.
    fn run(mut self, stream: UnixStream) -> String {
        let mut records = Records::new(BufReader::new(stream), u64::MAX, RECORD_LIMIT);
        loop {
            let record = match records.next_of(|_| true) {
                Ok(Some(record)) => record,
                Ok(None) | Err(RecordError::Cut) => return "the program or the recording has ended".to_owned(),
                Err(RecordError::NoMcap) => return "the program refuses it; too many watch it already".to_owned(),
                Err(error) => return format!("what it sends {error}"),
            };
            let taken = match record.kind {
                kind::CHUNK => match content(&Bytes::from(record.fields), RECORD_LIMIT) {
                    Ok(content) => self.chunk(&content),
                    Err(reason) => return format!("a chunk that it sends {reason}"),
                },
                kind::METADATA => {
                    self.queue.push(Item::Metadata(record.fields));
                    Some(())
                }
                other => self.record(other, Fields(&record.fields)),
            };
            if taken.is_none() {
                return "what it sends is damaged".to_owned();
            }
        }
    }

    /// Takes the records of a chunk; `None` if one is damaged.
    fn chunk(&mut self, content: &[u8]) -> Option<()> {
        let mut rest = Fields(content);
        while !rest.0.is_empty() {
            let (kind, fields) = rest.record()?;
            self.record(kind, fields)?;
        }
        Some(())
    }

    fn record(&mut self, kind: u8, mut fields: Fields<'_>) -> Option<()> {
        match kind {
            kind::SCHEMA => {
                let id = fields.u16()?;
                let name = fields.text()?;
                let _encoding = fields.text()?;
                self.schemas.insert(id, (name, fields.text()?));
            }
            kind::CHANNEL => {
                let id = fields.u16()?;
                let (message_type, definition) = self.schemas.get(&fields.u16()?).cloned().unwrap_or_default();
                let name = fields.text()?;
                let topic = Topic { name, message_type, format: fields.text()?, ..Topic::default() };
                self.channels.insert(id, Channel { topic, definition, is_told: false });
            }
            kind::MESSAGE => {
                let channel = fields.u16()?;
                let number = fields.u32()?;
                let log_time = fields.u64()?;
                let publish_time = fields.u64()?;
                self.message(
                    channel,
                    TraceMessage { channel, number, log_time, publish_time, payload: fields.0.to_vec() },
                );
            }
            _ => {}
        }
        Some(())
    }

    fn message(&mut self, id: u16, mut message: TraceMessage) {
        let Some(channel) = self.channels.get_mut(&id) else { return };
        if channel.topic.format == "json" {
            // Names are there from the start of the machine on, which is no time of the bag.
            let now = super::nanoseconds(SystemTime::now());
            (message.log_time, message.publish_time) = (now, now);
        }
        if !channel.is_told {
            channel.is_told = true;
            self.queue.push(Item::TraceTopic(id, channel.topic.clone(), channel.definition.clone()));
        }
        if !self.queue.push_trace(message) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
    }
}
