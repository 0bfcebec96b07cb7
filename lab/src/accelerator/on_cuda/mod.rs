//! The pipelines on an NVIDIA GPU: real kernels with so many rounds that a segment takes as long as on the model.
//!
//! A contender that launches directly waits as CUDA does unless it is asked to sleep: each pipeline's thread spins
//! until the device has reached an event after its last segment.

mod kernels;
mod processes;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rospin_accelerator::{Accelerator, AcceleratorOptions, Backend, ClientOptions, Instant};
use rospin_cuda::cudarc::driver::{CudaEvent, sys};
use rospin_cuda::{CudaDevice, CudaOptions, CudaWork, Waiting};
use rospin_report::Failure;

use self::kernels::{Kernels, Loaded};
use self::processes::Plan;
pub(crate) use self::processes::obey;
use super::comparison::{Comparison, Run};
use super::contender::Contender;
use super::device::{Device, Maker};
use super::launch::Direct;
use super::measure::{Measured, Part, longest_overhead, measure};
use super::options::Options;
use super::real_time;
use super::workload::{self, Criticality, Pipeline};

/// Runs the contenders one after the other, each on the device anew.
///
/// # Errors
/// If the device cannot be opened or refuses the kernels, or a recording cannot be written.
pub(crate) fn run_all(options: &Options) -> Result<Comparison, Failure> {
    let device = Arc::new(open(CudaOptions::new())?);
    let device_name = device.name().to_owned();
    let multiprocessors = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    let multiprocessors = device.context().attribute(multiprocessors).map_err(Failure::run)?.unsigned_abs();
    let loaded = Loaded::new(&device).map_err(Failure::run)?;
    let kernels = Kernels::new(&loaded).map_err(Failure::run)?;
    let Measured { sizes, overhead } =
        measure(device, |criticality, rounds, part| kernels.segment(criticality, rounds, part));
    let spinning = Arc::new(open(CudaOptions::new().waiting(Waiting::Spin))?);
    let overheads = [overhead, overhead_of(spinning, sizes[0].rounds)?];
    let pipelines = workload::pipelines(options.load, sizes.map(|size| size.lengths));
    let contenders = Contender::on(Device::Cuda);
    let progress = options.outputs.progress(contenders.len(), options.duration);
    let mut rows = Vec::new();
    let mut shortfalls = Vec::new();
    let mut left_out = Vec::new();
    let plan = Plan { options, lengths: sizes.map(|size| size.lengths), rounds: sizes.map(|size| size.rounds) };
    for contender in contenders {
        progress.begin(contender.name());
        if matches!(contender, Contender::Processes | Contender::Mps) {
            match processes::run(*contender, &plan, &progress) {
                Ok(row) => rows.push(row),
                Err(reason) => left_out.push(format!("{}: {reason}", contender.name())),
            }
            progress.end();
            continue;
        }
        let device = Arc::new(open(of(*contender, &pipelines, multiprocessors))?);
        let loaded = Loaded::new(&device).map_err(Failure::run)?;
        let mut kernels = Vec::new();
        for _ in &pipelines {
            kernels.push(Kernels::new(&loaded).map_err(Failure::run)?);
        }
        let maker = Gpu { kernels, rounds: sizes.map(|size| size.rounds) };
        let (row, missing) =
            real_time::run_on(device, &maker, *contender, &pipelines, options, &progress).map_err(Failure::run)?;
        rows.push(row);
        shortfalls = missing;
        progress.end();
    }
    shortfalls.extend(left_out);
    let run = Run { overheads, shortfalls, pipelines, rows };
    Ok(Comparison::on(Device::Cuda, device_name, options, run))
}

/// Returns the longest time beside a segment's own on a device whose threads do not sleep, for a thread that does not
/// either.
fn overhead_of(device: Arc<CudaDevice>, rounds: u32) -> Result<Duration, Failure> {
    let loaded = Loaded::new(&device).map_err(Failure::run)?;
    let kernels = Kernels::new(&loaded).map_err(Failure::run)?;
    let gpu = Accelerator::new(device, AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("measure")).expect("the depth is positive");
    // The driver loads the kernels with the first ones.
    let _ = longest_overhead(&client, true, || kernels.segment(Criticality::High, 1, Part::Inner));
    Ok(longest_overhead(&client, true, || kernels.segment(Criticality::High, rounds, Part::Inner)))
}

fn open(options: CudaOptions) -> Result<CudaDevice, Failure> {
    CudaDevice::open(options.thread(real_time::of_device())).map_err(Failure::run)
}

/// Returns the lanes of a contender: the priorities of their streams, on a device with so many multiprocessors.
fn of(contender: Contender, pipelines: &[Pipeline], multiprocessors: u32) -> CudaOptions {
    let options = CudaOptions::new();
    match contender {
        Contender::EachForItself => options.lanes(pipelines.len()),
        Contender::OneStream | Contender::Rospin | Contender::Processes | Contender::Mps => options,
        Contender::Priorities => {
            options.priorities(pipelines.iter().map(|one| urgency(one.criticality)).collect::<Vec<_>>())
        }
        Contender::Buckets => options.priorities(Criticality::ALL.map(urgency)),
        Contender::Partition => {
            let others = [Criticality::Medium, Criticality::Low].map(urgency);
            let own = multiprocessors * 2 / 5;
            options.urgent_lane(Waiting::Sleep).urgent_multiprocessors(own).priorities(others)
        }
        Contender::RospinUrgent | Contender::RospinUrgentAndOne => {
            let options = options.urgent_lane(Waiting::Spin).urgent_thread(real_time::of_urgent_lane());
            let others = contender.lanes(pipelines.len()) - 1;
            options.lanes(others).waiting(Waiting::Spin)
        }
    }
}

/// Returns the priority of a stream. Smaller numbers are more urgent.
const fn urgency(criticality: Criticality) -> i32 {
    match criticality {
        Criticality::High => -5,
        Criticality::Medium => -2,
        Criticality::Low => 0,
    }
}

/// The kernels of each pipeline with their memory on a device.
struct Gpu {
    kernels: Vec<Kernels>,
    rounds: [u32; 3],
}

impl Maker for Gpu {
    type Device = CudaDevice;

    fn work(&self, pipeline: &Pipeline, number: usize, nth: usize) -> CudaWork {
        let part = Part::of(nth, pipeline.segments);
        self.kernels[number].segment(pipeline.criticality, self.rounds[pipeline.criticality as usize], part)
    }

    fn direct(&self, work: CudaWork, device: &Arc<CudaDevice>) -> (CudaWork, Direct) {
        let end: Arc<Mutex<Option<CudaEvent>>> = Arc::default();
        let recorded = Arc::clone(&end);
        let work = work.and(move |stream| {
            let event = stream.record_event(None)?;
            *recorded.lock().unwrap_or_else(PoisonError::into_inner) = Some(event);
            Ok(())
        });
        let device = Arc::downgrade(device);
        let wait = async move {
            let event = end.lock().unwrap_or_else(PoisonError::into_inner).take()?;
            event.synchronize().ok()?;
            device.upgrade().map(|device| -> Instant { device.now() })
        };
        (work, Box::pin(wait))
    }
}
