//! A recording as bytes for somebody who watches while the program runs.
//!
//! The bytes are those of a file, without its summary. They wait in a buffer of a fixed size: a watcher who is too slow
//! for it is cut off, and the program never waits.
//!
//! A page of counters in shared memory would have needed a second instrumentation, with a cost for everybody and a
//! fixed list of questions. A watcher gets the events instead, and counts what it wants to know: a program has one sink
//! more while it is watched.

use std::io::{self, Seek, SeekFrom, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rospin_core::recording::{Definition, Sink, Words};

use crate::container::{self, Store};
use crate::file::{ProcessName, TraceWriter};

/// The longest time until events are among the bytes. People look at them, and a round makes some callback wait.
const CHUNK_AGE: Duration = Duration::from_millis(250);

/// The name of the record that ends a stream, and of its entry.
pub(crate) const END: (&str, &str) = ("rospin.end", "reason");

/// State of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// More bytes may come.
    GoesOn,
    /// The program stopped the recording.
    Ended,
    /// The buffer was full, so the recording ends here.
    TooSlow,
}

struct State {
    bytes: Vec<u8>,
    flow: Flow,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    limit: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a stream from which bytes are taken.
pub struct Stream(Arc<Shared>);

impl Stream {
    /// Waits until there are bytes, the recording ends, or `patience` is over. Replaces the contents of `bytes` by the
    /// bytes that there are, which may be none.
    ///
    /// Locks, and blocks for at most `patience`.
    #[must_use]
    pub fn take(&self, bytes: &mut Vec<u8>, patience: Duration) -> Flow {
        bytes.clear();
        let nothing = |state: &mut State| state.bytes.is_empty() && state.flow == Flow::GoesOn;
        let waited = self.0.changed.wait_timeout_while(self.0.lock(), patience, nothing);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut state.bytes, bytes);
        state.flow
    }
}

/// The sink that writes a stream.
pub struct StreamSink {
    /// `None` once nothing more can be written.
    writer: Option<TraceWriter<Pipe>>,
    shared: Arc<Shared>,
    chunk_begun: Instant,
}

impl StreamSink {
    /// Creates a stream of at most `limit` bytes that were not taken yet.
    #[must_use]
    pub fn new(process: &ProcessName, limit: usize) -> (Self, Stream) {
        let state = Mutex::new(State { bytes: Vec::new(), flow: Flow::GoesOn });
        let shared = Arc::new(Shared { state, changed: Condvar::new(), limit });
        let writer = TraceWriter::new(Pipe(Arc::clone(&shared)), process, None).ok();
        let mut sink = Self { writer, shared: Arc::clone(&shared), chunk_begun: Instant::now() };
        if let Some(writer) = &mut sink.writer {
            writer.without_summary();
        }
        (sink, Stream(shared))
    }

    fn write(&mut self, write: impl FnOnce(&mut TraceWriter<Pipe>) -> io::Result<()>) {
        if self.writer.as_mut().is_some_and(|writer| write(writer).is_err()) {
            self.writer = None;
        }
    }
}

impl Sink for StreamSink {
    fn define(&mut self, definition: &Definition) {
        self.write(|writer| writer.define(definition));
    }

    fn record(&mut self, thread: u32, events: &[Words]) {
        self.write(|writer| writer.events(thread, events));
    }

    fn flush(&mut self) {
        self.write(TraceWriter::end_chunk);
    }

    fn patience(&self) -> Duration {
        CHUNK_AGE
    }

    fn end_round(&mut self) {
        // Rounds come a bit early or late.
        if self.chunk_begun.elapsed() >= CHUNK_AGE / 2 {
            self.chunk_begun = Instant::now();
            self.flush();
        }
    }
}

impl Drop for StreamSink {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if state.flow == Flow::GoesOn {
            state.flow = Flow::Ended;
        }
        self.shared.changed.notify_all();
    }
}

/// Returns the record that ends a stream: the watcher is told the reason.
#[must_use]
pub fn end_of_stream(reason: &str) -> Vec<u8> {
    container::metadata(END.0, &[(END.1, reason.to_owned())])
}

/// The end of a stream into which records are written, each as a whole.
struct Pipe(Arc<Shared>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock();
        let has_room = state.bytes.len() + bytes.len() <= self.0.limit;
        if has_room {
            state.bytes.extend(bytes);
        } else {
            state.flow = Flow::TooSlow;
        }
        self.0.changed.notify_all();
        if has_room { Ok(bytes.len()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Pipe {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Store for Pipe {
    fn cut(&mut self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sink(limit: usize) -> (StreamSink, Stream) {
        StreamSink::new(
            &ProcessName { name: "robot".into(), process: 7, host: "here".into(), system_offset_ns: 0 },
            limit,
        )
    }

    #[test]
    fn a_watcher_who_takes_nothing_is_cut_off_at_a_whole_record() {
        let (mut sink, stream) = sink(64 << 10);
        for _ in 0..1_000 {
            sink.record(1, &[[0, 7, 0, 0, 0, 0]; 10]);
            sink.flush();
        }
        let mut bytes = Vec::new();
        assert_eq!(stream.take(&mut bytes, Duration::ZERO), Flow::TooSlow);
        assert!(bytes.len() <= 64 << 10 && bytes.starts_with(b"\x89MCAP0\r\n"), "{} bytes", bytes.len());
        let mut rest = &bytes[8..];
        while !rest.is_empty() {
            let length = u64::from_le_bytes(rest[1..9].try_into().unwrap()) as usize;
            rest = &rest[9 + length..];
        }
        drop(sink);
        assert_eq!(stream.take(&mut bytes, Duration::ZERO), Flow::TooSlow);
        assert!(bytes.is_empty());
    }

    #[test]
    fn the_end_comes_after_all_bytes() {
        let (mut sink, stream) = sink(1 << 20);
        let mut bytes = Vec::new();
        assert_eq!(stream.take(&mut bytes, Duration::ZERO), Flow::GoesOn);
        assert_eq!(stream.take(&mut bytes, Duration::ZERO), Flow::GoesOn);
        assert!(bytes.is_empty(), "there is nothing new");
        sink.record(1, &[[0, 7, 0, 0, 0, 0]]);
        sink.flush();
        drop(sink);
        assert_eq!(stream.take(&mut bytes, Duration::MAX), Flow::Ended);
        assert!(!bytes.is_empty());
    }
}
