//! The order of requests on the device, which no speed changes.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier};

use futures::executor::block_on;
use rospin_accelerator::{Accelerator, AcceleratorOptions, ClientOptions, Priority, Request, Segment};
use rospin_wgpu::{WgpuDevice, WgpuOptions, WgpuWork};

use crate::device;
use crate::kernels::Kernel;

/// Returns a segment that tells its name at its end.
fn named(kernel: &Kernel, name: &'static str, ends: &Sender<&'static str>) -> Segment<WgpuWork> {
    let ends = ends.clone();
    Segment::new(kernel.run().then(move || ends.send(name).expect("the test listens")))
}

/// Returns a segment whose end waits for the barrier, so that the device stays busy until the test has asked for all it
/// wants. While the device's thread waits there, it can report no end.
fn held(kernel: &Kernel, until: &Arc<Barrier>) -> Segment<WgpuWork> {
    let until = Arc::clone(until);
    Segment::new(kernel.run().then(move || {
        until.wait();
    }))
}

/// Has six segments of an unimportant client and two of an urgent one wait, and returns the order of their ends.
fn order(lanes: usize) -> Option<Vec<&'static str>> {
    let device: Arc<WgpuDevice> = device(WgpuOptions::new().lanes(lanes))?;
    let kernel = Kernel::new(&device, "normalise", &[0.0], 64);
    let gpu = Accelerator::new(device, AcceleratorOptions::new());
    let client = |name: &str, priority| gpu.create_client(ClientOptions::new(name).priority(Priority(priority)));
    let map = client("map", 1).unwrap();
    let other = client("other", 0).unwrap();
    let brake = client("brake", 9).unwrap();
    let (send, ends) = channel();
    let until = Arc::new(Barrier::new(2));
    // One segment is on the device. The other lanes get those of a client of their own.
    let mut all = vec![map.request(std::iter::once(held(&kernel, &until)).collect()).unwrap()];
    all.extend((1..lanes).map(|_| other.request(Request::new([named(&kernel, "other", &send)])).unwrap()));
    all.push(map.request((0..3).map(|_| named(&kernel, "map", &send)).collect()).unwrap());
    all.push(brake.request((0..2).map(|_| named(&kernel, "brake", &send)).collect()).unwrap());
    until.wait();
    for completion in all {
        block_on(completion).unwrap();
    }
    Some(ends.try_iter().collect())
}

#[test]
fn an_urgent_request_waits_for_one_segment_at_most() {
    let Some(order) = order(1) else { return };
    assert_eq!(order, ["brake", "brake", "map", "map", "map"]);
}

/// With two lanes, a foreign segment more is in the queue.
#[test]
fn a_second_lane_costs_one_more_foreign_segment() {
    let Some(order) = order(2) else { return };
    assert_eq!(order[..2], ["other", "brake"]);
    assert!(order[2..4].contains(&"brake"), "{order:?}");
}

#[test]
fn a_request_that_nobody_awaits_does_not_run_on() {
    let Some(device) = device(WgpuOptions::new()) else { return };
    let kernel = Kernel::new(&device, "normalise", &[0.0], 64);
    let gpu = Accelerator::new(device, AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("map")).unwrap();
    let (send, ends) = channel();
    let until = Arc::new(Barrier::new(2));
    let first = client.request(Request::new([held(&kernel, &until)])).unwrap();
    let dropped = client.request((0..3).map(|_| named(&kernel, "dropped", &send)).collect()).unwrap();
    let kept = client.request(Request::new([named(&kernel, "kept", &send)])).unwrap();
    drop(dropped);
    until.wait();
    block_on(first).unwrap();
    block_on(kept).unwrap();
    assert_eq!(ends.try_iter().collect::<Vec<_>>(), ["kept"]);
    assert_eq!(client.statistics().cancelled, 1);
}
