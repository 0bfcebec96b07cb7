//! The cost of a request beside a direct launch: `cargo bench -p rospin-accelerator --bench overhead`.
//!
//! Prints a table and never fails, since a busy machine must not fail a test. In virtual time the device takes no time,
//! so that only the processor's time is measured. In real time the latency is that of a request of one kernel to an
//! idle device, and the throughput that of a backlog: the device itself goes from one segment to the next at once, and
//! the accelerator's thread has to wake up in between.

#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::sync::{Arc, Mutex, Weak, mpsc};
use std::time::{Duration, Instant};

use rospin_accelerator::model::{Machine, ModelOptions, ModelWork, RealTimeDevice, RealTimeOptions, VirtualDevice};
use rospin_accelerator::{
    Accelerator, AcceleratorOptions, Backend, Client, ClientOptions, Ended, Launch, Listener, Priority, Request,
    Segment,
};

/// The number of measurements of each case. The fastest one counts, since noise only adds time.
const ROUNDS: usize = 15;
const REQUESTS: u32 = 20_000;

fn main() {
    println!("processor time of a request, in nanoseconds (fastest of {ROUNDS} rounds of {REQUESTS})");
    let direct = fastest(direct);
    println!("  direct launch on the model device              {direct:8.0}");
    for (name, segments, clients) in
        [("one segment", 1, 1), ("one segment, 20 clients wait", 1, 20), ("four segments", 4, 1)]
    {
        let through = fastest(|| through(segments, clients));
        println!("  through the accelerator, {name:<28} {through:5.0}   {:+.0}", through - direct);
    }
    println!("kernels in real time, in microseconds from request to end");
    for length_us in [0, 100, 1000] {
        let direct = latency_direct(length_us);
        let through = latency_through(length_us);
        println!("  kernel of {length_us:4}   direct {direct:8.1}   through {through:8.1}   {:.3}", through / direct);
    }
    throughput();
}

/// The number of segments that the device has to do without a pause.
const BACKLOG: u64 = 300;

fn throughput() {
    println!("kernels of a full device in real time, in segments a second");
    for length_us in [200, 1000, 2500] {
        let direct = backlog_direct(length_us);
        let through = backlog_through(length_us);
        println!("  kernel of {length_us:4}   direct {direct:8.1}   through {through:8.1}   {:.3}", through / direct);
    }
}

/// Returns the segments a second of a queue on the device itself.
fn backlog_direct(length_us: u64) -> f64 {
    let device = device();
    let (send, ends) = mpsc::channel();
    let listener: Arc<dyn Listener> = Arc::new(Direct(Mutex::new(send)));
    device.connect(Arc::downgrade(&listener));
    let start = Instant::now();
    for ticket in 0..BACKLOG {
        let work = ModelWork::kernel(Duration::from_micros(length_us));
        device.submit(Launch { lane: 0, ticket, priority: Priority(0), work }).expect("a lane");
    }
    for _ in 0..BACKLOG {
        drop(ends.recv().expect("an end"));
    }
    BACKLOG as f64 / start.elapsed().as_secs_f64()
}

/// Returns the segments a second of a request of as many segments.
fn backlog_through(length_us: u64) -> f64 {
    let gpu = Accelerator::new(device(), AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("one")).expect("a client");
    let length = Duration::from_micros(length_us);
    let segments = (0..BACKLOG).map(|_| Segment::new(ModelWork::kernel(length)).bound(length));
    let start = Instant::now();
    futures::executor::block_on(client.request(segments.collect()).expect("room")).expect("an outcome");
    BACKLOG as f64 / start.elapsed().as_secs_f64()
}

fn fastest(round: impl Fn() -> f64) -> f64 {
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn per_request(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64 / f64::from(REQUESTS)
}

fn direct() -> f64 {
    let mut machine = Machine::new(ModelOptions::new());
    let start = Instant::now();
    for ticket in 0..u64::from(REQUESTS) {
        let now = rospin_accelerator::Instant::from_nanos(ticket);
        machine.submit(now, 0, ticket, Priority(0), ModelWork::kernel(Duration::ZERO));
        std::hint::black_box(machine.step(now));
    }
    per_request(start)
}

/// Returns the cost of a request. `clients` clients send one each, and then the device runs them all.
fn through(segments: usize, clients: u32) -> f64 {
    let device = Arc::new(VirtualDevice::new(ModelOptions::new()));
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
    let create = |n| gpu.create_client(ClientOptions::new("client").priority(Priority(n))).expect("a client");
    let clients: Vec<Client<_>> = (0..clients).map(create).collect();
    let mut completions = Vec::with_capacity(clients.len());
    // The device takes a nanosecond for each segment, so that requests wait for each other.
    let kernel = || Segment::new(ModelWork::kernel(Duration::from_nanos(1))).bound(Duration::from_nanos(1));
    let start = Instant::now();
    for _ in 0..REQUESTS as usize / clients.len() {
        for client in &clients {
            completions.push(client.request((0..segments).map(|_| kernel()).collect()).expect("room"));
        }
        device.run_until(device.now() + Duration::from_micros(1));
        assert!(completions.drain(..).all(|mut completion| completion.try_take().is_some()));
    }
    per_request(start)
}

/// A listener that passes on the ends, as a program without an accelerator would.
struct Direct(Mutex<mpsc::Sender<Ended>>);

impl Listener for Direct {
    fn ended(&self, ended: Ended) {
        let _ = self.0.lock().expect("no panic").send(ended);
    }
    fn alarm(&self, _: rospin_accelerator::Instant) {}
    fn lost(&self, _: &str) {}
}

fn median(mut of: impl FnMut()) -> f64 {
    let mut all: Vec<f64> = (0..300)
        .map(|_| {
            let start = Instant::now();
            of();
            start.elapsed().as_nanos() as f64 / 1e3
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn device() -> Arc<RealTimeDevice> {
    Arc::new(RealTimeDevice::start(RealTimeOptions::new(ModelOptions::new())).expect("a thread"))
}

fn latency_direct(length_us: u64) -> f64 {
    let device = device();
    let (send, ends) = mpsc::channel();
    let listener: Arc<dyn Listener> = Arc::new(Direct(Mutex::new(send)));
    let weak: Weak<dyn Listener> = Arc::downgrade(&listener);
    device.connect(weak);
    median(|| {
        let work = ModelWork::kernel(Duration::from_micros(length_us));
        device.submit(Launch { lane: 0, ticket: 0, priority: Priority(0), work }).expect("a lane");
        ends.recv().expect("an end").result.expect("no failure");
    })
}

fn latency_through(length_us: u64) -> f64 {
    let gpu = Accelerator::new(device(), AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("one")).expect("a client");
    median(|| {
        let length = Duration::from_micros(length_us);
        let segment = Segment::new(ModelWork::kernel(length)).bound(length);
        futures::executor::block_on(client.request(Request::new([segment])).expect("room")).expect("an outcome");
    })
}
