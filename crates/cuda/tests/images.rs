//! Images of messages on a CUDA device: copied there once, and read by ordinary subscriptions, too. Where there is no
//! device, the tests say that they are skipped.

use std::ptr::NonNull;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cudarc::driver::{CudaFunction, CudaStream, DriverError, LaunchConfig, PushKernelArg, result, sys};
use cudarc::nvrtc::compile_ptx;
use futures::channel::oneshot;
use futures::executor::block_on;
use rospin::message::{SerializedMessage, TypeName};
use rospin::msgs::sensor_msgs::msg::Image;
use rospin::{Blob, Context, ContextOptions, Node, Publisher, Ros, Subscription};
use rospin_accelerator::{Accelerator, AcceleratorOptions, Client, ClientOptions, Request, Segment};
use rospin_cuda::{CudaDevice, CudaOptions, CudaWork, FrameError, FrameMemory, FramePool, Pinned, read_on};

const BYTES: usize = 8 << 20;

/// One adds up bytes, and the other one writes the same value to all.
const SOURCE: &str = r#"
extern "C" __global__ void sum(const unsigned char *x, int n, unsigned long long *into) {
    unsigned long long own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += x[i];
    atomicAdd(into, own);
}
extern "C" __global__ void paint(unsigned char *x, int n, unsigned char value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = value;
}
"#;

/// A device with two lanes, a client of it, and a node.
struct World {
    device: Arc<CudaDevice>,
    gpu: Accelerator<CudaDevice>,
    ros: Ros,
    node: Node,
}

impl World {
    /// Returns a world of its own for a test; `None` if the machine has no device.
    #[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
    fn new() -> Option<Self> {
        let device = match CudaDevice::open(CudaOptions::new().lanes(2)) {
            Ok(device) => Arc::new(device),
            Err(reason) => {
                eprintln!("SKIPPED: {reason}");
                return None;
            }
        };
        let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
        let ros = Ros::in_process(&Context::new(ContextOptions::new()));
        let node = ros.create_node("node").unwrap();
        Some(Self { device, gpu, ros, node })
    }

    fn client(&self, name: &str) -> Arc<Client<CudaDevice>> {
        Arc::new(self.gpu.create_client(ClientOptions::new(name)).unwrap())
    }

    fn kernel(&self, name: &str) -> CudaFunction {
        self.device.context().load_module(compile_ptx(SOURCE).unwrap()).unwrap().load_function(name).unwrap()
    }

    fn camera(&self) -> Publisher<Image> {
        self.node.create_publisher("image").unwrap()
    }

    /// Subscribes to the images, and tells the sum of each one's bytes, which the device adds up.
    fn detector(&self, name: &str, sums: &Sender<u64>) -> Subscription {
        let client = self.client(name);
        let sum = self.kernel("sum");
        let sums = sums.clone();
        let detect = move |image: Arc<Image>| {
            let client = Arc::clone(&client);
            let sum = sum.clone();
            let sums = sums.clone();
            async move {
                let work = CudaWork::new(move |stream| {
                    sums.send(sum_on(&image.data, &sum, stream)?).expect("the test listens");
                    Ok(())
                });
                client.request(Request::new([Segment::new(work)]))?.await?;
                rospin::Ok(())
            }
        };
        self.node.create_subscription("image", detect).unwrap()
    }

    /// Runs callbacks on another thread until the function has ended.
    fn spin_while<R>(&self, function: impl FnOnce() -> R) -> R {
        std::thread::scope(|scope| {
            let (_end, ended) = oneshot::channel::<()>();
            // The end is the drop of the other half.
            scope.spawn(|| self.ros.spin_until(ended));
            function()
        })
    }
}

fn sum_on(bytes: &Blob, sum: &CudaFunction, stream: &Arc<CudaStream>) -> Result<u64, DriverError> {
    let pixels = read_on(bytes, stream)?;
    let mut result = stream.alloc_zeros::<u64>(1)?;
    let count = i32::try_from(pixels.len()).unwrap();
    let mut launch = stream.launch_builder(sum);
    launch.arg(&pixels).arg(&count).arg(&mut result);
    // SAFETY: the arguments are those of the kernel, which stays within its array.
    unsafe { launch.launch(LaunchConfig::for_num_elems(64 << 10)) }?;
    Ok(stream.clone_dtoh(&result)?[0])
}

fn image(data: Blob) -> Image {
    Image { height: 1, width: data.len() as u32, step: data.len() as u32, data, ..Image::default() }
}

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn an_image_is_copied_to_the_device_once_and_ordinary_subscriptions_get_its_bytes() {
    let Some(world) = World::new() else { return };
    let frames = FramePool::new(&world.device, BYTES, 3).unwrap();
    let (send, sums) = channel();
    let _detectors = [world.detector("lanes", &send), world.detector("signs", &send)];
    let (send, by_bytes) = channel();
    let of_bytes = |told: &Sender<u64>, data: &[u8]| {
        told.send(data.iter().map(|byte| u64::from(*byte)).sum::<u64>()).expect("the test listens");
    };
    let tell = send.clone();
    let view = move |image: &Image| of_bytes(&tell, &image.data);
    let _viewer = world.node.create_subscription("image", view).unwrap();
    let hear = move |image: SerializedMessage| of_bytes(&send, &image.deserialize::<Image>().unwrap().data);
    let image_type = TypeName::of_message::<Image>().unwrap();
    let _recorder = world.node.create_serialized_subscription("image", &image_type, hear).unwrap();
    let camera = world.camera();
    let published = world.spin_while(|| {
        for value in 1..=5_u8 {
            let mut frame = frames.take().unwrap();
            frame.fill(value);
            frame[..3].copy_from_slice(&[9, 9, 9]);
            camera.publish(image(frame.into())).unwrap();
            let expected = 27 + (BYTES as u64 - 3) * u64::from(value);
            for told in [&sums, &by_bytes] {
                assert_eq!([told.recv_timeout(LIMIT), told.recv_timeout(LIMIT)], [Ok(expected); 2], "frame {value}");
            }
        }
        5
    });
    assert_eq!((frames.copied().to_device, frames.copied().to_host), (published * BYTES as u64, 0));
}

