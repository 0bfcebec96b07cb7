//! The system that every contender runs: subscriptions, timers, and callbacks that count.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use rospin_engine::{Context, ContextOptions, Instant, Publisher, TopicError};

use crate::crunch::{Calibration, crunch_about};

use super::workload::{Cell, DEPTH, TIMERS_HZ, Workload};

/// Message of the experiment, with the time of its publication.
pub(crate) struct Message {
    /// Time of publication under [`Workload::FixedRate`], and otherwise zero.
    pub(crate) sent: Instant,
    pub(crate) payload: Box<[u64]>,
}

impl Message {
    /// Returns a message with a payload of this size, without a time of publication.
    pub(crate) fn new(bytes: usize) -> Self {
        Self { sent: Instant::ZERO, payload: vec![0; bytes / size_of::<u64>()].into() }
    }
}

/// Callback of a subscription.
pub(crate) type OnMessage = Box<dyn FnMut(Arc<Message>) + Send>;
/// Callback of a timer.
pub(crate) type OnTick = Box<dyn FnMut() + Send>;

/// A subscription that a contender must have.
pub(crate) struct Subscription {
    pub(crate) topic: String,
    /// Number of the group. Callbacks of one group exclude each other.
    pub(crate) group: usize,
    pub(crate) callback: OnMessage,
}

/// A timer that a contender must have.
pub(crate) struct Timer {
    /// Number of the group.
    pub(crate) group: usize,
    pub(crate) period: Duration,
    /// Time from the start to the first due time.
    pub(crate) delay: Duration,
    pub(crate) callback: OnTick,
}

/// The subscriptions and timers that a contender has to run, and the threads that it has for them.
pub(crate) struct System {
    pub(crate) context: Context,
    /// Number of callback groups.
    pub(crate) groups: usize,
    pub(crate) subscriptions: Vec<Subscription>,
    pub(crate) timers: Vec<Timer>,
    /// Number of threads that run callbacks.
    pub(crate) threads: usize,
    /// Time for which rospin's threads look for work before they sleep.
    pub(crate) busy_poll: Duration,
}

/// Counts and latencies of callbacks, for the measurement.
#[derive(Clone)]
pub(crate) struct Tallies {
    /// Number of runs of each callback: those of subscriptions, then those of timers.
    runs: Vec<Counter>,
    /// Number of subscriptions.
    subscriptions: usize,
    latencies: Arc<Latencies>,
}

impl Tallies {
    /// Returns the number of runs of all callbacks so far.
    pub(crate) fn runs(&self) -> u64 {
        sum(&self.runs)
    }

    /// Returns the number of messages that callbacks ran for so far.
    pub(crate) fn messages(&self) -> u64 {
        sum(&self.runs[..self.subscriptions])
    }

    pub(crate) fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// Returns the counter of one more callback of the cell.
    fn add(&mut self, cell: &Cell) -> Counter {
        let runs = Counter::new(cell);
        self.runs.push(runs.clone());
        runs
    }
}

fn sum(counters: &[Counter]) -> u64 {
    counters.iter().map(Counter::get).sum()
}

/// Counter of a callback's runs: the number in the middle. The others only keep it apart from other memory.
#[derive(Clone)]
struct Counter(Arc<[AtomicU64]>);

impl Counter {
    /// Creates the counter of a callback of the cell.
    fn new(cell: &Cell) -> Self {
        /// The numbers on two cache lines, which processors fetch together.
        const APART: usize = 16;
        // Only this workload has several threads that count. Two counters on one cache line would slow down all of its
        // contenders: false sharing.
        let apart = if cell.workload == Workload::Threads { APART } else { 0 };
        Self((0..=2 * apart).map(|_| AtomicU64::new(0)).collect())
    }

    /// Counts a run. A callback never runs twice at once, so the counter needs no atomic increment, although a model
    /// may run its callback on different threads.
    fn count(&self) {
        self.runs().store(self.get() + 1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.runs().load(Ordering::Relaxed)
    }

    fn runs(&self) -> &AtomicU64 {
        &self.0[self.0.len() / 2]
    }
}

/// Latencies, in the order in which callbacks recorded them. Memory is allocated beforehand; latencies beyond it are
/// left out.
pub(crate) struct Latencies {
    /// Number of latencies that were recorded, with those that were left out.
    used: AtomicUsize,
    ns: Box<[AtomicU32]>,
}

impl Latencies {
    fn new(room: usize) -> Self {
        Self { used: AtomicUsize::new(0), ns: (0..room).map(|_| AtomicU32::new(0)).collect() }
    }

    fn add(&self, latency: Duration) {
        let at = self.used.fetch_add(1, Ordering::Relaxed);
        if let Some(slot) = self.ns.get(at) {
            slot.store(u32::try_from(latency.as_nanos()).unwrap_or(u32::MAX), Ordering::Relaxed);
        }
    }

