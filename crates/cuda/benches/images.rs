//! Images of 8 MiB on their way from a camera to a kernel of a detector in the same process:
//! `cargo bench -p rospin-cuda --bench images`.
//!
//! Prints a table and never fails, since a busy machine must not fail a test. A latency is from the camera's publish to
//! the end of the request in the detector's callback. It has the way of the message, the copy to the device, and a
//! kernel that adds up all bytes. The camera's own work is not in it. The ways take turns, frame by frame. Without a
//! device, it says so in one line.

#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use cudarc::driver::{CudaFunction, CudaSlice, CudaView, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::compile_ptx;
use futures::channel::oneshot;
use rospin::msgs::sensor_msgs::msg::Image;
use rospin::{Blob, Context, ContextOptions, ExecutorOptions, Node, Publisher, Ros, SpinOptions, Subscription};
use rospin_accelerator::{Accelerator, AcceleratorOptions, ClientOptions, Request, Segment};
use rospin_cuda::{CudaDevice, CudaOptions, CudaWork, FramePool, read_on};

const BYTES: usize = 8 << 20;
const WARM_UP: usize = 20;
const FRAMES: usize = 200;

/// Adds up the bytes.
const SOURCE: &str = r#"
extern "C" __global__ void sum(const unsigned char *x, int n, unsigned long long *into) {
    unsigned long long own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += x[i];
    atomicAdd(into, own);
}
"#;

/// The way from the camera to the kernel.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// The camera fills frames of a pool, and the detector reads them on the device.
    Frames,
    /// The same, and an ordinary subscription reads the bytes meanwhile.
    FramesAndBytes,
    /// The camera fills vectors, and the detector copies each to the device.
    Vectors,
}

const WAYS: [(Way, &str); 3] = [
    (Way::Frames, "frames of a pool"),
    (Way::FramesAndBytes, "frames, and a subscription that reads the bytes"),
    (Way::Vectors, "vectors, which the detector copies"),
];

/// A detector: its end of each request, and the sums that its kernels make.
struct Detector {
    _subscription: Subscription,
    ends: Receiver<Instant>,
    sums: Arc<CudaSlice<u64>>,
}

fn main() -> anyhow::Result<()> {
    let device = match CudaDevice::open(CudaOptions::new()) {
        Ok(device) => Arc::new(device),
        Err(reason) => {
            println!("SKIPPED: {reason}");
            return Ok(());
        }
    };
    println!("images of {BYTES} bytes from publish to the end of the kernel on {}, {FRAMES} each", device.name());
    let sum = device.context().load_module(compile_ptx(SOURCE)?)?.load_function("sum")?;
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
    let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    let node = ros.create_node("bench")?;
    let frames = FramePool::new(&device, BYTES, 4)?;

    let mut detectors = Vec::new();
    let mut cameras = Vec::new();
    for (way, _) in WAYS {
        detectors.push(detector(&node, &device, &gpu, &sum, way)?);
        cameras.push(node.create_publisher::<Image>(topic(way))?);
    }
    let (send, _read) = channel();
    let read = move |image: &Image| send.send(image.data.iter().map(|byte| u64::from(*byte)).sum::<u64>());
    let viewers = ros.context().create_executor(ExecutorOptions::new("viewers"));
    let viewer_group = viewers.create_group("viewer", ());
    let _viewer = node.on(&viewer_group).create_subscription(topic(Way::FramesAndBytes), read)?;

    let measured = std::thread::scope(|scope| {
        let (_end, ended) = oneshot::channel::<()>();
        let (_end_viewers, viewers_ended) = oneshot::channel::<()>();
        // The end is the drop of the other half.
        scope.spawn(|| ros.spin_until(ended));
        scope.spawn(|| viewers.spin_until(viewers_ended, SpinOptions::new()));
        film(&frames, &detectors, &cameras)
    })?;

    println!("| way | p50 us | p99 us | max us | copied to the device, MiB a frame |");
    println!("| --- | --- | --- | --- | --- |");
    for ((way, name), (latencies, copied)) in WAYS.into_iter().zip(measured) {
        let detector = &detectors[way as usize];
        let total = device.context().default_stream().clone_dtoh(&*detector.sums)?[0];
        anyhow::ensure!(total == expected(), "{name}: the kernels saw {total}, and the camera wrote {}", expected());
        let [p50, p99, max] = of(latencies);
        println!("| {name} | {p50:.0} | {p99:.0} | {max:.0} | {copied:.2} |");
    }
    Ok(())
}

