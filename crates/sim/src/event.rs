//! Events of a simulation.

use std::fmt::Write as _;

use rospin_core::trace::TraceEvent;
use rospin_core::{Activation, Instant};
use rospin_scenario::Scenario;

/// Event of a simulation.
///
/// Executors, threads and callbacks have their number in the scenario. Threads are numbered over all executors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Event {
    /// Time of the event. For a release it is the time at which the scheduler learned of it; the release time is in the
    /// activation.
    pub at: Instant,
    /// Number of the executor; 0 for [`Settled`](What::Settled), which is about all of them.
    pub executor: usize,
    /// Kind of the event.
    pub what: What,
}

/// Kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum What {
    /// The executor started to spin.
    SpinStarted,
    /// The executor was halted.
    Halted,
    /// The spin returned: all of its threads have stopped.
    SpinReturned,
    /// The scheduler recorded a trace event. The number is that of the callback, if the event is about one.
    Scheduler(Option<usize>, TraceEvent),
    /// A message was put into the queue of the callback with this number. For a callback that joins topics: it has a
    /// message of each topic.
    Arrived(usize),
    /// A newer message displaced the oldest one in the callback's queue. The time is the displaced message's arrival.
    Dropped(usize, Instant),
    /// A fault of the scenario: the executor was not notified of the callback's last message.
    NotificationLost(usize),
    /// A fault of the scenario: the executor was notified although the callback has no new message.
    NotifiedForNothing(usize),
    /// An activation of the callback took the message that had arrived at this time, or found no message.
    Took(usize, Option<Instant>),
    /// The thread with this number found nothing to run and parked, or has stopped.
    Parked(usize),
    /// The thread with this number was woken.
    Woken(usize),
    /// The thread (first number) got the core (second number).
    Placed(usize, usize),
    /// The thread (first number) lost the core (second number): to another thread, or because it moves to another core,
    /// waits for a lock, parks or stops.
    Displaced(usize, usize),
    /// The thread (first number) waits for the lock (second number), which another thread holds.
    Blocked(usize, usize),
    /// The thread (first number) took the lock (second number).
    Locked(usize, usize),
    /// The thread (first number) released the lock (second number).
    Unlocked(usize, usize),
    /// An activation of the callback (first number) sent a request to the accelerator (second number).
    Requested(usize, usize),
    /// A segment of the callback (first number) started on the accelerator (second number), on the lane (third number).
    SegmentStarted(usize, usize, usize),
    /// The segment of the callback (first number) on the accelerator (second number) ended, on the lane (third number).
    SegmentEnded(usize, usize, usize),
    /// No executor has anything left to do at this instant.
    Settled,
}

/// Observer of a simulation, which [`Simulation::observe`](crate::Simulation::observe) adds. Closures of `&Event` are
/// observers.
pub trait Observer {
    /// Handles an event. Events come in order.
    fn observe(&mut self, event: &Event);
}

impl<F: FnMut(&Event)> Observer for F {
    fn observe(&mut self, event: &Event) {
        self(event);
    }
}

/// Formats events as text, one per line. Equal simulations give equal texts.
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
    let accelerator =
        |device: usize| scenario.accelerators.get(device).map_or("?", |accelerator| accelerator.name.as_str());
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
        What::Requested(callback, device) => format!("{} asks {}", name(callback), accelerator(device)),
        What::SegmentStarted(callback, device, lane) => {
            format!("{} runs on lane {lane} of {}", name(callback), accelerator(device))
        }
        What::SegmentEnded(callback, device, lane) => {
            format!("{} leaves lane {lane} of {}", name(callback), accelerator(device))
        }
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
