//! The cost of a request beside direct launches on a GPU: `cargo bench -p rospin-cuda --bench overhead`.
//!
//! Prints two tables and never fails, since a busy machine must not fail a test. All ways take turns in one run. Direct
//! is what a program does without the accelerator: it launches a kernel on a stream of its own and waits for it, by
//! spinning, as CUDA does unless it is asked to sleep, or by sleeping.

#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaEvent, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg, sys};
use cudarc::nvrtc::compile_ptx;
use futures::executor::block_on;
use rospin_accelerator::{Accelerator, AcceleratorOptions, Client, ClientOptions, Request, Segment};
use rospin_cuda::{CudaDevice, CudaOptions, CudaWork, Graph, Waiting};

/// A kernel that takes about so many microseconds, as the device's clock has it.
const SOURCE: &str = r#"
extern "C" __global__ void busy(unsigned long long *sum, unsigned long long us, unsigned long long cycles_per_us) {
    unsigned long long start = clock64();
    unsigned long long rounds = 0;
    while (clock64() - start < us * cycles_per_us) rounds++;
    if (blockIdx.x == 0 && threadIdx.x == 0) *sum = rounds;
}
"#;

/// Number of requests whose median is the latency.
const REQUESTS: usize = 500;
/// Number of segments that the device has to do without a pause.
const BACKLOG: usize = 400;
/// The time before the end of a segment at which the next one is picked, for the ways that pick ahead.
const AHEAD: Duration = Duration::from_micros(250);

/// The kernel, ready to be launched by any thread.
#[derive(Clone)]
struct Busy {
    function: CudaFunction,
    sum: Arc<CudaSlice<u64>>,
    cycles_per_us: u64,
    /// The number of blocks that fill the device, so that two kernels do not run beside each other.
    blocks: u32,
}

/// Number of threads of a block. A multiprocessor has room for twice as many.
const THREADS: u32 = 1024;

