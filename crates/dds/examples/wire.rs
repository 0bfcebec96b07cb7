//! Measures the wire: messages a second with at most 100 on their way, latency and CPU at 10 kHz, in one process, over Cyclone
//! DDS with an executor and over Cyclone DDS as it is (its own history cache, a listener and a thread), in turns.
//!
//! `cargo run --release --example wire --features bare -- [ROUNDS [SECONDS]]`

#![allow(clippy::print_stdout, reason = "it is a command")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rospin_dds::bare::Bare;
use rospin_dds::{Domain, DomainOptions, Publisher, PublisherOptions, SubscriptionOptions};
use rospin_engine::{Context, ContextOptions, Executor, ExecutorOptions, SpinOptions};
use rospin_msgs::std_msgs::msg::UInt8MultiArray;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// The most messages that may be on their way.
const IN_FLIGHT: u64 = 100;
/// At 10 kHz.
const PERIOD: Duration = Duration::from_micros(100);
const DOMAIN_ID: u16 = 77;
const LOOPBACK: &str = "<General><Interfaces><NetworkInterface name=\"lo\"/></Interfaces></General>";
const DEPTH: usize = 1000;

fn nanoseconds(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    tv_sec.unsigned_abs() * 1_000_000_000 + tv_nsec.unsigned_abs()
}

/// The number of messages that were heard, and how late each was.
#[derive(Default)]
struct Ear {
    count: AtomicU64,
    /// Nanoseconds, of each message by its number.
    latencies: Vec<AtomicU64>,
}

impl Ear {
    fn with_room(count: usize) -> Arc<Self> {
        Arc::new(Self { count: AtomicU64::new(0), latencies: (0..count).map(|_| AtomicU64::new(0)).collect() })
    }

    /// A message came; its last eight bytes are when it was sent.
    fn hear(&self, data: &[u8]) {
        let number = self.count.load(Ordering::Relaxed);
        if !self.latencies.is_empty()
            && let Some((_, sent)) = data.split_last_chunk()
        {
            let latency = nanoseconds(ClockId::Monotonic) - u64::from_ne_bytes(*sent);
            self.latencies[usize::try_from(number).unwrap()].store(latency, Ordering::Relaxed);
        }
        self.count.store(number + 1, Ordering::Release);
    }
}

/// Sends as long as it may, so that no more than `IN_FLIGHT` are on their way; returns messages a second.
fn throughput(ear: &Ear, duration: Duration, mut send: impl FnMut()) -> f64 {
    let (begin, first) = (Instant::now(), ear.count.load(Ordering::Acquire));
    let mut sent = first;
    while begin.elapsed() < duration {
        while sent - ear.count.load(Ordering::Acquire) >= IN_FLIGHT {
            thread::yield_now();
        }
        for _ in 0..16 {
            send();
            sent += 1;
        }
    }
    while ear.count.load(Ordering::Acquire) < sent {
        thread::yield_now();
    }
    (sent - first) as f64 / begin.elapsed().as_secs_f64()
}

/// Measures at 10 kHz how late messages are, in microseconds, and how much of a core all threads but the sending one take.
struct Latency {
    p50: f64,
    p99: f64,
    cpu: f64,
}

fn latency(ear: &Ear, mut send: impl FnMut(u64)) -> Latency {
    let (begin, process) = (nanoseconds(ClockId::Monotonic), nanoseconds(ClockId::ProcessCPUTime));
    let own = nanoseconds(ClockId::ThreadCPUTime);
    let period = u64::try_from(PERIOD.as_nanos()).unwrap();
    for number in 0..ear.latencies.len() as u64 {
        let due = begin + (number + 1) * period;
        let (seconds, rest) = ((due / 1_000_000_000).cast_signed(), (due % 1_000_000_000).cast_signed());
        let due = Timespec { tv_sec: seconds, tv_nsec: rest };
        let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &due);
        send(nanoseconds(ClockId::Monotonic));
    }
    let others = (nanoseconds(ClockId::ProcessCPUTime) - process) - (nanoseconds(ClockId::ThreadCPUTime) - own);
    let cpu = others as f64 / (nanoseconds(ClockId::Monotonic) - begin) as f64;
    while ear.count.load(Ordering::Acquire) < ear.latencies.len() as u64 {
        thread::yield_now();
    }
    let mut all: Vec<_> = ear.latencies.iter().map(|latency| latency.load(Ordering::Relaxed)).collect();
    all.sort_unstable();
    let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize] as f64 / 1e3;
    Latency { p50: at(0.5), p99: at(0.99), cpu: cpu * 100.0 }
}

/// A node that talks to itself, heard on an executor's thread.
struct Node {
    executor: Executor,
    publisher: Publisher<UInt8MultiArray>,
    _kept: Box<dyn std::any::Any>,
}