fn topic(way: Way) -> &'static str {
    match way {
        Way::Frames => "frames",
        Way::FramesAndBytes => "frames_and_bytes",
        Way::Vectors => "vectors",
    }
}

/// The value of all bytes of a frame.
const fn value(frame: usize) -> u8 {
    (frame % 251) as u8
}

/// Returns the sum of all bytes of all frames of one way.
fn expected() -> u64 {
    (0..WARM_UP + FRAMES).map(|frame| BYTES as u64 * u64::from(value(frame))).sum()
}

fn detector(
    node: &Node,
    device: &Arc<CudaDevice>,
    gpu: &Accelerator<CudaDevice>,
    sum: &CudaFunction,
    way: Way,
) -> anyhow::Result<Detector> {
    let client = Arc::new(gpu.create_client(ClientOptions::new(topic(way)))?);
    let stream = device.context().default_stream();
    let sums = Arc::new(stream.alloc_zeros::<u64>(1)?);
    stream.synchronize()?;
    let (send, ends) = channel();
    let into = Arc::clone(&sums);
    let sum = sum.clone();
    let detect = move |image: Arc<Image>| {
        let client = Arc::clone(&client);
        let sum = sum.clone();
        let into = Arc::clone(&into);
        let send: Sender<Instant> = send.clone();
        async move {
            let work = CudaWork::new(move |stream| {
                let into: CudaView<'_, u64> = into.slice(..);
                let count = i32::try_from(image.data.len()).expect("an image has less than 2 GiB");
                let config = LaunchConfig { grid_dim: (256, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
                let mut launch = stream.launch_builder(&sum);
                if way == Way::Vectors {
                    let pixels = stream.clone_htod(&image.data[..])?;
                    launch.arg(&pixels).arg(&count).arg(&into);
                    // SAFETY: the arguments are those of the kernel, which adds to the sum atomically.
                    unsafe { launch.launch(config) }?;
                } else {
                    let pixels = read_on(&image.data, stream)?;
                    launch.arg(&pixels).arg(&count).arg(&into);
                    // SAFETY: as above.
                    unsafe { launch.launch(config) }?;
                }
                Ok(())
            });
            client.request(Request::new([Segment::new(work)]))?.await?;
            send.send(Instant::now())?;
            rospin::Ok(())
        }
    };
    let subscription = node.create_subscription(topic(way), detect)?;
    Ok(Detector { _subscription: subscription, ends, sums })
}

/// The latencies of one way, and the MiB that were copied to the device for each frame.
type Measured = (Vec<Duration>, f64);

/// Publishes all frames in all ways, each after the last one has ended.
fn film(frames: &FramePool, detectors: &[Detector], cameras: &[Publisher<Image>]) -> anyhow::Result<Vec<Measured>> {
    let mut measured: Vec<Measured> = WAYS.map(|_| (Vec::new(), 0.0)).into();
    for frame in 0..WARM_UP + FRAMES {
        for (place, (way, _)) in WAYS.into_iter().enumerate() {
            let before = frames.copied().to_device;
            let data = if way == Way::Vectors {
                Blob::from(vec![value(frame); BYTES])
            } else {
                let mut pixels = loop {
                    // The ordinary subscription may still read the last ones.
                    match frames.take() {
                        Ok(pixels) => break pixels,
                        Err(_) => std::thread::yield_now(),
                    }
                };
                pixels.fill(value(frame));
                Blob::from(pixels)
            };
            let image = Image { height: 2048, width: 4096, step: 4096, data, ..Image::default() };
            let start = Instant::now();
            cameras[place].publish(image)?;
            let end = detectors[place].ends.recv_timeout(Duration::from_secs(10)).context("no detector has ended")?;
            if frame < WARM_UP {
                continue;
            }
            // cudarc has no count of its own: a vector is copied as a whole.
            let copied = if way == Way::Vectors { BYTES as u64 } else { frames.copied().to_device - before };
            measured[place].0.push(end - start);
            measured[place].1 += copied as f64 / FRAMES as f64 / f64::from(1 << 20);
        }
    }
    Ok(measured)
}

/// Returns the median, the 99th percentile and the maximum, in microseconds.
fn of(mut latencies: Vec<Duration>) -> [f64; 3] {
    latencies.sort();
    let last = latencies.len() - 1;
    [last / 2, last * 99 / 100, last].map(|place| latencies[place].as_secs_f64() * 1e6)
}
