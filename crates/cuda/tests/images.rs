//! Images of messages on a CUDA device: copied there once, and read by ordinary subscriptions, too. Where there is no
//! device, the tests say that they are skipped.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use cudarc::driver::{CudaFunction, CudaStream, DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::compile_ptx;
use futures::channel::oneshot;
use futures::executor::block_on;
use rospin::message::{SerializedMessage, TypeName};
use rospin::msgs::sensor_msgs::msg::Image;
use rospin::os::ThreadOptions;
use rospin::{Blob, Context, ContextOptions, Node, Publisher, Ros, Subscription};
use rospin_accelerator::{Accelerator, AcceleratorOptions, Client, ClientOptions, Request, Segment};
use rospin_cuda::{
    CudaDevice, CudaOptions, CudaWork, FrameError, FrameMemory, FramePool, Pinned, copy_to_device, copy_to_host,
    read_on,
};
use rospin_remote::{Access, Call, Kernels, Pin, RemoteClient, RemoteSegment, Server, ServerOptions, SharedMemory};
use rospin_scenario::Deployment;

const BYTES: usize = 8 << 20;

/// They add up bytes, invert them, and write the same value to all.
const SOURCE: &str = r#"
extern "C" __global__ void sum(const unsigned char *x, int n, unsigned long long *into) {
    unsigned long long own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += x[i];
    atomicAdd(into, own);
}
extern "C" __global__ void invert(unsigned char *x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = ~x[i];
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

/// Returns the bytes that were copied to the device, from it, and for readers.
fn copied(frames: &FramePool) -> [u64; 3] {
    let copied = frames.copied();
    [copied.to_device, copied.to_host, copied.for_readers]
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
    // Both detectors share one copy, and the encoder reads the pinned memory.
    assert_eq!(copied(&frames), [published, 0, published].map(|count| count * BYTES as u64));
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
        assert_eq!(copied(&frames), [0, 0, 0]);
        let second = image(take());
        camera.publish(second.clone()).unwrap();
        assert_eq!(sums.recv_timeout(LIMIT), Ok(7 * BYTES as u64));
        assert!(second.data == vec![7; BYTES] && second.clone().data == second.data);
        assert_eq!(copied(&frames), [0, BYTES as u64, BYTES as u64]);
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

/// A server's kernel that inverts the bytes of its client's memory, and puts them there.
struct Inverting {
    device: Arc<CudaDevice>,
    invert: CudaFunction,
}

impl Kernels for Inverting {
    type Device = CudaDevice;

    fn names(&self) -> Vec<String> {
        vec!["invert".to_owned()]
    }

    fn work(&self, call: Call) -> Result<CudaWork, String> {
        let Call { input, output, .. } = call;
        if input.is_empty() || input.len() != output.len() || !input.is_pinned() {
            return Err("input and output have the same length, and are pinned".to_owned());
        }
        let invert = self.invert.clone();
        Ok(CudaWork::new(move |stream| {
            let count = i32::try_from(input.len()).expect("an image has less than 2 GiB");
            // SAFETY: the memory is mapped until it is unpinned, which waits for the device.
            let mut pixels = unsafe { copy_to_device(stream, input.start(), input.len()) }?;
            let mut launch = stream.launch_builder(&invert);
            launch.arg(&mut pixels).arg(&count);
            // SAFETY: the arguments are those of the kernel, which stays within its array.
            unsafe { launch.launch(LaunchConfig::for_num_elems(64 << 10)) }?;
            // SAFETY: as above, and no thread of this process uses it: the client has a mapping of its own.
            unsafe { copy_to_host(stream, &pixels, output.start()) }
        }))
    }

    fn pin(&self, memory: &SharedMemory) -> Result<Option<Pin>, String> {
        // SAFETY: the memory stays mapped until what this returns is dropped.
        let pinned = unsafe { Pinned::register(self.device.context(), memory.start(), memory.len()) };
        pinned.map(|pinned| Some(Box::new(pinned) as Pin)).map_err(|error| error.to_string())
    }
}

#[test]
fn a_server_s_device_copies_from_the_memory_of_its_clients() {
    let Some(world) = World::new() else { return };
    let path = std::env::temp_dir().join(format!("rospin-cuda-{}.sock", std::process::id()));
    let clients = "[[client]]\nname = \"camera\"\naccelerator = \"gpu\"\n";
    let access = Access::new(&Deployment::parse(clients).unwrap(), "gpu").unwrap();
    let kernels = Inverting { device: Arc::clone(&world.device), invert: world.kernel("invert") };
    let server = Server::start(&path, world.gpu.clone(), kernels, access, ServerOptions::new()).unwrap();
    for value in 1..=3 {
        let camera = RemoteClient::connect(&path, "camera", 2 * BYTES, ThreadOptions::new()).unwrap();
        camera.memory().write(0, &vec![value; BYTES]);
        let invert = || RemoteSegment::new("invert").input(0, BYTES).output(BYTES, BYTES);
        block_on(camera.request([invert()]).unwrap()).unwrap();
        let mut inverted = vec![0; BYTES];
        camera.memory().read(BYTES, &mut inverted);
        assert!(inverted == vec![!value; BYTES]);
        // Goes away with a request under way.
        drop(camera.request([invert(), invert()]).unwrap());
        drop(camera);
        while server.sessions() > 0 {
            std::thread::yield_now();
        }
    }
}
