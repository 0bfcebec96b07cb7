//! Measures a message's way over Zenoh in one process, with an executor and with bare Zenoh (a subscriber's callback
//! and a thread), in turns: messages a second with at most 100 under way; latency, CPU and wake-ups at 10 kHz.
//!
//! `cargo run --release --example wire -- [ROUNDS [SECONDS]]`

#![allow(clippy::print_stdout, reason = "it is a command")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rospin_engine::{Context, ContextOptions, Executor, ExecutorOptions, SpinOptions};
use rospin_msgs::std_msgs::msg::{Float32MultiArray, UInt8MultiArray};
use rospin_zenoh::zenoh::sample::Sample;
use rospin_zenoh::zenoh::{self, Wait};
use rospin_zenoh::{Message, Publisher, PublisherOptions, Session, SessionOptions, SubscriptionOptions};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Largest number of messages that may be in flight.
const IN_FLIGHT: u64 = 100;
/// The period of 10 kHz.
const PERIOD: Duration = Duration::from_micros(100);
const DEPTH: usize = 1000;
const LARGE: usize = 64 << 10;

fn nanoseconds(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    tv_sec.unsigned_abs() * 1_000_000_000 + tv_nsec.unsigned_abs()
}

/// Returns how often threads of this process have gone to sleep so far.
fn sleeps() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux").flatten();
    let statuses = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    let count = |status: String| {
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:").map(str::to_owned));
        line.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    statuses.map(count).sum()
}

/// The messages that were heard: their number, and their latencies.
#[derive(Default)]
struct Ear {
    count: AtomicU64,
    /// Latency of each message in nanoseconds, by the message's number.
    latencies: Vec<AtomicU64>,
}

impl Ear {
    fn with_room(count: usize) -> Arc<Self> {
        Arc::new(Self { count: AtomicU64::new(0), latencies: (0..count).map(|_| AtomicU64::new(0)).collect() })
    }

