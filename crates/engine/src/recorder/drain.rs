//! The recording thread, which moves events from the threads' logs to the sinks.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{self, Duration};

use rospin_core::Instant;
use rospin_core::recording::{Definition, DefinitionKey, Event, Sink, Words};

use super::Recorder;
use super::logs::ThreadLog;

/// The shortest time between two rounds. A log that holds 32768 events is full after this time at three million events
/// a second.
const ROUND: Duration = Duration::from_millis(10);

/// The number of rounds that should come while a log is filled: what a program records in a time changes.
const ROUNDS_PER_LOG: u32 = 4;

/// A request to the recording thread.
pub(super) enum Command {
    /// Adds a sink with that number, and answers.
    Add(u64, Box<dyn Sink>, Sender<()>),
    /// Flushes the sink with that number, drops it, and answers.
    Remove(u64, Sender<()>),
    /// Has the sinks make everything readable, and answers.
    Flush(Sender<()>),
    /// Has the sinks write the last seconds, for this reason.
    Trigger(String),
    /// Ends the recording.
    Stop,
}

/// The recording thread's data.
pub(super) struct Drainer {
    recorder: Recorder,
    sinks: Vec<(u64, Box<dyn Sink>)>,
    commands: Receiver<Command>,
    logs: Vec<ThreadLog>,
    /// The names that there were before the last round, for sinks that come later.
    known: BTreeMap<DefinitionKey, Definition>,
    /// The names that the last round brought. Events that are still in the logs may use the ones that they replace.
    fresh: Vec<(DefinitionKey, Definition)>,
    /// The events of a round, for each log.
    events: Vec<Vec<Words>>,
    /// True after a round that found lost events: the sinks do not know the executors' states any more.
    has_lost: bool,
    /// The time until the next round.
    pause: Duration,
    last_round: time::Instant,
}

impl Drainer {
    pub(super) fn new(
        recorder: Recorder,
        sink: (u64, Box<dyn Sink>),
        commands: Receiver<Command>,
        mut logs: Vec<ThreadLog>,
    ) -> Self {
        // What is left of an earlier recording does not belong to this one.
        let mut old = Vec::new();
        logs.retain_mut(|log| {
            log.reader.drain(&mut old);
            old.clear();
            log.dropped = log.reader.dropped();
            !log.reader.is_closed()
        });
        let mut drainer = Self {
            recorder,
            sinks: Vec::new(),
            commands,
            logs,
            known: BTreeMap::new(),
            fresh: Vec::new(),
            events: Vec::new(),
            has_lost: false,
            pause: ROUND,
            last_round: time::Instant::now(),
        };
        drainer.add(sink);
        drainer
    }

