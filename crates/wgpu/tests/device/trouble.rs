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
