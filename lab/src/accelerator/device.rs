//! Devices that the pipelines share, and the work of a frame's segments on them.

use std::marker::PhantomData;

use rospin_accelerator::Backend;
use rospin_accelerator::model::ModelWork;

use super::workload::Pipeline;

/// The kind of device that the pipelines share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Device {
    /// A model: kernels have exact lengths, in virtual and in real time
    Model,
    /// The GPU, or a software driver, by Vulkan; needs `--features wgpu`
    Wgpu,
}

impl Device {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Wgpu => "wgpu",
        }
    }

    /// Returns true if this program was built with the device.
    pub(crate) const fn is_built(self) -> bool {
        match self {
            Self::Model => true,
            Self::Wgpu => cfg!(feature = "wgpu"),
        }
    }
}

/// Maker of the work of segments for a device.
pub(crate) trait Maker: Sync {
    type Device: Backend;

    /// Returns the work of a frame's segment with the number `nth`. `number` is the index of the pipeline.
    fn work(&self, pipeline: &Pipeline, number: usize, nth: usize) -> Work<Self>;

    /// Returns the work with a function that the device calls at its end.
    fn then(work: Work<Self>, effect: impl FnOnce() + Send + 'static) -> Work<Self>;
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
        ModelWork::kernel(pipeline.lengths.kernel).copies(pipeline.lengths.copy, pipeline.lengths.copy)
    }

    fn then(work: ModelWork, effect: impl FnOnce() + Send + 'static) -> ModelWork {
        work.then(effect)
    }
}
