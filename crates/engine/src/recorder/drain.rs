//! The recording thread, which moves events from the threads' logs to the sinks.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use rospin_core::Instant;
use rospin_core::recording::{Definition, Event, Sink, Words};

use super::Recorder;
use super::logs::ThreadLog;

/// The time between two rounds. A log that holds 32768 events is full after this time at three million events a second.
const ROUND: Duration = Duration::from_millis(10);

/// A request to the recording thread.
pub(super) enum Command {
    /// Has the sink make everything readable, and answers.
    Flush(Sender<()>),
    /// Has the sinks write the last seconds, for this reason.
    Trigger(String),
    /// Ends the recording.
    Stop,
}

/// The recording thread's data.
pub(super) struct Drainer {
    recorder: Recorder,
    sink: Box<dyn Sink>,
    commands: Receiver<Command>,
    logs: Vec<ThreadLog>,
    events: Vec<Words>,
}

impl Drainer {
    pub(super) fn new(
        recorder: Recorder,
        mut sink: Box<dyn Sink>,
        commands: Receiver<Command>,
        mut logs: Vec<ThreadLog>,
    ) -> Self {
        // What is left of an earlier recording does not belong to this one.
        let mut old = Vec::new();
        logs.retain_mut(|log| {
            log.reader.drain(&mut old);
            log.dropped = log.reader.dropped();
            !log.reader.is_closed()
        });
        logs.iter().for_each(|log| sink.define(&log.definition()));
        Self { recorder, sink, commands, logs, events: old }
    }

    /// Records until the recording is stopped. Returns the logs.
    pub(super) fn run(mut self) -> Vec<ThreadLog> {
        self.events.clear();
        loop {
            let command = match self.commands.recv_timeout(ROUND) {
                Ok(command) => Some(command),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Command::Stop),
            };
            self.round();
            match command {
                None => {}
                Some(Command::Flush(done)) => {
                    self.sink.flush();
                    // The caller may have lost its patience.
                    let _ = done.send(());
                }
                Some(Command::Trigger(reason)) => self.sink.trigger(&reason),
                Some(Command::Stop) => {
                    self.sink.flush();
                    return self.logs;
                }
            }
        }
    }

    /// Passes definitions and events on.
    fn round(&mut self) {
        let (definitions, new) = {
            let mut registry = self.recorder.lock();
            (std::mem::take(&mut registry.definitions), std::mem::take(&mut registry.logs))
        };
        let threads: Vec<Definition> = new.iter().map(ThreadLog::definition).collect();
        definitions.iter().chain(&threads).for_each(|definition| self.sink.define(definition));
        self.logs.extend(new);
        let Self { sink, logs, events, .. } = self;
        logs.retain_mut(|log| {
            // Looked at before the drain, which then finds all events of a thread that has ended.
            let is_closed = log.reader.is_closed();
            log.reader.drain(events);
            let dropped = log.reader.dropped();
            if dropped > log.dropped {
                let at = events.last().map_or(Instant::ZERO, |words| Instant::from_nanos(words[0]));
                events.push(Event::Dropped { count: dropped - log.dropped }.encode(at));
                log.dropped = dropped;
            }
            if !events.is_empty() {
                sink.record(log.thread, events);
                events.clear();
            }
            !is_closed
        });
        sink.end_round();
    }
}
