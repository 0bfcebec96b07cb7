//! GPUs as devices of [rospin's accelerator](rospin_accelerator), through CUDA. Its driver is loaded at run time:
//! nothing of CUDA is needed to compile a program, and where there is no driver, [`CudaDevice::open`] says so.
//!
//! - A [`CudaDevice`] is the [`Backend`](rospin_accelerator::Backend). Each of its lanes is a stream, with a thread
//!   that reports the ends.
//! - A [`CudaWork`] puts the copies and kernels of a segment on the stream that it is given, through [cudarc]: from and
//!   to pinned memory, with kernels from PTX, or a graph that was captured before.
//! - A [`FramePool`] has frames for images of ordinary messages, which are copied to the device once for all kernels
//!   that read them.
//! - [`Pinned`] is memory of others that the device copies from and to directly.
//!
//! - A [`Graph`] is many small kernels as one piece of work.
//!
//! With one lane, which is the default, the device is idle whenever the accelerator picks the next segment, and a
//! request waits for at most one foreign segment. [`AcceleratorOptions::ahead`] picks before the end. More lanes let
//! copies of one segment overlap with kernels of another, and each lets each segment of a request wait for one more. An
//! [urgent lane](CudaOptions::urgent_lane) preempts the others between thread blocks, for the clients of
//! [`AcceleratorOptions::urgent`].
//!
//! The book's page on accelerators has measurements on a card; `lab/card.sh` measures another one.
//!
//! [`AcceleratorOptions::ahead`]: rospin_accelerator::AcceleratorOptions::ahead
//! [`AcceleratorOptions::urgent`]: rospin_accelerator::AcceleratorOptions::urgent
//!
//! ```no_run
//! use std::sync::Arc;
//! use cudarc::nvrtc::compile_ptx;
//! use cudarc::driver::{LaunchConfig, PushKernelArg};
//! use rospin_accelerator::{Accelerator, AcceleratorOptions, ClientOptions, Priority, Request, Segment};
//! use rospin_cuda::{CudaDevice, CudaOptions, CudaWork};
//!
//! let device = Arc::new(CudaDevice::open(CudaOptions::new())?);
//! let module = device.context().load_module(compile_ptx(
//!     "extern \"C\" __global__ void twice(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }",
//! )?)?;
//! let twice = module.load_function("twice")?;
//! let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
//! let brake = gpu.create_client(ClientOptions::new("brake").priority(Priority(9)))?;
//!
//! let (send, result) = std::sync::mpsc::channel();
//! let work = CudaWork::new(move |stream| {
//!     let mut numbers = stream.clone_htod(&[1.0_f32; 1024])?;
//!     let mut launch = stream.launch_builder(&twice);
//!     launch.arg(&mut numbers).arg(&1024_i32);
//!     // SAFETY: the arguments are those of the kernel, which stays within its array.
//!     unsafe { launch.launch(LaunchConfig::for_num_elems(1024)) }?;
//!     send.send(stream.clone_dtoh(&numbers)?).expect("somebody listens");
//!     Ok(())
//! });
//! futures::executor::block_on(brake.request(Request::new([Segment::new(work)]))?)?;
//! assert_eq!(result.recv()?[0], 2.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod device;
mod frames;
mod graph;
mod lane;
mod open;
mod partition;
mod pinned;
mod thread;
mod work;

pub use cudarc;
pub use device::CudaDevice;
pub use frames::{Copied, DeviceBytes, DeviceBytesMut, Frame, FrameError, FrameMemory, FramePool, read_on};
pub use graph::{Graph, GraphError};
pub use open::{CudaOptions, OpenError, Waiting};
pub use pinned::{Pinned, copy_to_device, copy_to_host};
pub use work::CudaWork;
