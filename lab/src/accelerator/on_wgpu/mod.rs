//! The pipelines on a GPU by Vulkan: real kernels, so many of them that a segment takes as long as on the model.

mod kernels;

use std::sync::Arc;

use rospin_report::Failure;
use rospin_wgpu::{OpenError, WgpuDevice, WgpuOptions, WgpuWork};

use self::kernels::Kernels;
use super::comparison::{Comparison, Run};
use super::contender::Contender;
use super::device::{Device, Maker, Work};
use super::launch::{Direct, EndsByEffect};
use super::measure::{Measured, Part, measure};
use super::options::Options;
use super::real_time;
use super::workload::{self, Pipeline};

/// Runs the contenders one after the other, each on the device anew.
///
/// # Errors
/// If the device cannot be opened, or a recording cannot be written.
pub(crate) fn run_all(options: &Options) -> Result<Comparison, Failure> {
    let device = open(options)?;
    let device_name = format!("{}{}", device.name(), if device.is_software() { ", a software driver" } else { "" });
    let kernels = Kernels::new(&device);
    let Measured { sizes, overhead } =
        measure(device, |criticality, rounds, part| kernels.segment(criticality, rounds, part));
    let lengths = sizes.map(|size| size.lengths);
    let pipelines = workload::pipelines(options.load, lengths);
    let contenders = Contender::on(Device::Wgpu);
    let progress = options.outputs.progress(contenders.len(), options.duration);
    let (mut rows, mut shortfalls) = (Vec::new(), Vec::new());
    for contender in contenders {
        progress.begin(contender.name());
        let device = open(options)?;
        let maker = Gpu::new(&device, &pipelines, sizes.map(|size| size.rounds));
        let (row, missing) =
            real_time::run_on(device, &maker, *contender, &pipelines, options, &progress).map_err(Failure::run)?;
        rows.push(row);
        shortfalls = missing;
        progress.end();
    }
    let run = Run { overheads: [overhead; 2], shortfalls, pipelines, rows };
    Ok(Comparison::on(Device::Wgpu, device_name, options, run))
}

fn open(options: &Options) -> Result<Arc<WgpuDevice>, Failure> {
    let mut chosen = WgpuOptions::new().thread(real_time::of_device());
    if let Some(name) = &options.adapter {
        chosen = chosen.adapter(name);
    }
    WgpuDevice::open(chosen).map(Arc::new).map_err(|error| match error {
        OpenError::NoSuchAdapter { .. } => Failure::input(error),
        _ => Failure::run(error),
    })
}

/// The kernels of each pipeline with their buffers on a device.
pub(crate) struct Gpu {
    kernels: Vec<Kernels>,
    rounds: [u32; 3],
}

impl Gpu {
    fn new(device: &WgpuDevice, pipelines: &[Pipeline], rounds: [u32; 3]) -> Self {
        Self { kernels: pipelines.iter().map(|_| Kernels::new(device)).collect(), rounds }
    }
}

impl Maker for Gpu {
    type Device = WgpuDevice;

    fn work(&self, pipeline: &Pipeline, number: usize, nth: usize) -> WgpuWork {
        let part = Part::of(nth, pipeline.segments);
        self.kernels[number].segment(pipeline.criticality, self.rounds[pipeline.criticality as usize], part)
    }

    fn direct(&self, work: WgpuWork, device: &Arc<WgpuDevice>) -> (Work<Self>, Direct) {
        EndsByEffect::of(device, |effect| work.then(effect))
    }
}
