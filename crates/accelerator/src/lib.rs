//! Priority-driven access to a GPU or another accelerator.
//!
//! Nodes that launch their kernels themselves wait for each other in the order of the driver. An unimportant chain that
//! has filled the device then delays a critical one (Choi et al. 2022, section IV). An [`Accelerator`] owns the device
//! instead, and gives it one segment at a time, in the order of a policy:
//!
//! - A [`Client`] is what a callback of a chain has of an accelerator. It has the chain's priority and deadline.
//! - A [`Request`] is a job of one or more [`Segment`]s. Between two segments the accelerator picks anew. So a request
//!   waits for at most one segment of a less urgent client: request-level preemption.
//! - A [`Completion`] is the future of a request. Callbacks of any executor await it, without holding their thread.
//!   Dropping it cancels the request.
//! - A [`Backend`] is the device. [`model`] has a device that is made of exact times, in virtual and in real time.
//!
//! An accelerator has no thread of its own. The thread that brings news decides: the one that sends a request, or the
//! back end's thread that reports the end of a segment. The decision is made by the scheduling core of rospin's
//! executors; a lane of the device is to it what a thread is for an executor.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use rospin_accelerator::{Accelerator, AcceleratorOptions, ClientOptions, Priority, Request, Segment};
//! use rospin_accelerator::model::{ModelOptions, ModelWork, VirtualDevice};
//!
//! let ms = Duration::from_millis;
//! let device = Arc::new(VirtualDevice::new(ModelOptions::new()));
//! let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
//! let map = gpu.create_client(ClientOptions::new("map").priority(Priority(1)))?;
//! let brake = gpu.create_client(ClientOptions::new("brake").priority(Priority(9)))?;
//!
//! let kernel = |length| Segment::new(ModelWork::kernel(length)).bound(length);
//! let mut slow = map.request(Request::new([kernel(ms(4)), kernel(ms(4)), kernel(ms(4))]))?;
//! let mut urgent = brake.request(Request::new([kernel(ms(2))]))?;
//! device.run();
//! // The urgent request waits for one segment of the other one, and not for all three.
//! assert_eq!(urgent.try_take().unwrap()?.finished.as_nanos(), 6_000_000);
//! assert_eq!(slow.try_take().unwrap()?.finished.as_nanos(), 14_000_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod accelerator;
mod backend;
mod budget;
mod client;
mod completion;
mod device_thread;
pub mod model;
mod options;
mod request;
mod signal;
mod state;
mod statistics;

pub use accelerator::Accelerator;
pub use backend::{Backend, Ended, Launch, Listener, SegmentFailure};
pub use budget::Budget;
pub use client::Client;
pub use completion::Completion;
pub use device_thread::{DeviceThread, Notice, Notices};
pub use options::{AcceleratorOptions, ClientError, ClientOptions, Discipline, OnOverrun};
pub use request::{Outcome, Request, RequestError, Segment, SubmitError};
pub use signal::Signal;
pub use statistics::Statistics;

pub use rospin_core::{Instant, Priority};