    /// Returns the number of latencies so far, without those that were left out.
    pub(crate) fn count(&self) -> usize {
        self.used.load(Ordering::Relaxed).min(self.ns.len())
    }

    /// Returns the latencies from the one with the number `from` to before the one with the number `to`, in
    /// nanoseconds.
    pub(crate) fn between(&self, from: usize, to: usize) -> Vec<u32> {
        self.ns[from..to].iter().map(|ns| ns.load(Ordering::Relaxed)).collect()
    }
}

/// Returns the name of the topic with that number.
pub(crate) fn topic(number: usize) -> String {
    format!("topic{number}")
}

/// Returns a system for the cell, and its tallies. `latencies` is the number of latencies to have memory for.
pub(crate) fn build(
    cell: &Cell,
    threads: usize,
    busy_poll: Duration,
    calibration: Calibration,
    latencies: usize,
) -> Result<(System, Tallies), TopicError> {
    let context = Context::new(ContextOptions::new());
    let mut tallies =
        Tallies { runs: Vec::new(), subscriptions: cell.subscriptions, latencies: Arc::new(Latencies::new(latencies)) };
    let groups = match cell.workload {
        Workload::Saturation | Workload::FixedRate => 1,
        Workload::FanIn => 10,
        Workload::Threads => cell.subscriptions,
    };
    let mut subscriptions = Vec::new();
    for number in 0..cell.subscriptions {
        let topic = match cell.workload {
            Workload::Saturation | Workload::FixedRate => topic(0),
            Workload::FanIn | Workload::Threads => topic(number),
        };
        let callback = match cell.workload {
            Workload::Saturation | Workload::FanIn => reads(tallies.add(cell)),
            Workload::FixedRate => times(tallies.add(cell), &context, Arc::clone(&tallies.latencies)),
            Workload::Threads => {
                let work = Duration::from_micros(u64::from(cell.work_us));
                works(tallies.add(cell), (work, calibration), context.create_local_publisher(topic.as_str())?)
            }
        };
        subscriptions.push(Subscription { topic, group: number % groups, callback });
    }
    let count = cell.entities - cell.subscriptions;
    let timers = (0..count).map(|number| {
        let period = Duration::from_secs(1) * u32::try_from(count).unwrap_or(u32::MAX) / TIMERS_HZ;
        let delay = period.mul_f64((number + 1) as f64 / count as f64);
        Timer { group: number % groups, period, delay, callback: ticks(tallies.add(cell)) }
    });
    let timers = timers.collect();
    Ok((System { context, groups, subscriptions, timers, threads, busy_poll }, tallies))
}

/// Returns a callback that reads the whole message.
fn reads(runs: Counter) -> OnMessage {
    Box::new(move |message| {
        let sum = message.payload.iter().fold(0, |sum: u64, word| sum.wrapping_add(*word));
        std::hint::black_box(sum);
        runs.count();
    })
}

/// Returns a callback that records the latency of each message.
fn times(runs: Counter, context: &Context, latencies: Arc<Latencies>) -> OnMessage {
    let clock = context.clock().clone();
    Box::new(move |message| {
        latencies.add(clock.now().saturating_since(message.sent));
        runs.count();
    })
}

/// Returns a callback that does the work and publishes its message again, on `next`, so that a callback runs again.
fn works(runs: Counter, work: (Duration, Calibration), next: Publisher<Message>) -> OnMessage {
    let (work, calibration) = work;
    Box::new(move |message| {
        crunch_about(work, calibration);
        runs.count();
        next.publish(message);
    })
}

/// Returns a timer's callback, which does nothing but count.
fn ticks(runs: Counter) -> OnTick {
    Box::new(move || runs.count())
}

/// Returns the options of every subscription.
pub(crate) fn options(topic: &str) -> rospin_engine::SubscriptionOptions {
    rospin_engine::SubscriptionOptions::new(topic).keep_last(DEPTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_has_what_it_says() {
        for cell in Workload::ALL.into_iter().flat_map(Workload::cells) {
            let (system, tallies) = build(&cell, 1, Duration::ZERO, Calibration { divisions_per_ns: 1.0 }, 0).unwrap();
            assert_eq!(system.subscriptions.len(), cell.subscriptions);
            assert_eq!(system.subscriptions.len() + system.timers.len(), cell.entities);
            assert_eq!((tallies.runs(), tallies.runs.len()), (0, cell.entities));
            assert!(system.subscriptions.iter().all(|subscription| subscription.group < system.groups));
        }
    }

    #[test]
    fn latencies_beyond_the_room_are_left_out() {
        let latencies = Latencies::new(2);
        for us in 1..4 {
            latencies.add(Duration::from_micros(us));
        }
        assert_eq!(latencies.between(0, latencies.count()), [1_000, 2_000]);
    }
}
