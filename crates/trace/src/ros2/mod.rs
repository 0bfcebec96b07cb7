//! Traces of `ros2_tracing` as recordings: what rclcpp's executors did, read from the text of
//! `babeltrace2 --clock-seconds`.
//!
//! An LTTng trace is in the Common Trace Format, which describes itself in a language of its own. Everybody who traces
//! with LTTng has babeltrace2 for it, so this module reads what that prints, and not the binary files.
//!
//! The tracepoints name nodes, topics, timers and callbacks. They do not name all that a recording has, so this is
//! concluded:
//!
//! - **Executors.** Threads that ran the same callback belong to one executor. Its policy is that of rclcpp's wait sets
//!   if its threads waited for work as these do, and otherwise first in, first out, as of the events executor.
//! - **Callback groups.** The callbacks that a node has on an executor are one mutually exclusive group. Those that
//!   were seen to run at the same time are in groups of their own, and one that ran beside itself is in a reentrant
//!   group.
//! - **Releases.** A message releases its subscription when it is published, and a request its service when it is sent.
//!   A timer is released when it is due: a whole number of periods after it was created, unless it was restarted.
//! - **Runs.** A run begins when the executor has chosen its callback, so taking and decoding the message are part of
//!   it. The run of a service ends when the response is sent, and that of a client when the executor goes on.

mod activity;
mod assemble;
mod groups;
mod line;
mod names;
mod objects;

use std::io::{self, BufRead};
use std::path::Path;

use activity::Activity;
use assemble::Assembly;
use line::{Line, Problem};
use objects::Objects;

use crate::read::ReadError;
use crate::recording::{Fault, Recording};

pub use names::callback_name;

/// The largest number of bytes of a line. Symbols of callbacks may be long.
const LINE: u64 = 1 << 20;
/// The largest number of events that are kept of a trace.
const EVENTS: usize = 100_000_000;
/// The largest number of damaged lines that are named.
const FAULTS: usize = 20;

/// Returns true if a text begins with a time in square brackets, as babeltrace2 writes it. No recording of rospin does.
#[must_use]
pub fn is_text(beginning: &[u8]) -> bool {
    matches!(beginning, [b'[', digit, ..] if digit.is_ascii_digit())
}

/// Reads the text that `babeltrace2 --clock-seconds` prints for a trace, and returns a recording for each process.
/// `path` is the name of the trace in [`Recording::path`] and in errors; it is not opened.
///
/// # Errors
/// If the text cannot be read, is not of babeltrace2, has times of another form, or has no events of ros2_tracing with
/// thread and process. A text that is damaged or cut off is no error: see [`Recording::faults`].
pub fn read(text: impl BufRead, path: &Path) -> Result<Vec<Recording>, ReadError> {
    let mut scan = Scan::new(path);
    scan.read(text)?;
    scan.finish()
}

/// Notes the events that the tracer has discarded because nobody emptied its buffers in time, by what babeltrace2 says
/// on stderr.
pub fn note_losses<'a>(recordings: &mut [Recording], said: impl IntoIterator<Item = &'a str>) {
    let count: u64 = said.into_iter().filter_map(discarded).sum();
    if let Some(first) = recordings.first_mut() {
        assemble::drop_events(first, count);
    }
}

/// Notes that a trace is damaged at its end.
pub fn note_fault(recordings: &mut [Recording], text: &str) {
    if let Some(first) = recordings.first_mut() {
        first.faults.push(Fault { offset: first.faults.last().map_or(0, |fault| fault.offset), text: text.to_owned() });
    }
}

/// A text that is being read.
struct Scan<'a> {
    path: &'a Path,
    objects: Objects,
    activity: Activity,
    faults: Vec<Fault>,
    events: u64,
    damaged: u64,
    /// The number of events that the tracer discarded.
    discarded: u64,
    others: u64,
    is_without_context: bool,
    is_full: bool,
}

impl<'a> Scan<'a> {
    fn new(path: &'a Path) -> Self {
        Self {
            path,
            objects: Objects::default(),
            activity: Activity::default(),
            faults: Vec::new(),
            events: 0,
            damaged: 0,
            discarded: 0,
            others: 0,
            is_without_context: false,
            is_full: false,
        }
    }

