//! Choice of an adapter, and its options.

use std::sync::OnceLock;

use rospin_engine::os::ThreadOptions;
use wgpu::{Adapter, Backends, DeviceDescriptor, DeviceType, Instance, InstanceDescriptor};

/// Options of a [`WgpuDevice`](crate::WgpuDevice).
#[derive(Clone, Debug)]
pub struct WgpuOptions {
    pub(crate) adapter: Option<String>,
    pub(crate) lanes: usize,
    pub(crate) thread: ThreadOptions,
}

impl WgpuOptions {
    /// Creates options: the first adapter that is hardware, or else a software driver; one lane, and an ordinary
    /// thread.
    #[must_use]
    pub fn new() -> Self {
        Self { adapter: None, lanes: 1, thread: ThreadOptions::new() }
    }

    /// Chooses the first adapter whose name contains `name`, in any case: `nvidia`, or `llvmpipe` for Mesa's software
    /// driver.
    #[must_use]
    pub fn adapter(mut self, name: impl Into<String>) -> Self {
        self.adapter = Some(name.into());
        self
    }

    /// Sets the number of segments that the queue may hold at a time, at least 1. Two hide the time of a launch, and
    /// let a request wait for two foreign segments instead of one.
    #[must_use]
    pub fn lanes(mut self, lanes: usize) -> Self {
        self.lanes = lanes.max(1);
        self
    }

    /// Sets the scheduling of the device's thread by the operating system. It should be above the threads whose
    /// requests are urgent, as an interrupt would be.
    #[must_use]
    pub fn thread(mut self, thread: ThreadOptions) -> Self {
        self.thread = thread;
        self
    }
}

impl Default for WgpuOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Errors of [`WgpuDevice::open`](crate::WgpuDevice::open).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no adapter at all.
    #[error(
        "there is no Vulkan driver; install that of your GPU, or Mesa's software driver, which is mesa-vulkan-drivers \
         in Debian"
    )]
    NoAdapter,
    /// No adapter has that name.
    #[error("no adapter has a name with `{asked}`; there are: {}", known.join(", "))]
    NoSuchAdapter {
        /// The name that was asked for.
        asked: String,
        /// The names of the adapters.
        known: Vec<String>,
    },
    /// The driver refused to open the device.
    #[error("the adapter {name} cannot be opened: {reason}")]
    Refused {
        /// The adapter's name.
        name: String,
        /// The driver's words.
        reason: String,
    },
    /// The operating system starts no thread.
    #[error("the device's thread cannot be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// Opens the device and its queue on the adapter that the options choose.
pub(crate) fn open(options: &WgpuOptions) -> Result<(Adapter, wgpu::Device, wgpu::Queue), OpenError> {
    let mut adapters = pollster::block_on(instance().enumerate_adapters(Backends::VULKAN));
    // The sort is stable, so the driver's order counts within a kind.
    adapters.sort_by_key(|adapter| rank(adapter.get_info().device_type));
    let known: Vec<String> = adapters.iter().map(|adapter| adapter.get_info().name).collect();
    if adapters.is_empty() {
        return Err(OpenError::NoAdapter);
    }
    let place = match &options.adapter {
        None => 0,
        Some(asked) => {
            let wanted = asked.to_lowercase();
            let place = known.iter().position(|name| name.to_lowercase().contains(&wanted));
            place.ok_or_else(|| OpenError::NoSuchAdapter { asked: asked.clone(), known })?
        }
    };
    let adapter = adapters.swap_remove(place);
    // The adapter's own limits, so that kernels may use all that it has.
    let limits = adapter.limits();
    let descriptor = DeviceDescriptor { label: Some("rospin"), required_limits: limits, ..Default::default() };
    match pollster::block_on(adapter.request_device(&descriptor)) {
        Ok((device, queue)) => Ok((adapter, device, queue)),
        Err(reason) => Err(OpenError::Refused { name: adapter.get_info().name, reason: reason.to_string() }),
    }
}

/// Returns wgpu's instance, one for all devices of the process. Each instance numbers its buffers and kernels from 1,
/// so a device would take those of another instance's device for its own. Those of its own instance it tells apart, and
/// refuses.
fn instance() -> &'static Instance {
    static INSTANCE: OnceLock<Instance> = OnceLock::new();
    INSTANCE.get_or_init(|| {
        Instance::new(InstanceDescriptor {
            backends: Backends::VULKAN,
            ..InstanceDescriptor::new_without_display_handle()
        })
    })
}

/// Returns the place of a kind of adapter in the order of choice.
fn rank(kind: DeviceType) -> u8 {
    match kind {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    }
}
