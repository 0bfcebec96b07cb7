//! Flight recorder: a memory of the last seconds that is written on demand.
//!
//! Its files begin with the state of the schedulers before the last seconds, and have the names of what is there and of
//! what its events name. Everything else that came and went is forgotten.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rospin_core::recording::{Definition, DefinitionKey, Sink, Words};

use crate::file::{ProcessName, TraceWriter, complain};
use crate::follow::Follower;
use crate::incidents::Incidents;
use crate::kept_names::{Named, Names};

/// Time from a trigger to the writing of its file. The file has the events of this time, too.
const AFTERMATH: Duration = Duration::from_millis(100);
/// Number of names of what is gone that are kept at least before they are compared with the kept events.
const GONE: usize = 1_000;

/// Flight recorder: keeps the last seconds in memory, and writes them into a new file when a deadline is missed, an
/// item is lost, a timer skips a due time, a callback that should run does not, one panics or fails, a monitor tells of
/// a violation, or the program asks for it. What is late because its executor did not spin yet is no reason.
pub struct FlightSink {
    path: PathBuf,
    process: ProcessName,
    window: Duration,
    names: Names,
    /// The number of names of what is gone that the last look at them has left.
    gone_left: usize,
    follower: Follower,
    /// The end of each round, and the latest time of an event then, in nanoseconds.
    rounds: VecDeque<(Instant, u64)>,
    /// Time at which the last seconds are written, with the reason; `None` if there is no reason to.
    due: Option<(Instant, String)>,
    /// Time before which events cause no further file. The program can still ask for one.
    quiet_until: Option<Instant>,
    files_left: u32,
    files: u32,
    incidents: Incidents,
}

impl FlightSink {
    /// Creates a flight recorder that keeps the events of the last `window`. It writes at most `files` files: `path`
    /// without its ending, and `-1.mcap`, `-2.mcap` and so on behind it. Numbers of files that are there already are
    /// skipped.
    #[must_use]
    pub fn new(path: &Path, process: &ProcessName, window: Duration, files: u32) -> Self {
        Self {
            path: path.to_owned(),
            process: process.clone(),
            window,
            names: Names::default(),
            gone_left: 0,
            follower: Follower::default(),
            rounds: VecDeque::new(),
            due: None,
            quiet_until: None,
            files_left: files,
            files: 0,
            incidents: Incidents::default(),
        }
    }

    /// Looks for incidents among the events that came. `is_last` tells that none come after them.
    fn watch(&mut self, is_last: bool) {
        let reason = self.incidents.find(is_last);
        if self.quiet_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        if let Some(reason) = reason {
            self.trigger(&reason);
        }
    }

    fn write(&mut self, reason: &str) -> io::Result<()> {
        let name = |number: u32| {
            let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
            self.path.with_file_name(format!("{stem}-{number}.mcap"))
        };
        let mut path = name(self.files + 1);
        while path.exists() {
            self.files += 1;
            path = name(self.files + 1);
        }
        self.files += 1;
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let mut writer = TraceWriter::new(file, &self.process, None)?;
        self.drop_unnamed();
        self.names.iter().try_for_each(|definition| writer.define(definition))?;
        self.follower.beginning().iter().try_for_each(|(thread, events)| writer.events(*thread, events))?;
        for (thread, events) in self.follower.waiting() {
            let (first, second) = events.as_slices();
            writer.events(thread, first)?;
            writer.events(thread, second)?;
        }
        writer.flush()?;
        tell(&path, reason);
        Ok(())
    }
}

#[expect(clippy::print_stderr, reason = "the user waits for the file")]
fn tell(path: &Path, reason: &str) {
    eprintln!("rospin: {reason}; the last seconds are in {}", path.display());
}

impl Sink for FlightSink {
    fn define(&mut self, definition: &Definition) {
        self.incidents.define(definition);
        self.names.add(definition);
    }

    fn forget(&mut self, key: DefinitionKey) {
        self.names.forget(key, self.follower.latest_ns());
        self.follower.forget(key);
    }

    fn record(&mut self, thread: u32, events: &[Words]) {
        self.follower.add(thread, events);
        self.incidents.add(thread, events);
    }

    fn flush(&mut self) {
        self.watch(true);
        if let Some((_, reason)) = self.due.take() {
            self.write_out(&reason);
        }
    }

    fn trigger(&mut self, reason: &str) {
        if self.files_left > 0 && self.due.is_none() {
            self.due = Some((Instant::now() + AFTERMATH, reason.to_owned()));
        }
    }

    fn end_round(&mut self) {
        self.watch(false);
        let now = Instant::now();
        if self.due.as_ref().is_some_and(|(due, _)| *due <= now) {
            self.flush();
        }
        self.rounds.push_back((now, self.follower.latest_ns()));
        // A round later, all threads' events until its end have come.
        while let Some((at, until_ns)) = self.rounds.front().copied()
            && self.rounds.len() > 1
            && now.duration_since(at) > self.window + AFTERMATH
        {
            self.rounds.pop_front();
            drop(self.follower.advance(until_ns));
        }
        if self.names.gone() > GONE + 2 * self.gone_left {
            self.drop_unnamed();
        }
    }
}

impl FlightSink {
    /// Drops the names of what is gone and that no kept event names.
    fn drop_unnamed(&mut self) {
        let beginning = self.follower.beginning();
        let begun = beginning.iter().flat_map(|(thread, events)| events.iter().map(|words| (*thread, words)));
        let waiting =
            self.follower.waiting().flat_map(|(thread, events)| events.iter().map(move |words| (thread, words)));
        self.names.drop_unnamed(Named::of(begun.chain(waiting)), None);
        self.gone_left = self.names.gone();
    }

    fn write_out(&mut self, reason: &str) {
        self.files_left -= 1;
        self.quiet_until = Some(Instant::now() + self.window);
        if let Err(error) = self.write(reason) {
            complain(&self.path, &error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_further_incident_neither_postpones_the_file_nor_changes_its_reason() {
        let mut sink = FlightSink::new(Path::new("unused"), &ProcessName::of_this(0), Duration::ZERO, 1);
        sink.trigger("the first");
        let due = sink.due.clone();
        sink.trigger("the second");
        assert_eq!(sink.due, due);
        assert_eq!(sink.due.take().map(|(_, reason)| reason).as_deref(), Some("the first"));
    }
}