impl Busy {
    fn launch(&self, stream: &Arc<CudaStream>, us: u64) -> Result<(), DriverError> {
        let mut launch = stream.launch_builder(&self.function);
        launch.arg(&*self.sum).arg(&us).arg(&self.cycles_per_us);
        let all = LaunchConfig { grid_dim: (self.blocks, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the arguments are those of the kernel, which writes the one number that it is given.
        unsafe { launch.launch(all) }.map(drop)
    }

    fn segment(&self, us: u64) -> Segment<CudaWork> {
        let busy = self.clone();
        Segment::new(CudaWork::new(move |stream| busy.launch(stream, us))).bound(Duration::from_micros(2 * us + 100))
    }
}

/// A way through the accelerator.
struct Way {
    name: &'static str,
    lanes: usize,
    waiting: Waiting,
    ahead: Duration,
}

impl Way {
    const fn new(name: &'static str, lanes: usize, waiting: Waiting, ahead: Duration) -> Self {
        Self { name, lanes, waiting, ahead }
    }
}

const WAYS: [Way; 6] = [
    Way::new("one lane", 1, Waiting::Sleep, Duration::ZERO),
    Way::new("one lane, spins", 1, Waiting::Spin, Duration::ZERO),
    Way::new("one lane, ahead", 1, Waiting::Sleep, AHEAD),
    Way::new("one lane, ahead, spins", 1, Waiting::Spin, AHEAD),
    Way::new("two lanes", 2, Waiting::Sleep, Duration::ZERO),
    Way::new("two lanes, ahead", 2, Waiting::Sleep, AHEAD),
];

/// An accelerator of a way, with a client for each lane.
struct Through {
    name: &'static str,
    clients: Vec<Client<CudaDevice>>,
    device: Arc<CudaDevice>,
    /// The kernel of this way's device.
    busy: Busy,
}

fn open(waiting: Waiting, lanes: usize) -> Result<(Arc<CudaDevice>, Busy), Box<dyn std::error::Error>> {
    let device = Arc::new(CudaDevice::open(CudaOptions::new().lanes(lanes).waiting(waiting))?);
    // SAFETY: the kernel's memory is a number that nobody reads. Events of the tracking could not be captured in a
    // graph.
    unsafe { device.context().disable_event_tracking() };
    let function = device.context().load_module(compile_ptx(SOURCE)?)?.load_function("busy")?;
    let stream = device.context().new_stream()?;
    let processors = device.context().attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let blocks = 2 * u32::try_from(processors)?;
    let mut busy = Busy { function, sum: Arc::new(stream.alloc_zeros(1)?), cycles_per_us: 1_000, blocks };
    // The clock's rate: how long a million cycles take on a device that has warmed up.
    for _ in 0..20 {
        busy.launch(&stream, 10_000)?;
    }
    stream.synchronize()?;
    let start = Instant::now();
    for _ in 0..20 {
        busy.launch(&stream, 10_000)?;
    }
    stream.synchronize()?;
    let us = start.elapsed().as_secs_f64() * 1e6;
    busy.cycles_per_us = (20.0 * 10_000.0 * 1_000.0 / us).round() as u64;
    Ok((device, busy))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (device, busy) = match CudaDevice::open(CudaOptions::new()) {
        Ok(_) => open(Waiting::Sleep, 1)?,
        Err(reason) => {
            println!("SKIPPED: {reason}");
            return Ok(());
        }
    };
    println!("{}", device.name());
    let mut through = Vec::new();
    for way in &WAYS {
        let (device, busy) = open(way.waiting, way.lanes)?;
        let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new().ahead(way.ahead));
        let create = |_| gpu.create_client(ClientOptions::new("one").depth(2 * BACKLOG)).expect("a client");
        through.push(Through { name: way.name, clients: (0..way.lanes).map(create).collect(), device, busy });
    }
    latencies(&device, &busy, &through)?;
    many_small(&through[1])?;
    backlogs(&device, &busy, &through)?;
    Ok(())
}

fn latencies(device: &CudaDevice, busy: &Busy, through: &[Through]) -> Result<(), DriverError> {
    println!("an idle device: from request to end, median of {REQUESTS} in microseconds (of direct with sleep)");
    let stream = device.context().new_stream()?;
    let end = device.context().new_event(Some(sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC))?;
    for us in [0, 60, 200, 1_000, 2_500] {
        let mut spinning = Vec::new();
        let mut sleeping = Vec::new();
        let mut ways: Vec<Vec<Duration>> = through.iter().map(|_| Vec::new()).collect();
        for _ in 0..REQUESTS.min(2_000_000 / (us as usize + 100)) {
            spinning.push(timed(|| {
                busy.launch(&stream, us)?;
                stream.synchronize()
            })?);
            sleeping.push(timed(|| direct_sleeping(busy, &stream, &end, us))?);
            for (way, times) in through.iter().zip(&mut ways) {
                times.push(timed(|| {
                    let request = Request::new([way.busy.segment(us)]);
                    block_on(way.clients[0].request(request).expect("room")).expect("an outcome");
                    Ok(())
                })?);
            }
        }
        let sleeping = median(sleeping);
        println!("  kernel of {us:5}   direct, spins {:8.1}   direct, sleeps {sleeping:8.1}", median(spinning));
        for (way, times) in through.iter().zip(ways) {
            let time = median(times);
            println!("    {:<24} {time:8.1}   {:.2}", way.name, time / sleeping);
        }
    }
    Ok(())
}

/// Number of kernels of a segment of many small ones.
const SMALL: usize = 100;

/// Measures a segment of many empty kernels: launched one by one, and as a graph.
fn many_small(through: &Through) -> Result<(), Box<dyn std::error::Error>> {
    let busy = &through.busy;
    let put = |busy: &Busy, stream: &Arc<CudaStream>| {
        for _ in 0..SMALL {
            busy.launch(stream, 0)?;
        }
        Ok(())
    };
    let graph = Graph::capture(&through.device, |stream| put(busy, stream))?;
    let mut singly = Vec::new();
    let mut at_once = Vec::new();
    let request = |work| {
        timed(|| {
            let request = Request::new([Segment::new(work)]);
            block_on(through.clients[0].request(request).expect("room")).expect("an outcome");
            Ok(())
        })
    };
    for _ in 0..REQUESTS {
        let busy = busy.clone();
        singly.push(request(CudaWork::new(move |stream| put(&busy, stream)))?);
        at_once.push(request(graph.work())?);
    }
    let singly = median(singly);
    let at_once = median(at_once);
    println!("a segment of {SMALL} empty kernels, {}", through.name);
    println!("  launched one by one {singly:8.1}   as a graph {at_once:8.1}   {:.2}", at_once / singly);
    Ok(())
}

fn direct_sleeping(busy: &Busy, stream: &Arc<CudaStream>, end: &CudaEvent, us: u64) -> Result<(), DriverError> {
    busy.launch(stream, us)?;
    end.record(stream)?;
    end.synchronize()
}

fn backlogs(device: &CudaDevice, busy: &Busy, through: &[Through]) -> Result<(), DriverError> {
    println!("a full device: {BACKLOG} kernels, a second (of a stream that is full)");
    let stream = device.context().new_stream()?;
    for us in [0, 60, 200, 1_000, 2_500] {
        let direct = timed(|| {
            for _ in 0..BACKLOG {
                busy.launch(&stream, us)?;
            }
            stream.synchronize()
        })?;
        let rate = |time: Duration| BACKLOG as f64 / time.as_secs_f64();
        println!("  kernel of {us:5}   direct {:9.0}", rate(direct));
        for way in through {
            let lanes = way.clients.len();
            let time = timed(|| {
                let each = BACKLOG / lanes;
                let request = || (0..each).map(|_| way.busy.segment(us)).collect();
                let all: Vec<_> = way.clients.iter().map(|client| client.request(request()).expect("room")).collect();
                for completion in all {
                    block_on(completion).expect("an outcome");
                }
                Ok(())
            })?;
            println!("    {:<24} {:9.0}   {:.3}", way.name, rate(time), rate(time) / rate(direct));
        }
    }
    Ok(())
}

fn timed(of: impl FnOnce() -> Result<(), DriverError>) -> Result<Duration, DriverError> {
    let start = Instant::now();
    of()?;
    Ok(start.elapsed())
}

fn median(mut all: Vec<Duration>) -> f64 {
    all.sort();
    all[all.len() / 2].as_secs_f64() * 1e6
}
