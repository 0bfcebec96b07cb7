//! Sink of a recording in files of a limited size or duration, of which the last ones are kept.
//!
//! Each file has all names that its events use, so that it can be read by itself. Two files meet at one instant: the sink waits for
//! a round of events after it has decided to split, in which every thread's earlier events have come. A thread reads the clock before
//! it has an executor's lock, so the events of a scheduler are split in the order of the lock, by the number of the thread that had
//! it at that instant. Otherwise a callback could end in the earlier file and begin in the later one.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rospin_core::recording::{Definition, DefinitionKey, Event, Sink, Words};

use crate::file::{CHUNK_AGE, ProcessName, TraceWriter, complain};
use crate::handover::Handovers;

/// Number of definitions that are kept for the next file. Queues, publishers and threads that came and went would grow without a
/// limit.
const DEFINITIONS: usize = 100_000;

/// Number of the kind [`Event::HandedOver`] in the lowest byte of an event's second word.
const HANDED_OVER: u8 = 20;

/// Limits of the files of a recording. Without a limit there is one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rotation {
    /// The size in bytes from which on a file is followed by the next one. A file may exceed it by the events of two rounds of
    /// 10 ms, and by its summary.
    pub bytes_max: Option<u64>,
    /// The time from a file's first event on after which it is followed by the next one.
    pub duration_max: Option<Duration>,
    /// The number of files that are kept, at least 1; older ones of this recording are removed. `None` keeps all.
    pub keep: Option<u32>,
}

/// Sink that writes a recording into files one after another: the path without its ending, and `-0001.mcap`, `-0002.mcap` and so on
/// behind it. Numbers of files that are there already are skipped. The first error of writing ends the recording, and is printed on
/// stderr.
pub struct RotatingSink {
    path: PathBuf,
    process: ProcessName,
    rotation: Rotation,
    names: Names,
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
    /// The time of the latest event, in nanoseconds of the steady clock.
    latest_ns: u64,
    /// The numbers of the present file's threads.
    handovers: Handovers,
    /// The largest number of each executor in the present file.
    last_numbers: BTreeMap<u16, u64>,
    split: Option<Split>,
}

/// Latest time of an event's thread so far, and the event's executor and number if it is one of a scheduler.
type Numbered = (u64, Option<(u16, u64)>);

/// A split that waits for the rest of the earlier file's events.
struct Split {
    /// The instant, in nanoseconds of the steady clock.
    end_ns: u64,
    /// The names at the time of the split, and those that came since.
    names: Vec<Definition>,
    /// The events that came since, by thread.
    events: BTreeMap<u32, Vec<Words>>,
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
            writer: None,
            files: VecDeque::new(),
            number: 0,
            part: 0,
            is_over: false,
            chunk_begun: Instant::now(),
            begin_ns: None,
            latest_ns: 0,
            handovers: Handovers::default(),
            last_numbers: BTreeMap::new(),
            split: None,
        }
    }

    /// Creates the next file, with these names, and removes the oldest one if there are too many.
    fn open(&mut self, names: &[Definition]) -> io::Result<()> {
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
        names.iter().try_for_each(|definition| writer.define(definition))?;
        // A file that is read while it is written is a recording from the beginning.
        writer.end_chunk()?;
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
            self.split = None;
            self.is_over = true;
        }
    }

    /// Ends the present file, and begins the next one with the events that belong there.
    fn finish_split(&mut self) {
        let Some(Split { end_ns, names, events }) = self.split.take() else { return };
        let mut at = self.places(&events, end_ns);
        let mut later = Vec::new();
        for (thread, events) in &events {
            let (earlier, rest) = events.split_at(at.remove(thread).unwrap_or(events.len()));
            self.write(|writer| writer.events(*thread, earlier));
            later.push((*thread, rest));
        }
        self.write(TraceWriter::flush);
        if self.is_over {
            return;
        }
        self.begin_ns = Some(end_ns);
        self.handovers = Handovers::default();
        self.last_numbers.clear();
        let opened = self.open(&names);
        self.end_at(opened);
        later.into_iter().for_each(|(thread, events)| self.record(thread, events));
    }

    /// Returns the number of events of each thread that belong to the earlier file. A thread's later events all follow them.
    fn places(&mut self, events: &BTreeMap<u32, Vec<Words>>, end_ns: u64) -> BTreeMap<u32, usize> {
        let mut seen: Vec<(u32, Vec<Numbered>)> = Vec::new();
        for (thread, events) in events {
            let mut latest = 0;
            let mut number = |words: &Words| {
                latest = words[0].max(latest);
                let of = Event::decode(words).and_then(|(_, event)| self.handovers.next(*thread, &event));
                if let Some((executor, number)) = of.filter(|_| latest <= end_ns) {
                    let last = self.last_numbers.entry(executor).or_default();
                    *last = number.max(*last);
                }
                (latest, of)
            };
            seen.push((*thread, events.iter().map(&mut number).collect()));
        }
        let place = |seen: Vec<Numbered>| {
            let (mut earlier, mut later) = (0, None);
            for (place, (at, of)) in seen.iter().enumerate() {
                let is_earlier = match of {
                    Some((executor, number)) => {
                        let last = self.last_numbers.get(executor).copied().unwrap_or(0);
                        *number < last || (*number == last && *at <= end_ns)
                    }
                    None => *at <= end_ns,
                };
                if !is_earlier {
                    later.get_or_insert(place);
                } else if of.is_some() {
                    earlier = place + 1;
                }
            }
            later.unwrap_or(seen.len()).max(earlier)
        };
        seen.into_iter().map(|(thread, seen)| (thread, place(seen))).collect()
    }

    /// Returns true if the present file has come to a limit.
    fn is_full(&self) -> bool {
        let Rotation { bytes_max, duration_max, .. } = self.rotation;
        let bytes = self.writer.as_ref().map_or(0, TraceWriter::bytes);
        let age_ns = self.begin_ns.map_or(0, |begin| self.latest_ns.saturating_sub(begin));
        bytes_max.is_some_and(|max| bytes >= max)
            || duration_max.is_some_and(|max| age_ns > 0 && Duration::from_nanos(age_ns) >= max)
    }
}

