//! Devices that the pipelines share, and the work of a frame's segments on them.

use std::marker::PhantomData;
use std::sync::Arc;

use rospin_accelerator::Backend;
use rospin_accelerator::model::ModelWork;

use super::launch::{Direct, EndsByEffect};
use super::workload::{Lengths, Pipeline};

/// The kind of device that the pipelines share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Device {
    /// A model: kernels have exact lengths, in virtual and in real time
    Model,
    /// The GPU, or a software driver, by Vulkan; needs `--features wgpu`
    Wgpu,
    /// The NVIDIA GPU; needs `--features cuda`
    Cuda,
}

impl Device {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Wgpu => "wgpu",
            Self::Cuda => "cuda",
        }
    }

    /// Returns true if this program was built with the device.
    pub(crate) const fn is_built(self) -> bool {
        match self {
            Self::Model => true,
            Self::Wgpu => cfg!(feature = "wgpu"),
            Self::Cuda => cfg!(feature = "cuda"),
        }
    }
}

/// Maker of the work of segments for a device.
pub(crate) trait Maker: Sync {
    type Device: Backend;

    /// Returns the work of a frame's segment with the number `nth`. `number` is the index of the pipeline.
    fn work(&self, pipeline: &Pipeline, number: usize, nth: usize) -> Work<Self>;

    /// Returns the work of a frame's last segment as a node launches it that has no accelerator, and the future by
    /// which the node waits for its end.
    fn direct(&self, work: Work<Self>, device: &Arc<Self::Device>) -> (Work<Self>, Direct);
}

/// The work of a segment on a maker's device.
pub(crate) type Work<M> = <<M as Maker>::Device as Backend>::Work;

/// Maker for a model device of either kind.
pub(crate) struct Model<B>(PhantomData<fn() -> B>);

impl<B> Model<B> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<B: Backend<Work = ModelWork>> Maker for Model<B> {
    type Device = B;

    fn work(&self, pipeline: &Pipeline, _: usize, _: usize) -> ModelWork {
        let Lengths { kernel, copy, block, .. } = pipeline.lengths;
        ModelWork::kernel(kernel).blocks(block).copies(copy, copy)
    }

    fn direct(&self, work: ModelWork, device: &Arc<B>) -> (ModelWork, Direct) {
        EndsByEffect::of(device, |effect| work.then(effect))
    }
}
