//! A camera and a detector on a GPU, in one process: `cargo run --release -p rospin-cuda --example images`. The images
//! are ordinary messages. Their bytes are copied to the device once, by the driver, and nowhere else.

#![expect(clippy::print_stdout, reason = "it is an example")]

use std::sync::Arc;
use std::time::Duration;

use rospin::msgs::sensor_msgs::msg::Image;
use rospin_accelerator::{Accelerator, AcceleratorOptions, ClientOptions, Request, Segment};
use rospin_cuda::cudarc::driver::{LaunchConfig, PushKernelArg};
use rospin_cuda::cudarc::nvrtc::compile_ptx;
use rospin_cuda::{CudaDevice, CudaOptions, CudaWork, FramePool, read_on};

const IMAGE: usize = 8 << 20;

/// The kernel of the detector. This one detects nothing.
const SOURCE: &str = r#"
extern "C" __global__ void detect(const unsigned char *pixels, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && pixels[i] > 255) __trap();
}
"#;

fn main() -> rospin::Result<()> {
    let device = match CudaDevice::open(CudaOptions::new()) {
        Ok(device) => Arc::new(device),
        Err(reason) => {
            println!("SKIPPED: {reason}");
            return Ok(());
        }
    };
    let ros = rospin::init()?;
    let node = ros.create_node("camera")?;
    let detect = device.context().load_module(compile_ptx(SOURCE)?)?.load_function("detect")?;
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
    let client = Arc::new(gpu.create_client(ClientOptions::new("detector"))?);

    // ANCHOR: camera
    let frames = FramePool::new(&device, IMAGE, 4)?;
    let publisher = node.create_publisher::<Image>("image")?;
    let pool = frames.clone();
    let _camera = node.create_timer(Duration::from_millis(20), move || {
        let mut frame = pool.take()?; // pinned memory that neither a message nor the device uses
        frame.fill(128); // the camera's driver
        publisher.publish(Image { data: frame.into(), ..Image::default() })?;
        rospin::Ok(())
    })?;
    // ANCHOR_END: camera

    // ANCHOR: detector
    let _detector = node.create_subscription("image", move |image: Arc<Image>| {
        let client = Arc::clone(&client);
        let detect = detect.clone();
        async move {
            let work = CudaWork::new(move |stream| {
                let pixels = read_on(&image.data, stream)?; // copied once for all detectors; waits for nothing
                let count = pixels.len() as i32;
                let mut launch = stream.launch_builder(&detect);
                launch.arg(&pixels).arg(&count);
                // SAFETY: the arguments are those of the kernel, which stays within its array.
                unsafe { launch.launch(LaunchConfig::for_num_elems(count as u32)) }.map(drop)
            });
            client.request(Request::new([Segment::new(work)]))?.await?;
            rospin::Ok(())
        }
    })?;
    // ANCHOR_END: detector

    let _report = node.create_wall_timer(Duration::from_secs(1), move || println!("{:?}", frames.copied()))?;
    Ok(ros.spin()?)
}