impl Sink for RotatingSink {
    fn define(&mut self, definition: &Definition) {
        if self.is_over {
            return;
        }
        self.names.add(definition);
        self.split.iter_mut().for_each(|split| split.names.push(definition.clone()));
        self.write(|writer| writer.define(definition));
    }

    fn record(&mut self, thread: u32, events: &[Words]) {
        if self.is_over || events.is_empty() {
            return;
        }
        if let Some(split) = &mut self.split {
            return split.events.entry(thread).or_default().extend(events);
        }
        if self.writer.is_none() {
            let opened = self.open(&self.names.to_vec());
            self.end_at(opened);
        }
        // A count of dropped events may have no time.
        let times = || events.iter().map(|words| words[0]).filter(|at| *at > 0);
        self.begin_ns = self.begin_ns.or(times().min());
        self.latest_ns = times().max().map_or(self.latest_ns, |at| at.max(self.latest_ns));
        let changes = events.iter().filter(|words| words[1] as u8 == HANDED_OVER).filter_map(Event::decode);
        for (executor, number) in changes.filter_map(|(_, event)| self.handovers.next(thread, &event)) {
            let last = self.last_numbers.entry(executor).or_default();
            *last = number.max(*last);
        }
        self.write(|writer| writer.events(thread, events));
    }

    fn flush(&mut self) {
        self.finish_split();
        self.write(TraceWriter::flush);
    }

    fn end_round(&mut self) {
        self.finish_split();
        if self.is_full() {
            let (end_ns, names) = (self.latest_ns, self.names.to_vec());
            self.split = Some(Split { end_ns, names, events: BTreeMap::new() });
        }
        if self.chunk_begun.elapsed() >= CHUNK_AGE {
            self.chunk_begun = Instant::now();
            self.write(TraceWriter::end_chunk);
        }
    }
}

/// The definitions of everything that is there, for the next file, in the order in which they came first.
#[derive(Default)]
struct Names {
    places: BTreeMap<DefinitionKey, u64>,
    definitions: BTreeMap<u64, (DefinitionKey, Definition)>,
    count: u64,
}

impl Names {
    /// Adds a definition, in place of an earlier one of the same number. If there are too many, the first half stays, which a
    /// program begins with, and of the others the oldest goes.
    fn add(&mut self, definition: &Definition) {
        let key = definition.key();
        let place = *self.places.entry(key).or_insert(self.count);
        self.definitions.insert(place, (key, definition.clone()));
        if place == self.count {
            self.count += 1;
        }
        if self.definitions.len() > DEFINITIONS {
            let oldest =
                self.definitions.range(DEFINITIONS as u64 / 2..).next().map(|(place, (key, _))| (*place, *key));
            if let Some((place, key)) = oldest {
                self.definitions.remove(&place);
                self.places.remove(&key);
            }
        }
    }

    fn to_vec(&self) -> Vec<Definition> {
        self.definitions.values().map(|(_, definition)| definition.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_threads_are_known_by_their_number() {
        let words =
            Event::HandedOver { executor: 1, number: 2, previous: 0, count: 0 }.encode(rospin_core::Instant::ZERO);
        assert_eq!(words[1] as u8, HANDED_OVER);
    }

    #[test]
    fn names_of_what_came_and_went_do_not_grow_and_the_first_ones_stay() {
        let mut names = Names::default();
        let queue = |queue: u64, depth| Definition::Queue { queue, account: 1, topic: "scan".into(), depth };
        (0..300_000).for_each(|number| names.add(&queue(number, 1)));
        names.add(&queue(0, 2));
        let kept = names.to_vec();
        assert_eq!((kept.len(), names.places.len()), (DEFINITIONS, DEFINITIONS));
        assert_eq!((&kept[0], &kept[1]), (&queue(0, 2), &queue(1, 1)));
        assert_eq!(kept.last(), Some(&queue(299_999, 1)));
    }
}
