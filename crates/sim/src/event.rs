//! What happens in a simulation, one thing after the other.

use std::fmt::Write as _;

use rospin_core::trace::TraceEvent;
use rospin_core::{Activation, Instant};
use rospin_scenario::Scenario;

/// Something that happened.
///
/// Executors, threads and callbacks are named by their number in the scenario; threads are counted over all executors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Event {
    /// When it happened. A release is the exception: it is seen now, and was at the time in its activation.
    pub at: Instant,
    /// The executor that it concerns.
    pub executor: usize,
    /// What it was.
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum What {
    /// The executor begins to spin.
    SpinStarted,
    /// The executor was told to stop.
    Halted,
    /// All its threads have stopped.
    SpinReturned,
    /// The scheduler did something with a callback, or with none of them.
    Scheduler(Option<usize>, TraceEvent),
    /// A message for a callback was put into its queue.
    Arrived(usize),
    /// The oldest message in a callback's queue had to make room, the one that arrived at that time.
    Dropped(usize, Instant),
    /// A fault: the executor was not told of the message that arrived last.
    NotificationLost(usize),
    /// A fault: the executor was told of a message that is not there.
    NotifiedForNothing(usize),
    /// A callback's activation took the message that arrived at that time, or found none.
    Took(usize, Option<Instant>),
    /// The thread has nothing to do, or has stopped.
    Parked(usize),
    /// The thread has something to do.
    Woken(usize),
    /// The thread got the core.
    Placed(usize, usize),
    /// The thread lost the core to another one, or changes to another core.
    Displaced(usize, usize),
    /// The thread waits for a lock that another one has.
    Blocked(usize, usize),
    /// The thread has got a lock.
    Locked(usize, usize),
    /// The thread has given a lock back.
    Unlocked(usize, usize),
    /// There is nothing left to do at this instant, in no executor.
    Settled,
}

/// Watches a simulation.
pub trait Observer {
    /// Something happened; called in order.
    fn observe(&mut self, event: &Event);
}

impl<F: FnMut(&Event)> Observer for F {
    fn observe(&mut self, event: &Event) {
        self(event);
    }
}

/// Writes events as text, one line each: the same bytes for the same simulation.
#[must_use]
pub fn render(scenario: &Scenario, events: &[Event]) -> String {
    let mut text = String::new();
    for event in events {
        let executor = scenario.executors.get(event.executor).map_or("?", |executor| executor.name.as_str());
        let line = line(scenario, &event.what);
        let _ = writeln!(text, "{:>16}  {executor}  {line}", format!("{:?}", event.at));
    }
    text
}

fn line(scenario: &Scenario, what: &What) -> String {
    let name = |callback: usize| scenario.callbacks.get(callback).map_or("?", |callback| callback.name.as_str());
    let named = |lock: usize| scenario.locks.get(lock).map_or("?", String::as_str);
    match *what {
        What::SpinStarted => "spins".to_owned(),
        What::Halted => "is halted".to_owned(),
        What::SpinReturned => "spins no more".to_owned(),
        What::Scheduler(callback, event) => decision(callback.map_or("?", name), &event),
        What::Arrived(callback) => format!("message for {}", name(callback)),
        What::Dropped(callback, arrival) => format!("{} loses the message of {arrival:?}", name(callback)),
        What::NotificationLost(callback) => format!("notification of {} is lost", name(callback)),
        What::NotifiedForNothing(callback) => format!("{} is notified for nothing", name(callback)),
        What::Took(callback, Some(arrival)) => format!("{} takes the message of {arrival:?}", name(callback)),
        What::Took(callback, None) => format!("{} finds no message", name(callback)),
        What::Parked(thread) => format!("thread {thread} parks"),
        What::Woken(thread) => format!("thread {thread} wakes"),
        What::Placed(thread, core) => format!("thread {thread} gets core {core}"),
        What::Displaced(thread, core) => format!("thread {thread} loses core {core}"),
        What::Blocked(thread, lock) => format!("thread {thread} waits for {}", named(lock)),
        What::Locked(thread, lock) => format!("thread {thread} takes {}", named(lock)),
        What::Unlocked(thread, lock) => format!("thread {thread} gives back {}", named(lock)),
        What::Settled => "-".to_owned(),
    }
}

fn decision(name: &str, event: &TraceEvent) -> String {
    let of = |activation: &Activation| format!("{name} #{}.{}", activation.sequence, activation.segment);
    match event {
        TraceEvent::Released(activation) => format!("{} ready since {:?}", of(activation), activation.release),
        TraceEvent::Antedated(activation) => format!("{} ready since {:?} already", of(activation), activation.release),
        TraceEvent::Dispatched(thread, activation) => format!("{} runs on t{}", of(activation), thread.0),
        TraceEvent::Suspended(activation) => format!("{} waits", of(activation)),
        TraceEvent::Completed(activation) => format!("{} ends", of(activation)),
        TraceEvent::PollingPoint(thread) => format!("t{} polls", thread.0),
        TraceEvent::Collected(activation) => format!("{} is in the ready set", of(activation)),
        TraceEvent::Overrun(_, count) => format!("{name} gives up {count} due times"),
        other => format!("{name} {other:?}"),
    }
}
