//! Segments compute what they should.

use std::sync::Arc;

use futures::executor::block_on;
use rospin_accelerator::{Accelerator, AcceleratorOptions, ClientOptions, Request, Segment};
use rospin_wgpu::WgpuOptions;

use crate::device;
use crate::kernels::{KERNELS, Kernel, on_the_processor};

const SIDE: usize = 48;

/// Returns numbers from 0 to 255 without an order, others for each `salt`.
fn image(salt: u64) -> Vec<f32> {
    let number = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ salt) % 256;
    (1..=(SIDE * SIDE) as u64).map(|n| number(n + salt) as f32).collect()
}

#[track_caller]
fn assert_near(got: &[f32], wanted: &[f32]) {
    assert_eq!(got.len(), wanted.len());
    let far = got.iter().zip(wanted).position(|(got, wanted)| (got - wanted).abs() > 1e-3 * wanted.abs().max(1.0));
    if let Some(place) = far {
        panic!("{} instead of {} at {place}", got[place], wanted[place]);
    }
}

#[test]
fn kernels_give_what_the_processor_gives() {
    let Some(device) = device(WgpuOptions::new()) else { return };
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("camera")).unwrap();
    let second = image(5);
    for name in KERNELS {
        let kernel = Kernel::new(&device, name, &second, SIDE);
        // Twice, because the second run uses the same memory for its result.
        for salt in [1, 2] {
            let first = image(salt);
            let request = Request::new([Segment::new(kernel.run_with(&first))]);
            let outcome = block_on(client.request(request).unwrap()).unwrap();
            assert!(outcome.finished > outcome.started && outcome.started >= outcome.requested);
            assert!(outcome.busy > std::time::Duration::ZERO && outcome.busy <= outcome.response());
            assert_near(&kernel.take(), &on_the_processor(name, &first, &second, SIDE));
            assert!(kernel.result.take().is_none(), "a result is taken once");
        }
    }
}

/// A request of several segments: the second works on what the first left in the device's memory.
#[test]
fn segments_of_a_request_follow_each_other_on_the_same_memory() {
    let Some(device) = device(WgpuOptions::new()) else { return };
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("camera")).unwrap();
    let kernel = Kernel::new(&device, "normalise", &[0.5], SIDE);
    let first = image(1);
    let second = image(2);
    let segments = [Segment::new(kernel.run_with(&first)), Segment::new(kernel.run_with(&second))];
    block_on(client.request(Request::new(segments)).unwrap()).unwrap();
    assert_near(&kernel.take(), &on_the_processor("normalise", &second, &[0.5], SIDE));
}

/// The memory of results that nobody reads is used again.
#[test]
fn many_requests_leave_nothing_behind() {
    let Some(device) = device(WgpuOptions::new().lanes(2)) else { return };
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("camera").depth(4)).unwrap();
    let kernel = Kernel::new(&device, "normalise", &[0.0], SIDE);
    let first = image(1);
    let rounds = if cfg!(debug_assertions) { 300 } else { 10_000 };
    for _ in 0..rounds {
        let completions: Vec<_> = (0..4)
            .map(|nth| {
                let work = if nth == 0 { kernel.run_with(&first) } else { kernel.run() };
                client.request(Request::new([Segment::new(work)])).unwrap()
            })
            .collect();
        for completion in completions {
            block_on(completion).unwrap();
        }
    }
    assert_eq!(gpu.requests_in_memory(), 0);
    assert_eq!(client.statistics().completed, 4 * rounds);
}
