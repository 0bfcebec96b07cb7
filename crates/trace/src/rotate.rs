//! Sink of a recording in files of a limited size or duration, of which the last ones are kept.
//!
//! Each file has all names that its events use, and begins with the state of the schedulers, so that it can be read by
//! itself. Events wait for a round until they are written: then every thread's earlier events have come, and two files
//! meet at one [place](crate::follow) in the order of each scheduler's events.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rospin_core::recording::{Definition, DefinitionKey, Sink, Words};

use crate::file::{CHUNK_AGE, ProcessName, TraceWriter, complain};
use crate::follow::Follower;
use crate::handover::are_of_snapshots;
use crate::kept_names::{Named, Names};

/// Bytes of an event in a file, with its place in an index, at most.
const EVENT_COST: u64 = 104;
/// Bytes of a name in a file, about.
const NAME_COST: u64 = 400;

/// Limits of the files of a recording. Without a limit there is one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rotation {
    /// The size in bytes that a file may have. It may be a tenth larger. Each file has the names of everything that
    /// there is, and may have as many bytes of events, so that a program with very many callbacks needs a larger limit.
    pub bytes_max: Option<u64>,
    /// The time from a file's first event on after which it is followed by the next one.
    pub duration_max: Option<Duration>,
    /// The number of files that are kept, at least 1; older ones of this recording are removed. `None` keeps all.
    pub keep: Option<u32>,
}

/// Sink that writes a recording into files one after another: the path without its ending, and `-0001.mcap`,
/// `-0002.mcap` and so on behind it. Numbers of files that are there already are skipped. The first error of writing
/// ends the recording, and is printed on stderr.
pub struct RotatingSink {
    path: PathBuf,
    process: ProcessName,
    rotation: Rotation,
    names: Names,
    /// Definitions that are not in the present file yet.
    unwritten: BTreeSet<DefinitionKey>,
    /// The definitions that came and went since names were written last.
    fleeting: BTreeSet<DefinitionKey>,
    writer: Option<TraceWriter<File>>,
    /// The files of this recording that are there, the oldest first.
    files: VecDeque<PathBuf>,
    /// The number in the name of the last file.
    number: u32,
    /// The number of files so far.
    part: u32,
    /// True if a file could not be created or written.
    is_over: bool,
    chunk_begun: Instant,
    /// The time at which the present file begins, in nanoseconds of the steady clock; `None` before its first event.
    begin_ns: Option<u64>,
    /// The bytes of the present file when it had names and states, and no events.
    empty_bytes: u64,
    /// True if the present file has events.
    has_events: bool,
    follower: Follower,
    /// The latest time of an event at the end of the last round, in nanoseconds of the steady clock.
    former_ns: u64,
}

impl RotatingSink {
    /// Creates a sink, which creates its first file when there is a first event.
    #[must_use]
    pub fn new(path: &Path, process: &ProcessName, rotation: Rotation) -> Self {
        Self {
            path: path.to_owned(),
            process: process.clone(),
            rotation,
            names: Names::default(),
            unwritten: BTreeSet::new(),
            fleeting: BTreeSet::new(),
            writer: None,
            files: VecDeque::new(),
            number: 0,
            part: 0,
            is_over: false,
            chunk_begun: Instant::now(),
            begin_ns: None,
            empty_bytes: 0,
            has_events: false,
            follower: Follower::default(),
            former_ns: 0,
        }
    }