impl Node {
    fn start(context: &Context, ear: &Arc<Ear>) -> Self {
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let options = DomainOptions::new().domain_id(DOMAIN_ID).localhost().cyclonedds_uri(LOOPBACK);
        let domain = Domain::join(options).expect("a participant");
        let node = domain.ros(context).create_node("wire").expect("a node");
        let publisher = node.create_publisher(PublisherOptions::new("bytes").keep_last(DEPTH)).expect("a publisher");
        let (group, ear) = (executor.create_group("ear", ()), Arc::clone(ear));
        let options = SubscriptionOptions::new("bytes").keep_last(DEPTH);
        let hear = move |(): &mut (), message: UInt8MultiArray| ear.hear(&message.data);
        let subscription = node.on(&group).create_subscription(options, hear).expect("a subscription");
        let matched = executor.spin_until(subscription.wait_for_publisher(), SpinOptions::new());
        matched.expect("it hears itself");
        Self { executor, publisher, _kept: Box::new((group, subscription)) }
    }

    /// Spins while `body` runs on another thread.
    fn spin<R: Send>(&self, body: impl FnOnce(&Publisher<UInt8MultiArray>) -> R + Send) -> R {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let halt = self.executor.handle();
            let (publisher, is_over) = (&self.publisher, &is_over);
            let body = scope.spawn(move || {
                let result = body(publisher);
                is_over.store(true, Ordering::Relaxed);
                halt.halt();
                result
            });
            while !is_over.load(Ordering::Relaxed) {
                self.executor.spin(SpinOptions::new()).expect("it is halted");
            }
            body.join().expect("it does not panic")
        })
    }
}

fn message(data: Vec<u8>) -> UInt8MultiArray {
    UInt8MultiArray { data, ..UInt8MultiArray::default() }
}

/// The same as it travels.
fn encoded(data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 1, 0, 0];
    rospin_wire::cdr::append(&mut bytes, &message(data.to_vec())).expect("a message");
    bytes
}

/// Messages a second of that size.
fn measure_throughput(size: usize, duration: Duration) -> [f64; 2] {
    let ear = Ear::with_room(0);
    let context = Context::new(ContextOptions::new());
    let node = Node::start(&context, &ear);
    let ours = node.spin(|publisher| {
        let whole = message(vec![7; size]);
        throughput(&ear, duration, || publisher.publish(whole.clone()).expect("there is room"))
    });
    drop((node, context));
    let (ear, bytes) = (Ear::with_room(0), encoded(&vec![7; size]));
    let heard = Arc::clone(&ear);
    let bare = Bare::start(DOMAIN_ID, LOOPBACK, DEPTH as i32, move |bytes| heard.hear(bytes));
    let mut buffer = Vec::new();
    let theirs = throughput(&ear, duration, || {
        buffer.extend_from_slice(&bytes);
        bare.write(&mut buffer);
    });
    [ours, theirs]
}

fn measure_latency(duration: Duration) -> [Latency; 2] {
    let count = usize::try_from(duration.as_nanos() / PERIOD.as_nanos()).unwrap();
    let ear = Ear::with_room(count);
    let context = Context::new(ContextOptions::new());
    let node = Node::start(&context, &ear);
    let ours = node.spin(|publisher| {
        latency(&ear, |now| publisher.publish(message(now.to_ne_bytes().to_vec())).expect("there is room"))
    });
    drop((node, context));
    let ear = Ear::with_room(count);
    let heard = Arc::clone(&ear);
    let bare = Bare::start(DOMAIN_ID, LOOPBACK, DEPTH as i32, move |bytes| heard.hear(bytes));
    let theirs = latency(&ear, |now| bare.write(&mut encoded(&now.to_ne_bytes())));
    [ours, theirs]
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|number| number.parse().expect("a number")).collect();
    let (rounds, seconds) = (numbers.first().copied().unwrap_or(3), numbers.get(1).copied().unwrap_or(3));
    let duration = Duration::from_secs(seconds);
    for round in 1..=rounds {
        for (size, name) in [(0, "0 B"), (64 << 10, "64 KiB")] {
            let [ours, theirs] = measure_throughput(size, duration);
            println!("{round}: {name}: {ours:.0}/s, bare {theirs:.0}/s, ratio {:.2}", ours / theirs);
        }
        let [ours, theirs] = measure_latency(duration);
        for (name, Latency { p50, p99, cpu }) in [("executor", ours), ("bare", theirs)] {
            println!("{round}: 10 kHz: {name}: p50 {p50:.1} us, p99 {p99:.1} us, CPU {cpu:.1} %");
        }
    }
}
