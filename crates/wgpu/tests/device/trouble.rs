//! Work that is no good, and devices that go.

use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use rospin_accelerator::{Accelerator, AcceleratorOptions, ClientOptions, Request, RequestError, Segment, SubmitError};
use rospin_wgpu::{Readback, WgpuOptions, WgpuWork};

use crate::device;
use crate::kernels::Kernel;

#[test]
fn invalid_work_fails_alone_and_says_why() {
    let Some(device) = device(WgpuOptions::new()) else { return };
    let kernel = Kernel::new(&device, "normalise", &[0.0], 64);
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("camera")).unwrap();
    let too_many = vec![0; 64 * 64 * 4 + 4];
    let too_long = Readback::new(device.device(), 64 * 64 * 4 + 4);
    let wrong = [
        WgpuWork::new().write(&kernel.input, 0, too_many),
        WgpuWork::new().write(&kernel.input, 1, vec![0; 4]),
        WgpuWork::new().read(&kernel.input, 0, &too_long),
    ];
    for work in wrong {
        let said = format!("{work:?}");
        let segments = [Segment::new(work), Segment::new(kernel.run())];
        match block_on(client.request(Request::new(segments)).unwrap()) {
            Err(RequestError::Failed { reason }) => assert!(reason.contains("Validation Error"), "{reason}"),
            other => panic!("{said}: {other:?}"),
        }
        block_on(client.request(Request::new([Segment::new(kernel.run())])).unwrap()).unwrap();
    }
    assert!(gpu.lost().is_none() && gpu.requests_in_memory() == 0);
}

#[test]
fn a_lost_device_fails_every_request_and_none_hangs() {
    let Some(device) = device(WgpuOptions::new()) else { return };
    let kernel = Kernel::new(&device, "product", &vec![1.0; 512 * 512], 512);
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("camera").depth(100)).unwrap();
    let request = || client.request((0..20).map(|_| Segment::new(kernel.run())).collect());
    let waiting: Vec<_> = (0..5).map(|_| request().unwrap()).collect();
    device.device().destroy();
    let ends: Vec<_> = waiting.into_iter().map(block_on).collect();
    assert!(ends.iter().all(Result::is_err), "{ends:?}");
    let is_lost = |end: &Result<_, _>| matches!(end, Err(RequestError::DeviceLost { .. }));
    assert!(ends.iter().any(is_lost), "{ends:?}");
    assert!(matches!(request(), Err(SubmitError::DeviceLost { .. })));
    assert!(gpu.lost().is_some());
}

/// The accelerator asks for an alarm at the end of each bound.
#[test]
fn a_segment_that_takes_longer_than_its_bound_is_an_overrun() {
    let Some(device) = device(WgpuOptions::new()) else { return };
    let kernel = Kernel::new(&device, "product", &vec![1.0; 512 * 512], 512);
    let gpu = Accelerator::new(device, AcceleratorOptions::new().patience(Duration::ZERO));
    let client = gpu.create_client(ClientOptions::new("liar")).unwrap();
    let segment = Segment::new(kernel.run()).bound(Duration::from_nanos(1));
    let end = block_on(client.request(Request::new([segment])).unwrap());
    assert_eq!(end, Err(RequestError::Overrun));
    assert_eq!(client.statistics().overruns, 1);
    // The device goes on.
    block_on(client.request(Request::new([Segment::new(kernel.run())])).unwrap()).unwrap();
}

#[test]
fn a_device_is_closed_while_segments_run() {
    let Some(device) = device(WgpuOptions::new()) else { return };
    let kernel = Kernel::new(&device, "product", &vec![1.0; 512 * 512], 512);
    let gpu = Accelerator::new(device, AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("camera")).unwrap();
    let completion = client.request((0..20).map(|_| Segment::new(kernel.run())).collect()).unwrap();
    drop((completion, client, gpu));
}

#[test]
fn an_adapter_that_is_not_there_is_named_with_those_that_are() {
    let Some(present) = device(WgpuOptions::new()) else { return };
    let error = rospin_wgpu::WgpuDevice::open(WgpuOptions::new().adapter("no such thing")).unwrap_err();
    let name = present.name();
    let name = name.split(" (").next().unwrap();
    assert!(error.to_string().contains("`no such thing`") && error.to_string().contains(name), "{error}");
}

/// A mistake in a function of one client is no reason for others to wait forever.
#[test]
fn a_function_that_panics_fails_its_segment_alone() {
    let Some(device) = device(WgpuOptions::new()) else { return };
    let kernel = Kernel::new(&device, "normalise", &[0.0], 64);
    let gpu = Accelerator::new(device, AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("camera")).unwrap();
    let work = kernel.run().then(|| panic!("a mistake at the end of a segment"));
    match block_on(client.request(Request::new([Segment::new(work)])).unwrap()) {
        Err(RequestError::Failed { reason }) => assert!(reason.contains("panicked"), "{reason}"),
        other => panic!("{other:?}"),
    }
    block_on(client.request(Request::new([Segment::new(kernel.run())])).unwrap()).unwrap();
}

#[test]
fn a_place_for_results_is_as_good_as_before_after_work_that_failed() {
    let Some(device) = device(WgpuOptions::new()) else { return };
    let kernel = Kernel::new(&device, "normalise", &[0.0], 64);
    let gpu = Accelerator::new(device, AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("camera")).unwrap();
    let image = vec![255.0; 64 * 64];
    for _ in 0..10 {
        let wrong = kernel.run_with(&image).write(&kernel.input, 1, vec![0; 4]);
        let end = block_on(client.request(Request::new([Segment::new(wrong)])).unwrap());
        assert!(matches!(end, Err(RequestError::Failed { .. })), "{end:?}");
        let right = Request::new([Segment::new(kernel.run_with(&image))]);
        block_on(client.request(right).unwrap()).unwrap();
        assert_eq!(kernel.take(), vec![1.0; 64 * 64]);
    }
    let wrong = kernel.run_with(&image).write(&kernel.input, 1, vec![0; 4]);
    block_on(client.request(Request::new([Segment::new(wrong)])).unwrap()).unwrap_err();
    block_on(client.request(Request::new([Segment::new(kernel.run())])).unwrap()).unwrap();
    assert!(kernel.result.take().is_none(), "the result of work that failed");
}

/// Parts of two devices have the same numbers within wgpu, so that one could be taken for the other.
#[test]
fn parts_of_another_device_fail_alone() {
    let (Some(device), Some(other)) = (device(WgpuOptions::new()), device(WgpuOptions::new())) else { return };
    let own = Kernel::new(&device, "normalise", &[0.0], 64);
    let foreign = Kernel::new(&other, "normalise", &[0.0], 64);
    let gpu = Accelerator::new(device, AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("camera")).unwrap();
    let image = vec![255.0; 64 * 64];
    for work in [foreign.run(), WgpuWork::new().write(&foreign.input, 0, vec![0; 4]), foreign.run_with(&image)] {
        match block_on(client.request(Request::new([Segment::new(work)])).unwrap()) {
            Err(RequestError::Failed { reason }) => assert!(reason.contains("Validation Error"), "{reason}"),
            other => panic!("{other:?}"),
        }
        block_on(client.request(Request::new([Segment::new(own.run_with(&image))])).unwrap()).unwrap();
        assert_eq!(own.take(), vec![1.0; 64 * 64]);
    }
}