    fn error(&self, reason: &str) -> ReadError {
        ReadError::Ros2 { path: self.path.to_owned(), reason: reason.to_owned() }
    }

    fn fault(&mut self, offset: u64, text: &str) {
        self.damaged += 1;
        if self.faults.len() < FAULTS {
            self.faults.push(Fault { offset, text: text.to_owned() });
        }
    }

    fn read(&mut self, mut text: impl BufRead) -> Result<(), ReadError> {
        let mut bytes = Vec::new();
        let mut offset = 0;
        loop {
            bytes.clear();
            let failed = |reason: io::Error| ReadError::Io { path: self.path.to_owned(), reason };
            let count = io::Read::take(&mut text, LINE).read_until(b'\n', &mut bytes).map_err(failed)? as u64;
            if count == 0 {
                return Ok(());
            }
            let is_whole = bytes.last() == Some(&b'\n');
            match String::from_utf8_lossy(&bytes).trim_end() {
                "" => {}
                line => self.line(line, offset, is_whole)?,
            }
            offset += count;
            if self.is_full {
                return Ok(());
            }
        }
    }

    fn line(&mut self, text: &str, offset: u64, is_whole: bool) -> Result<(), ReadError> {
        if let Some(count) = discarded(text) {
            self.discarded += count;
            return Ok(());
        }
        match Line::parse(text) {
            Ok(Some(line)) => {
                self.event(&line);
                if self.activity.happened.len() >= EVENTS {
                    self.fault(offset, &format!("the trace has more than {EVENTS} events; the rest is left out"));
                    self.is_full = true;
                }
            }
            Ok(None) => self.others += 1,
            Err(Problem::Clock) => {
                return Err(self.error(
                    "has times that are not in seconds since 1970; write it with `babeltrace2 --clock-seconds TRACE`",
                ));
            }
            Err(Problem::Foreign) if self.events + self.others == 0 => {
                return Err(self.error("is no text of babeltrace2; write it with `babeltrace2 --clock-seconds TRACE`"));
            }
            Err(_) if !is_whole => self.fault(offset, "the text ends within this line, which is left out"),
            Err(_) => self.fault(offset, "a line cannot be understood; it is left out"),
        }
        Ok(())
    }

    fn event(&mut self, line: &Line<'_>) {
        self.events += 1;
        let process = line.number("vpid");
        let thread = line.number("vtid");
        let (Some(process), Some(thread)) = (process, thread) else {
            self.is_without_context = true;
            return;
        };
        let process = self.objects.process(line, process);
        if !self.objects.define(process, line) {
            self.activity.note(&mut self.objects, process, thread, line);
        }
    }

    fn finish(self) -> Result<Vec<Recording>, ReadError> {
        if self.events == 0 {
            return Err(self.error(
                "has no events of ros2_tracing; enable them before the programs start: `lttng enable-event -u \
                 'ros2:*'`",
            ));
        }
        if self.is_without_context {
            return Err(self.error(
                "has events without process and thread; record with `lttng add-context -u -t vpid -t vtid -t procname`",
            ));
        }
        if !self.objects.has_nodes {
            return Err(self.error(
                "has no node that is created, so that nothing has a name; start the tracing session before the \
                 programs",
            ));
        }
        let mut assembly = Assembly::new(&self.objects, &self.activity);
        assembly.notes(self.events);
        let mut recordings = assembly.recordings(self.path);
        if let Some(first) = recordings.first_mut() {
            first.faults = self.faults;
            let named = first.faults.len() as u64;
            if self.damaged > named
                && let Some(last) = first.faults.last_mut()
            {
                last.text += &format!("; and {} more lines", self.damaged - named);
            }
            assemble::drop_events(first, self.discarded);
        }
        Ok(recordings)
    }
}

/// Returns the number of events that a line says that the tracer has discarded.
fn discarded(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("racer discarded ")?;
    if text.starts_with('[') && text.contains(" ros2:") {
        return None;
    }
    rest.split(' ').next()?.parse().ok()
}