    /// Creates the next file, with all names and the states at the cut, and removes the oldest one if there are too
    /// many.
    fn open(&mut self) -> io::Result<()> {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (path, file) = loop {
            self.number = self.number.checked_add(1).ok_or(io::ErrorKind::AlreadyExists)?;
            let path = self.path.with_file_name(format!("{stem}-{:04}.mcap", self.number));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => break (path, opened?),
            }
        };
        self.part += 1;
        self.files.push_back(path);
        let mut writer = TraceWriter::new(file, &self.process, Some(self.part))?;
        self.names.drop_before(self.follower.cut_ns());
        self.drop_fleeting();
        self.names.iter().try_for_each(|definition| writer.define(definition))?;
        self.unwritten.clear();
        self.follower.beginning().iter().try_for_each(|(thread, events)| writer.events(*thread, events))?;
        // A file that is read while it is written is a recording from the beginning.
        writer.end_chunk()?;
        (self.empty_bytes, self.has_events) = (writer.bytes(), false);
        self.writer = Some(writer);
        let keep = self.rotation.keep.map_or(usize::MAX, |keep| keep.max(1) as usize);
        while self.files.len() > keep {
            // Somebody else may have removed it.
            let oldest = self.files.pop_front();
            let removed = oldest.as_ref().map_or(Ok(()), std::fs::remove_file);
            removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
        }
        Ok(())
    }

    fn write(&mut self, write: impl FnOnce(&mut TraceWriter<File>) -> io::Result<()>) {
        let result = self.writer.as_mut().map_or(Ok(()), write);
        self.end_at(result);
    }

    /// Ends the recording if this is an error.
    fn end_at(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            complain(self.files.back().unwrap_or(&self.path), &error);
            self.writer = None;
            self.is_over = true;
        }
    }

    /// Ends the present file at the cut, and begins the next one.
    fn split(&mut self) {
        self.write(TraceWriter::flush);
        self.begin_ns = self.begin_ns.map(|_| self.follower.cut_ns());
        self.open_now();
    }

    fn open_now(&mut self) {
        if !self.is_over {
            let opened = self.open();
            self.end_at(opened);
        }
    }

    /// Drops definitions of what came and went without an event.
    fn drop_fleeting(&mut self) {
        if self.fleeting.is_empty() {
            return;
        }
        let fleeting = std::mem::take(&mut self.fleeting);
        let dropped = self.names.drop_unnamed(self.named(), Some(&fleeting));
        for key in &dropped {
            self.unwritten.remove(key);
        }
    }

    /// Returns what events name that are not written yet, and the states at the cut.
    fn named(&self) -> Named {
        let beginning = self.follower.beginning();
        let begun = beginning.iter().flat_map(|(thread, events)| events.iter().map(|words| (*thread, words)));
        let waiting =
            self.follower.waiting().flat_map(|(thread, events)| events.iter().map(move |words| (thread, words)));
        Named::of(begun.chain(waiting))
    }

    /// Writes the definitions that came since the last round, into the next file if the present one has no room for
    /// them.
    fn write_names(&mut self) {
        self.drop_fleeting();
        let bytes = self.bytes() + self.unwritten.len() as u64 * NAME_COST;
        if self.unwritten.len() > 1 && self.has_events && self.bytes_max().is_some_and(|max| bytes > max) {
            return self.split();
        }
        for key in std::mem::take(&mut self.unwritten) {
            let Some(definition) = self.names.get(&key).cloned() else { continue };
            self.write(|writer| writer.define(&definition));
        }
    }

    fn bytes(&self) -> u64 {
        self.writer.as_ref().map_or(0, TraceWriter::bytes)
    }

    /// Returns the size of the present file at which it is full.
    fn bytes_max(&self) -> Option<u64> {
        let max = self.rotation.bytes_max?;
        // Names and states need their room, and a file without events is useless.
        Some(max.max(self.empty_bytes.saturating_add(max / 10)))
    }

    /// Writes the waiting events until that time, into several files if they are too many for one.
    fn write_until(&mut self, until_ns: u64) {
        while !self.is_over {
            let times = self.follower.times_until(until_ns);
            let Some(first) = times.iter().min() else { break };
            if self.writer.is_none() {
                if self.has_only_snapshots() {
                    self.follower.advance(until_ns);
                    break;
                }
                self.open_now();
            }
            let begin_ns = self.begin(*first);
            let (end_ns, is_full) = self.end(times, begin_ns, until_ns);
            let taken = self.follower.advance(end_ns);
            let is_stuck = taken.is_empty();
            for (thread, events) in taken {
                self.has_events = true;
                self.write(|writer| writer.events(thread, &events));
            }
            if is_full && self.has_events {
                self.split();
            } else if is_stuck || end_ns >= until_ns {
                break;
            }
        }
        self.follower.advance(until_ns);
    }

    /// Returns the time at which the present file begins, given that of its next event.
    fn begin(&mut self, next_ns: u64) -> u64 {
        // A count of dropped events may have no time.
        let next = if next_ns > 0 { Some(next_ns) } else { None };
        let begin = self.begin_ns.or(next);
        // After a pause, a file begins with its first event.
        let is_over = |begin: u64| {
            self.rotation
                .duration_max
                .is_some_and(|max| next.is_some_and(|next| Duration::from_nanos(next.saturating_sub(begin)) > max))
        };
        self.begin_ns = begin.map(|begin| if !self.has_events && is_over(begin) { next_ns } else { begin });
        self.begin_ns.unwrap_or(0)
    }

    /// Returns the time until which events fit into the present file, and true if it is full then. `times` are those of
    /// the events until `until_ns`.
    fn end(&self, mut times: Vec<u64>, begin_ns: u64, until_ns: u64) -> (u64, bool) {
        let mut end_ns = until_ns;
        let mut is_full = false;
        if let Some(max) = self.rotation.duration_max {
            let limit = begin_ns.saturating_add(u64::try_from(max.as_nanos()).unwrap_or(u64::MAX));
            if begin_ns > 0 && limit <= end_ns {
                (end_ns, is_full) = (limit, true);
            }
        }
        if let Some(max) = self.bytes_max() {
            let room = max.saturating_sub(self.bytes()) / EVENT_COST;
            let room = usize::try_from(room).unwrap_or(usize::MAX).max(1);
            if times.len() >= room {
                let (_, last, _) = times.select_nth_unstable(room - 1);
                if *last <= end_ns {
                    (end_ns, is_full) = (*last, true);
                }
            }
        }
        (end_ns, is_full)
    }

    fn has_only_snapshots(&self) -> bool {
        self.follower.waiting().all(|(_, events)| are_of_snapshots(events))
    }
}

