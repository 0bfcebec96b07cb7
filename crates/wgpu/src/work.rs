//! The work of a segment, and where its results go.

use std::fmt;
use std::sync::Arc;

use rospin_engine::Mutex;
use wgpu::{BindGroup, Buffer, BufferDescriptor, BufferUsages, CommandEncoder, ComputePipeline, MapMode, Queue};

/// The work of a segment: what is copied to the device, the kernels that run, and what is copied back. The steps run in
/// the order in which they were added, except for [writes](Self::write), which come before all others.
#[derive(Default)]
pub struct WgpuWork {
    writes: Vec<(Buffer, u64, Vec<u8>)>,
    steps: Vec<Step>,
    effect: Option<Box<dyn FnOnce() + Send>>,
}

/// A step of a segment on the device.
enum Step {
    Dispatch(ComputePipeline, BindGroup, [u32; 3]),
    Copy { from: Buffer, offset: u64, into: Arc<Target> },
}

/// Rest of the work of a segment that is on its way: the results to copy, and the function to call.
pub(crate) struct Rest {
    pub(crate) targets: Vec<Arc<Target>>,
    pub(crate) effect: Option<Box<dyn FnOnce() + Send>>,
}

impl WgpuWork {
    /// Creates work that does nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Has the bytes copied into the buffer, from `offset` on. Both must be multiples of 4, and the buffer needs the
    /// usage `COPY_DST`.
    #[must_use]
    pub fn write(mut self, into: &Buffer, offset: u64, bytes: impl Into<Vec<u8>>) -> Self {
        self.writes.push((into.clone(), offset, bytes.into()));
        self
    }

    /// Has a kernel run with so many workgroups in each direction.
    #[must_use]
    pub fn dispatch(mut self, kernel: &ComputePipeline, bind_group: &BindGroup, workgroups: [u32; 3]) -> Self {
        self.steps.push(Step::Dispatch(kernel.clone(), bind_group.clone(), workgroups));
        self
    }

    /// Has the bytes of the buffer from `offset` on copied back, as many as the [`Readback`] holds. The offset must be
    /// a multiple of 4, and the buffer needs the usage `COPY_SRC`. The bytes are there when the request has ended.
    #[must_use]
    pub fn read(mut self, from: &Buffer, offset: u64, into: &Readback) -> Self {
        self.steps.push(Step::Copy { from: from.clone(), offset, into: Arc::clone(&into.0) });
        self
    }

    /// Sets a function that the device's thread calls when the segment has ended without an error. It must be short. If
    /// it panics, the segment fails.
    #[must_use]
    pub fn then(mut self, effect: impl FnOnce() + Send + 'static) -> Self {
        self.effect = Some(Box::new(effect));
        self
    }

    /// Puts the work into the encoder and the queue, and returns what is left to do afterwards.
    pub(crate) fn encode(self, encoder: &mut CommandEncoder, queue: &Queue) -> Rest {
        for (buffer, offset, bytes) in self.writes {
            queue.write_buffer(&buffer, offset, &bytes);
        }
        let mut targets = Vec::new();
        for step in self.steps {
            match step {
                Step::Dispatch(kernel, bind_group, [x, y, z]) => {
                    let mut pass = encoder.begin_compute_pass(&Default::default());
                    pass.set_pipeline(&kernel);
                    pass.set_bind_group(0, &bind_group, &[]);
                    pass.dispatch_workgroups(x, y, z);
                }
                Step::Copy { from, offset, into } => {
                    encoder.copy_buffer_to_buffer(&from, offset, &into.staging, 0, into.staging.size());
                    targets.push(into);
                }
            }
        }
        Rest { targets, effect: self.effect }
    }
}

impl fmt::Debug for WgpuWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WgpuWork({} writes, {} steps)", self.writes.len(), self.steps.len())
    }
}

/// The place to which a segment's result is copied: memory that the device and the program share, made once and used
/// again. Clones are the same place. Two segments that are in flight at the same time must not share one: the later one
/// fails.
#[derive(Clone)]
pub struct Readback(Arc<Target>);

pub(crate) struct Target {
    staging: Buffer,
    bytes: Mutex<Option<Vec<u8>>>,
}

impl Readback {
    /// Creates a place for so many bytes, which must be a multiple of 4. Allocates memory of the device.
    #[must_use]
    pub fn new(device: &wgpu::Device, bytes: u64) -> Self {
        let staging = device.create_buffer(&BufferDescriptor {
            label: Some("readback"),
            size: bytes,
            usage: BufferUsages::MAP_READ | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self(Arc::new(Target { staging, bytes: Mutex::new(None) }))
    }

    /// Takes the bytes of the last segment that has ended; `None` if there are none that were not taken.
    #[must_use]
    pub fn take(&self) -> Option<Vec<u8>> {
        self.0.bytes.lock().take()
    }
}

impl fmt::Debug for Readback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Readback({} bytes)", self.0.staging.size())
    }
}

impl Target {
    /// Asks for access to the result, which is there once the segment has run.
    pub(crate) fn ask(self: &Arc<Self>) {
        let target = Arc::clone(self);
        self.staging.map_async(MapMode::Read, .., move |mapped| {
            if mapped.is_ok()
                && let Ok(view) = target.staging.get_mapped_range(..)
            {
                let bytes = view.to_vec();
                drop(view);
                *target.bytes.lock() = Some(bytes);
                target.staging.unmap();
            }
        });
    }
}