    /// Records until the recording is stopped. Returns the logs.
    pub(super) fn run(mut self) -> Vec<ThreadLog> {
        loop {
            let command = match self.commands.recv_timeout(self.pause) {
                Ok(Command::Add(number, sink, done)) => {
                    // Before the round, whose events may be the sink's first ones.
                    self.add((number, sink));
                    let _ = done.send(());
                    None
                }
                Ok(command) => Some(command),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Command::Stop),
            };
            self.round();
            match command {
                None | Some(Command::Add(..)) => {}
                Some(Command::Remove(number, done)) => {
                    // What one thread did during the last round may follow what another one did, whose log had been
                    // drained.
                    self.round();
                    let place = self.sinks.iter().position(|(of, _)| *of == number);
                    let removed = place.map(|place| self.sinks.swap_remove(place));
                    let end = |(_, mut sink): (u64, Box<dyn Sink>)| {
                        sink.flush();
                        drop(sink);
                    };
                    let _ = catch_unwind(AssertUnwindSafe(|| removed.map(end)));
                    let _ = done.send(());
                }
                Some(Command::Flush(done)) => {
                    self.flush();
                    // The caller may have lost its patience.
                    let _ = done.send(());
                }
                Some(Command::Trigger(reason)) => self.each(|sink| sink.trigger(&reason)),
                Some(Command::Stop) => {
                    self.flush();
                    return self.logs;
                }
            }
        }
    }

    /// Has the sinks make everything readable, also what one of them records when it is flushed, such as a monitor.
    fn flush(&mut self) {
        self.each(|sink| sink.flush());
        self.round();
        self.each(|sink| sink.flush());
    }

    /// Adds a sink, which is told all names that there are. One that panics meanwhile is dropped instead.
    fn add(&mut self, mut sink: (u64, Box<dyn Sink>)) {
        let told = catch_unwind(AssertUnwindSafe(|| {
            let threads = self.logs.iter().map(ThreadLog::definition);
            let fresh = self.fresh.iter().map(|(_, definition)| definition);
            for definition in self.known.values().chain(fresh) {
                sink.1.define(definition);
            }
            for definition in threads {
                sink.1.define(&definition);
            }
            sink
        }));
        self.sinks.extend(told);
    }

    /// Calls `act` with every sink. One that panics is dropped, and the others go on.
    fn each(&mut self, mut act: impl FnMut(&mut dyn Sink)) {
        for (number, mut sink) in std::mem::take(&mut self.sinks) {
            if catch_unwind(AssertUnwindSafe(|| act(&mut *sink))).is_ok() {
                self.sinks.push((number, sink));
            } else {
                // After its panic, even the end of the sink may panic.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(sink)));
            }
        }
    }

    /// Sets the time until the next round, after one that found the fullest log filled to `fill`, where 1 is full.
    fn plan(&mut self, fill: f64) {
        let elapsed = std::mem::replace(&mut self.last_round, time::Instant::now()).elapsed();
        let patience = self.sinks.iter().map(|(_, sink)| sink.patience()).min().unwrap_or_default();
        let filled_in = Duration::try_from_secs_f64(elapsed.as_secs_f64() / fill).unwrap_or(Duration::MAX);
        self.pause = patience.min(filled_in / ROUNDS_PER_LOG).max(ROUND);
    }

    /// Moves all definitions and events that have come since the last round to the sinks.
    fn round(&mut self) {
        let (new, mut gone) = {
            let mut registry = self.recorder.lock();
            (std::mem::take(&mut registry.logs), std::mem::take(&mut registry.gone))
        };
        let mut definitions: Vec<Definition> = new.iter().map(ThreadLog::definition).collect();
        self.logs.extend(new);
        self.events.resize_with(self.logs.len(), Vec::new);
        let threads: Vec<u32> = self.logs.iter().map(|log| log.thread).collect();
        let mut events = self.events.iter_mut();
        let mut fill = 0.0_f64;
        let mut loses = false;
        self.logs.retain_mut(|log| {
            // Looked at before the drain, which then finds all events of a thread that has ended.
            let is_closed = log.reader.is_closed();
            let Some(events) = events.next() else { return true };
            loses |= log.drain(events);
            fill = fill.max(events.len() as f64 / log.reader.capacity() as f64);
            gone.extend(is_closed.then_some(DefinitionKey::Thread(log.thread)));
            !is_closed
        });
        self.plan(fill);
        // Taken after the events, so that what they name is defined.
        definitions.append(&mut self.recorder.lock().definitions);
        self.drop_known(&mut definitions);
        let events = std::mem::take(&mut self.events);
        self.each(|sink| {
            for definition in &definitions {
                sink.define(definition);
            }
            let batches = threads.iter().zip(&events).filter(|(_, events)| !events.is_empty());
            for (thread, events) in batches {
                sink.record(*thread, events);
            }
            // They were gone before the events were taken.
            for key in &gone {
                sink.forget(*key);
            }
            sink.end_round();
        });
        self.events = events;
        self.events.iter_mut().for_each(Vec::clear);
        self.known.extend(self.fresh.drain(..));
        // The logs have the names of threads.
        let kept = definitions.into_iter().filter(|of| !matches!(of, Definition::Thread { .. }));
        self.fresh.extend(kept.map(|of| (of.key(), of)));
        if !gone.is_empty() {
            let gone: BTreeSet<DefinitionKey> = gone.into_iter().collect();
            self.fresh.retain(|(key, _)| !gone.contains(key));
            for key in &gone {
                _ = self.known.remove(key);
            }
        }
        // The states are recorded once nothing is lost any more, since they would add to what is too much.
        if self.has_lost && !loses {
            self.recorder.tell_executors();
        }
        self.has_lost = loses;
    }

    /// Drops the definitions that all sinks have: an executor defines everything that it has when a sink comes.
    fn drop_known(&self, definitions: &mut Vec<Definition>) {
        let fresh: BTreeSet<DefinitionKey> = self.fresh.iter().map(|(key, _)| *key).collect();
        definitions.retain(|of| fresh.contains(&of.key()) || self.known.get(&of.key()) != Some(of));
    }
}

impl ThreadLog {
    /// Moves the log's events into `events`. If the log has dropped events since the last call, adds one that says how
    /// many, and returns true.
    fn drain(&mut self, events: &mut Vec<Words>) -> bool {
        self.reader.drain(events);
        let dropped = self.reader.dropped();
        let loses = dropped > self.dropped;
        if loses {
            let at = events.last().map_or(Instant::ZERO, |words| Instant::from_nanos(words[0]));
            events.push(Event::Dropped { count: dropped - self.dropped }.encode(at));
            self.dropped = dropped;
        }
        loses
    }
}
