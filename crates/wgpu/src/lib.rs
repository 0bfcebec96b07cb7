//! GPUs as devices of [rospin's accelerator](rospin_accelerator), through [wgpu]: Vulkan, also by the software driver
//! that Debian has.
//!
//! - A [`WgpuDevice`] is the [`Backend`](rospin_accelerator::Backend): it submits segments to the device's queue, and a
//!   thread of its own reports their ends.
//! - A [`WgpuWork`] is the work of a segment: copies to the device, kernels, and copies back into a [`Readback`].
//!   Kernels, buffers and bind groups are wgpu's own, which [`WgpuDevice::device`] creates.
//!
//! wgpu has one queue for each device, and it runs what is submitted in order. So lanes do not run side by side here:
//! with one lane, which is the default, the queue is empty whenever the accelerator picks the next segment, and a
//! request waits for at most one foreign segment. Each further lane has one more segment wait in the queue, which hides
//! the time of a launch, and lets a request wait for one more foreign segment.
//!
//! ```no_run
//! use std::sync::Arc;
//! use rospin_accelerator::{Accelerator, AcceleratorOptions, ClientOptions, Priority, Request, Segment};
//! use rospin_wgpu::{Readback, WgpuDevice, WgpuOptions, WgpuWork};
//!
//! # fn kernel(_: &wgpu::Device) -> (wgpu::ComputePipeline, wgpu::BindGroup, wgpu::Buffer) { unimplemented!() }
//! let device = Arc::new(WgpuDevice::open(WgpuOptions::new())?);
//! println!("{}", device.name());
//! let (pipeline, bind_group, pixels) = kernel(device.device());
//! let result = Readback::new(device.device(), pixels.size());
//!
//! let gpu = Accelerator::new(device, AcceleratorOptions::new());
//! let brake = gpu.create_client(ClientOptions::new("brake").priority(Priority(9)))?;
//! let work = WgpuWork::new()
//!     .write(&pixels, 0, vec![0; pixels.size() as usize])
//!     .dispatch(&pipeline, &bind_group, [64, 1, 1])
//!     .read(&pixels, 0, &result);
//! pollster::block_on(brake.request(Request::new([Segment::new(work)]))?)?;
//! let bytes = result.take().expect("the request has ended");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod device;
mod open;
mod thread;
mod work;

pub use device::WgpuDevice;
pub use open::{OpenError, WgpuOptions};
pub use wgpu;
pub use work::{Readback, WgpuWork};
