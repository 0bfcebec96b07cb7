//! Accelerators on model devices.

mod alarm_order;
mod budget_ahead;
mod executor;
mod hostile;
mod order;
mod polled;
mod real_time;
mod recorded;
mod recording;
mod reference;
mod slow_launch;
mod urgent_bound;
mod waker;

use std::sync::Arc;
use std::time::Duration;

use rospin_accelerator::model::{ModelOptions, ModelWork, VirtualDevice};
use rospin_accelerator::{
    Accelerator, AcceleratorOptions, Client, ClientOptions, Completion, Instant, Outcome, Priority, Request,
    RequestError, Segment,
};

pub(crate) type Gpu = Accelerator<VirtualDevice>;

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn at(n: u64) -> Instant {
    Instant::from_millis(n)
}

/// Returns a device with one lane, and its accelerator.
pub(crate) fn gpu(options: AcceleratorOptions) -> (Arc<VirtualDevice>, Gpu) {
    let device = Arc::new(VirtualDevice::new(ModelOptions::new()));
    let gpu = Accelerator::new(Arc::clone(&device), options);
    (device, gpu)
}

pub(crate) fn client(gpu: &Gpu, name: &str, priority: u32) -> Client<VirtualDevice> {
    gpu.create_client(ClientOptions::new(name).priority(Priority(priority))).unwrap()
}

/// Returns a request of honest segments.
pub(crate) fn request(segments_ms: &[u64]) -> Request<ModelWork> {
    segments_ms.iter().map(|n| Segment::new(ModelWork::kernel(ms(*n))).bound(ms(*n))).collect()
}

pub(crate) fn result(completion: &mut Completion<VirtualDevice>) -> Result<Outcome, RequestError> {
    completion.try_take().expect("the request is over")
}

/// Returns the milliseconds at which a request ended.
pub(crate) fn end(completion: &mut Completion<VirtualDevice>) -> u64 {
    result(completion).unwrap().finished.as_nanos() / 1_000_000
}
