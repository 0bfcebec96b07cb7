//! `rospin simulate --record`: the decisions of a simulation in the form in which those of programs are recorded.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use rospin_engine::Instant;
use rospin_engine::recording::{Definition, Event, Rules, Sink, Words};
use rospin_engine::trace::TraceEvent;
use rospin_engine::{Activation, EntityKind, GroupKind};
use rospin_scenario::Scenario;
use rospin_sim::{Event as SimulatorEvent, Observer, What};
use rospin_trace::{FileSink, ProcessName};

/// Events of one thread that are passed on at once.
const BATCH: usize = 4096;

/// Observer of a simulation that records it.
pub(super) struct Record<'a> {
    scenario: &'a Scenario,
    sink: FileSink,
    /// The number of the first thread of each executor, among those of all executors.
    first_threads: Vec<u32>,
    /// The thread that recorded last of each executor, and the numbers of changes of them.
    last: Vec<Option<u32>>,
    changes: u64,
    /// The thread that runs each activation, by executor and sequence number.
    running: HashMap<(usize, u64), u32>,
    callbacks: Vec<Callback>,
    /// Events of one thread that were not passed on yet.
    thread: u32,
    batch: Vec<Words>,
}

/// A callback's queue, and what was told of it.
#[derive(Clone, Default)]
struct Callback {
    is_defined: bool,
    queued: u64,
    taken: u64,
    /// True if the next message displaces one.
    displaces: bool,
}

impl<'a> Record<'a> {
    /// Creates the file, which must not be there.
    pub(super) fn create(path: &Path, scenario: &'a Scenario) -> io::Result<Self> {
        let name = if scenario.name.is_empty() { "simulation" } else { &scenario.name };
        let process = ProcessName { name: name.to_owned(), process: 0, host: String::new(), system_offset_ns: 0 };
        let mut sink = FileSink::create(path, &process)?;
        let mut first_threads = Vec::new();
        let mut next = 1;
        for (number, executor) in scenario.executors.iter().enumerate() {
            first_threads.push(next);
            sink.define(&Definition::Executor {
                executor: number as u16,
                name: executor.name.clone(),
                policy: executor.policy.clone(),
                threads: executor.threads,
            });
            for thread in 0..executor.threads {
                let name = format!("{}-{thread}", executor.name);
                sink.define(&Definition::Thread { thread: next, kernel_id: 0, name });
                next += 1;
            }
        }
        for (number, callback) in scenario.callbacks.iter().enumerate() {
            if callback.kind != EntityKind::Timer {
                let number = number as u64 + 1;
                let topic = callback.subscribes.clone().unwrap_or_else(|| callback.name.clone());
                sink.define(&Definition::Queue { queue: number, account: number, topic, depth: callback.depth.into() });
            }
        }
        Ok(Self {
            scenario,
            sink,
            first_threads,
            last: vec![None; scenario.executors.len()],
            changes: 0,
            running: HashMap::new(),
            callbacks: vec![Callback::default(); scenario.callbacks.len()],
            thread: 0,
            batch: Vec::with_capacity(BATCH),
        })
    }

    /// Writes everything that is left.
    pub(super) fn end(mut self) {
        self.pass_on();
        self.sink.flush();
    }

    fn pass_on(&mut self) {
        if !self.batch.is_empty() {
            self.sink.record(self.thread, &self.batch);
            self.batch.clear();
        }
        self.sink.end_round();
    }

    fn write(&mut self, thread: u32, at: Instant, event: &Event) {
        if thread != self.thread || self.batch.len() == BATCH {
            self.pass_on();
            self.thread = thread;
        }
        self.batch.push(event.encode(at));
    }

    /// Defines the callback by its first activation, which has the priority that it got.
    fn define(&mut self, executor: usize, number: usize, of: &Activation) {
        let Some(known @ Callback { is_defined: false, .. }) = self.callbacks.get_mut(number) else { return };
        known.is_defined = true;
        let callback = &self.scenario.callbacks[number];
        let place = self.scenario.groups.iter().position(|group| group.name == callback.group).unwrap_or(0);
        let kind = self.scenario.groups.get(place).map_or(GroupKind::MutuallyExclusive, |group| group.kind);
        let excludes = kind == GroupKind::MutuallyExclusive;
        self.sink.define(&Definition::Entity {
            executor: executor as u16,
            entity: of.entity.to_bits(),
            account: number as u64 + 1,
            name: callback.name.clone(),
            group: callback.group.clone(),
            excludes,
            kind: callback.kind,
            priority: of.priority.0,
            deadline: callback.deadline,
            period: callback.period,
            rules: Some(Rules {
                group: place as u64,
                registration: of.registration,
                max_in_flight: callback.in_flight(kind, self.scenario.executors[executor].threads),
                frees_group: excludes && callback.releases_group_at_await,
                precedes_all: of.precedes_all,
            }),
        });
    }

    fn decision(&mut self, at: Instant, executor: usize, callback: Option<usize>, event: &TraceEvent) {
        let first = self.first_threads[executor];
        let last = self.last[executor].unwrap_or(first);
        let (at, thread) = match event {
            TraceEvent::Released(of) | TraceEvent::Antedated(of) => {
                if let Some(callback) = callback {
                    self.define(executor, callback, of);
                }
                (of.release, last)
            }
            TraceEvent::Dispatched(thread, of) => {
                let thread = first + u32::from(thread.0);
                self.running.insert((executor, of.sequence), thread);
                (at, thread)
            }
            TraceEvent::Suspended(of) | TraceEvent::Completed(of) => {
                (at, self.running.remove(&(executor, of.sequence)).unwrap_or(last))
            }
            TraceEvent::PollingPoint(thread) | TraceEvent::Discarded(thread) => (at, first + u32::from(thread.0)),
            _ => (at, last),
        };
        if self.last[executor].replace(thread).is_some_and(|last| last != thread) {
            self.changes += 1;
            let (number, previous, count) = (self.changes, 0, 0);
            let change = Event::HandedOver { executor: executor as u16, number, previous, count };
            self.write(thread, at, &change);
        }
        self.write(thread, at, &Event::of_scheduler(executor as u16, event, || 0));
    }
}

impl Observer for Record<'_> {
    fn observe(&mut self, event: &SimulatorEvent) {
        let thread = self.last.get(event.executor).copied().flatten().unwrap_or(self.first_threads[event.executor]);
        match event.what {
            What::Scheduler(callback, of) => self.decision(event.at, event.executor, callback, &of),
            What::Arrived(callback) => {
                let queue = &mut self.callbacks[callback];
                let displaced = std::mem::take(&mut queue.displaces);
                let ticket = queue.queued;
                queue.queued += 1;
                // No thread of the executor sent it, as far as the simulator tells.
                self.write(0, event.at, &Event::Queued { queue: callback as u64 + 1, ticket, displaced });
            }
            What::Dropped(callback, _) => {
                let queue = &mut self.callbacks[callback];
                queue.displaces = true;
                queue.taken += 1;
                self.write(0, event.at, &Event::Lost { account: callback as u64 + 1, cause: 0, count: 1 });
            }
            What::Took(callback, Some(_)) => {
                let queue = &mut self.callbacks[callback];
                let ticket = queue.taken;
                queue.taken += 1;
                self.write(thread, event.at, &Event::Taken { queue: callback as u64 + 1, ticket });
            }
            _ => {}
        }
    }
}