#[test]
fn ordinary_images_are_read_by_the_same_detector() {
    let Some(world) = World::new() else { return };
    let (send, sums) = channel();
    let _detector = world.detector("lanes", &send);
    let camera = world.camera();
    world.spin_while(|| {
        for length in [BYTES, 1, 0] {
            camera.publish(image(vec![2; length].into())).unwrap();
            assert_eq!(sums.recv_timeout(LIMIT), Ok(2 * length as u64));
        }
    });
}

#[test]
fn an_image_that_a_kernel_makes_is_copied_back_once_and_only_if_somebody_reads_it() {
    let Some(world) = World::new() else { return };
    let frames = FramePool::new(&world.device, BYTES, 2).unwrap();
    let paint = world.kernel("paint");
    let client = world.client("camera");
    let take = || {
        let (send, made) = channel();
        let frame = frames.take().unwrap();
        let paint = paint.clone();
        let work = CudaWork::new(move |stream| {
            let mut pixels = frame.write_on(stream);
            let mut launch = stream.launch_builder(&paint);
            launch.arg(&mut pixels).arg(&(BYTES as i32)).arg(&7_u8);
            // SAFETY: the arguments are those of the kernel, which stays within its array.
            unsafe { launch.launch(LaunchConfig::for_num_elems(64 << 10)) }?;
            send.send(pixels.finish()?).expect("the test listens");
            Ok(())
        });
        block_on(client.request(Request::new([Segment::new(work)])).unwrap()).unwrap();
        made.recv().unwrap()
    };
    let (send, sums) = channel();
    let _detector = world.detector("lanes", &send);
    let camera = world.camera();
    world.spin_while(|| {
        camera.publish(image(take())).unwrap();
        assert_eq!(sums.recv_timeout(LIMIT), Ok(7 * BYTES as u64));
        assert_eq!((frames.copied().to_device, frames.copied().to_host), (0, 0));
        let second = image(take());
        camera.publish(second.clone()).unwrap();
        assert_eq!(sums.recv_timeout(LIMIT), Ok(7 * BYTES as u64));
        assert!(second.data == vec![7; BYTES] && second.clone().data == second.data);
        assert_eq!((frames.copied().to_device, frames.copied().to_host), (0, BYTES as u64));
    });
}

#[test]
fn a_pool_gives_no_frame_that_is_in_use() {
    let Some(world) = World::new() else { return };
    let frames = FramePool::new(&world.device, 1000, 2).unwrap();
    let kept: [Blob; 2] = [frames.take().unwrap().into(), frames.take().unwrap().into()];
    assert!(matches!(frames.take(), Err(FrameError::InUse { count: 2 })));
    assert!(kept.iter().all(|blob| blob.memory::<FrameMemory>().is_some() && *blob == [0; 1000]));
    drop(kept);
    let mut frame = frames.take().unwrap();
    frame.truncate(10);
    assert_eq!(Blob::from(frame).len(), 10);
    // A message may outlive the pool and the device.
    let last = Blob::from(frames.take().unwrap());
    drop((frames, world));
    assert_eq!(last, [0; 1000]);
}

#[test]
fn memory_of_others_is_pinned_and_copied_from() {
    let Some(world) = World::new() else { return };
    let pages = Arc::new(Mutex::new(vec![5_u8; BYTES]));
    let start = NonNull::new(pages.lock().unwrap().as_mut_ptr()).unwrap();
    let context = world.device.context();
    // SAFETY: the vector is dropped last, and is not moved.
    let pinned = unsafe { Pinned::register(context, start, BYTES) }.unwrap();
    // SAFETY: as above.
    unsafe { Pinned::register(context, start, BYTES) }.unwrap_err();
    let sum = world.kernel("sum");
    let stream = context.new_stream().unwrap();
    // SAFETY: the memory is allocated with this length, and written before it is read.
    let device = unsafe { result::malloc_sync(BYTES) }.unwrap();
    // SAFETY: both have so many bytes, and stay until the stream is synchronized.
    let copied = unsafe { sys::cuMemcpyHtoDAsync_v2(device, start.as_ptr().cast(), BYTES, stream.cu_stream()) };
    copied.result().unwrap();
    let mut total = stream.alloc_zeros::<u64>(1).unwrap();
    let mut launch = stream.launch_builder(&sum);
    launch.arg(&device).arg(&(BYTES as i32)).arg(&mut total);
    // SAFETY: the arguments are those of the kernel, which stays within its array.
    unsafe { launch.launch(LaunchConfig::for_num_elems(64 << 10)) }.unwrap();
    assert_eq!(stream.clone_dtoh(&total).unwrap(), [5 * BYTES as u64]);
    drop(pinned);
    // SAFETY: nobody uses it any more.
    unsafe { result::free_sync(device) }.unwrap();
    drop(pages);
}
