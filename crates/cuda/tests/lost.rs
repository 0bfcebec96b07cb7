//! A kernel that fails. It takes the context of its whole process along, so that it has a program of its own.

use std::sync::Arc;

use cudarc::driver::{LaunchConfig, PushKernelArg};
use cudarc::nvrtc::compile_ptx;
use futures::executor::block_on;
use rospin_accelerator::{Accelerator, AcceleratorOptions, ClientOptions, Request, RequestError, Segment};
use rospin_cuda::{CudaDevice, CudaOptions, CudaWork};

/// Writes where it must not.
const SOURCE: &str = r#"extern "C" __global__ void wild(float *x) { *(float *)0 = *x; }"#;

#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
#[test]
fn a_kernel_that_fails_loses_the_device_and_nobody_hangs() {
    let device = match CudaDevice::open(CudaOptions::new()) {
        Ok(device) => Arc::new(device),
        Err(reason) => return eprintln!("SKIPPED: {reason}"),
    };
    let wild = device.context().load_module(compile_ptx(SOURCE).unwrap()).unwrap().load_function("wild").unwrap();
    let gpu = Accelerator::new(device, AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("camera")).unwrap();
    let work = move || {
        let wild = wild.clone();
        CudaWork::new(move |stream| {
            let number = stream.clone_htod(&[1.0_f32])?;
            let mut launch = stream.launch_builder(&wild);
            launch.arg(&number);
            // SAFETY: it writes to no memory of the program; the device refuses the access, which is what is tested.
            unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }.map(drop)
        })
    };
    let ends = [work(), work()].map(|work| client.request(Request::new([Segment::new(work)])).unwrap()).map(block_on);
    let is_lost =
        |end: &Result<_, _>| matches!(end, Err(RequestError::DeviceLost { .. } | RequestError::Failed { .. }));
    assert!(ends.iter().all(is_lost), "{ends:?}");
}