    /// Hears a message whose last eight bytes are the time at which it was sent.
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

/// Sends for that long, with at most `IN_FLIGHT` messages under way; returns messages a second.
fn throughput(ear: &Ear, duration: Duration, mut send: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let first = ear.count.load(Ordering::Acquire);
    let mut sent = first;
    while begin.elapsed() < duration {
        while sent - ear.count.load(Ordering::Acquire) > IN_FLIGHT - 16 {
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

/// Latencies at 10 kHz in microseconds, the CPU time of all threads but the sending one in percent of a core, and how
/// often threads went to sleep for each message, the sending one included.
struct Latency {
    p50: f64,
    p99: f64,
    cpu: f64,
    sleeps: f64,
}

fn latency(ear: &Ear, mut send: impl FnMut(u64)) -> Latency {
    let asleep = sleeps();
    let begin = nanoseconds(ClockId::Monotonic);
    let process = nanoseconds(ClockId::ProcessCPUTime);
    let own = nanoseconds(ClockId::ThreadCPUTime);
    let period = u64::try_from(PERIOD.as_nanos()).unwrap();
    for number in 0..ear.latencies.len() as u64 {
        let due = begin + (number + 1) * period;
        let seconds = (due / 1_000_000_000).cast_signed();
        let rest = (due % 1_000_000_000).cast_signed();
        let due = Timespec { tv_sec: seconds, tv_nsec: rest };
        let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &due);
        send(nanoseconds(ClockId::Monotonic));
    }
    let others = (nanoseconds(ClockId::ProcessCPUTime) - process) - (nanoseconds(ClockId::ThreadCPUTime) - own);
    let cpu = others as f64 / (nanoseconds(ClockId::Monotonic) - begin) as f64;
    let asleep = sleeps() - asleep;
    while ear.count.load(Ordering::Acquire) < ear.latencies.len() as u64 {
        thread::yield_now();
    }
    let mut all: Vec<_> = ear.latencies.iter().map(|latency| latency.load(Ordering::Relaxed)).collect();
    all.sort_unstable();
    let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize] as f64 / 1e3;
    Latency { p50: at(0.5), p99: at(0.99), cpu: cpu * 100.0, sleeps: asleep as f64 / all.len() as f64 }
}

/// Returns a session that connects to no other.
fn session() -> Session {
    Session::open(SessionOptions::new().connect([]).listen([])).expect("a session")
}

/// A node that talks to itself, heard on an executor's thread.
struct Node<M: Message> {
    executor: Executor,
    publisher: Publisher<M>,
    _kept: Box<dyn std::any::Any>,
}

impl<M: Message> Node<M> {
    fn start(context: &Context, hear: impl Fn(&M) + Send + 'static) -> Self {
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let node = session().ros(context).create_node("wire").expect("a node");
        let publisher = node.create_publisher(PublisherOptions::new("bytes").keep_last(DEPTH)).expect("a publisher");
        let group = executor.create_group("ear", ());
        let options = SubscriptionOptions::new("bytes").keep_last(DEPTH);
        let hear = move |(): &mut (), message: M| hear(&message);
        let subscription = node.on(&group).create_subscription(options, hear).expect("a subscription");
        let matched = executor.spin_until(subscription.wait_for_publisher(), SpinOptions::new());
        matched.expect("it hears itself");
        Self { executor, publisher, _kept: Box::new((group, subscription)) }
    }

    /// Spins while `body` runs on another thread.
    fn spin<R: Send>(&self, body: impl FnOnce(&Publisher<M>) -> R + Send) -> R {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let halt = self.executor.handle();
            let publisher = &self.publisher;
            let is_over = &is_over;
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

/// Zenoh with nothing of ours: a callback that hands samples to a thread.
struct Bare {
    publisher: zenoh::pubsub::Publisher<'static>,
    _subscriber: zenoh::pubsub::Subscriber<()>,
    _session: Session,
}

impl Bare {
    fn start(ear: &Arc<Ear>) -> Self {
        let session = session();
        let (sender, receiver) = mpsc::channel::<Sample>();
        let ear = Arc::clone(ear);
        thread::spawn(move || {
            for sample in receiver {
                ear.hear(&sample.payload().to_bytes());
            }
        });
        let hear = move |sample| _ = sender.send(sample);
        let subscriber = session.zenoh().declare_subscriber("bytes").callback(hear).wait().expect("a subscriber");
        let publisher = session.zenoh().declare_publisher("bytes").wait().expect("a publisher");
        Self { publisher, _subscriber: subscriber, _session: session }
    }

    fn write(&self, bytes: Vec<u8>) {
        self.publisher.put(bytes).wait().expect("there is room");
    }
}

fn bytes(data: Vec<u8>) -> UInt8MultiArray {
    UInt8MultiArray { data: data.into(), ..UInt8MultiArray::default() }
}

/// Returns the message as a payload.
fn encoded(message: &impl serde::Serialize) -> Vec<u8> {
    let mut bytes = vec![0, 1, 0, 0];
    rospin_wire::cdr::append(&mut bytes, message).expect("a message");
    bytes
}

/// Messages a second of that kind, with an executor and without.
fn measure_throughput<M: Message + Clone + Sync>(message: &M, duration: Duration) -> [f64; 2] {
    let ear = Ear::with_room(0);
    let context = Context::new(ContextOptions::new());
    let heard = Arc::clone(&ear);
    let node = Node::<M>::start(&context, move |_| heard.hear(&[]));
    let ours = node
        .spin(|publisher| throughput(&ear, duration, || publisher.publish(message.clone()).expect("there is room")));
    drop((node, context));
    let ear = Ear::with_room(0);
    let bytes = encoded(message);
    let bare = Bare::start(&ear);
    let theirs = throughput(&ear, duration, || bare.write(bytes.clone()));
    [ours, theirs]
}

fn measure_latency(duration: Duration) -> [Latency; 2] {
    let count = usize::try_from(duration.as_nanos() / PERIOD.as_nanos()).unwrap();
    let ear = Ear::with_room(count);
    let context = Context::new(ContextOptions::new());
    let heard = Arc::clone(&ear);
    let node = Node::start(&context, move |message: &UInt8MultiArray| heard.hear(&message.data));
    let ours = node.spin(|publisher| {
        latency(&ear, |now| publisher.publish(bytes(now.to_ne_bytes().to_vec())).expect("there is room"))
    });
    drop((node, context));
    let ear = Ear::with_room(count);
    let bare = Bare::start(&ear);
    let theirs = latency(&ear, |now| bare.write(encoded(&bytes(now.to_ne_bytes().to_vec()))));
    [ours, theirs]
}

pub(crate) fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|number| number.parse().expect("a number")).collect();
    let rounds = numbers.first().copied().unwrap_or(3);
    let seconds = numbers.get(1).copied().unwrap_or(3);
    let duration = Duration::from_secs(seconds);
    let floats = Float32MultiArray { data: vec![7.0; LARGE / 4], ..Float32MultiArray::default() };
    for round in 1..=rounds {
        let rates = [
            ("0 B", measure_throughput(&bytes(Vec::new()), duration)),
            ("64 KiB uint8[]", measure_throughput(&bytes(vec![7; LARGE]), duration)),
            ("64 KiB float32[]", measure_throughput(&floats, duration)),
        ];
        for (name, [ours, theirs]) in rates {
            println!("{round}: {name}: {ours:.0}/s, bare {theirs:.0}/s, ratio {:.2}", ours / theirs);
        }
        let [ours, theirs] = measure_latency(duration);
        for (name, Latency { p50, p99, cpu, sleeps }) in [("executor", ours), ("bare", theirs)] {
            println!(
                "{round}: 10 kHz: {name}: p50 {p50:.1} us, p99 {p99:.1} us, CPU {cpu:.1} %, {sleeps:.2} sleeps a \
                 message"
            );
        }
    }
}