impl Sink for RotatingSink {
    fn define(&mut self, definition: &Definition) {
        if !self.is_over && self.names.add(definition) {
            self.unwritten.insert(definition.key());
        }
    }

    fn forget(&mut self, key: DefinitionKey) {
        if self.unwritten.contains(&key) {
            self.fleeting.insert(key);
        }
        self.names.forget(key, self.follower.latest_ns());
        self.follower.forget(key);
    }

    fn record(&mut self, thread: u32, events: &[Words]) {
        if !self.is_over {
            self.follower.add(thread, events);
        }
    }

    /// Leaves waiting events to the next round or to the end: a file cannot end where it has events from behind the
    /// cut.
    fn flush(&mut self) {
        self.write(TraceWriter::flush);
    }

    fn end_round(&mut self) {
        if self.is_over {
            return;
        }
        let until_ns = std::mem::replace(&mut self.former_ns, self.follower.latest_ns());
        if self.writer.is_some() {
            self.write_names();
        }
        self.write_until(until_ns);
        if self.chunk_begun.elapsed() >= CHUNK_AGE {
            self.chunk_begun = Instant::now();
            self.write(TraceWriter::end_chunk);
        }
    }
}

impl Drop for RotatingSink {
    /// Writes what still waits. No earlier events can come any more.
    fn drop(&mut self) {
        if self.is_over || (self.writer.is_none() && self.has_only_snapshots()) {
            return;
        }
        if self.writer.is_some() {
            self.write_names();
        }
        self.write_until(self.follower.latest_ns());
        // Some may wait for a thread's events that were lost.
        let waiting: Vec<_> =
            self.follower.waiting().map(|(thread, events)| (thread, Vec::from_iter(events.iter().copied()))).collect();
        for (thread, events) in waiting {
            self.write(|writer| writer.events(thread, &events));
        }
        self.write(TraceWriter::flush);
    }
}
