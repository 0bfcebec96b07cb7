//! One accelerator for several processes: a server that owns the device, and clients in other processes.
//!
//! - A [`Server`] listens at a Unix socket. It accepts the clients that a deployment file names, each with its
//!   priority, depth and budget, and runs their requests on an [`Accelerator`](rospin_accelerator::Accelerator).
//! - A [`RemoteClient`] is what a process has of it. Its images and results are in [`SharedMemory`], which the server
//!   maps: a request only says where they are. Its futures are awaited like those of a client in the server's process,
//!   and their drop cancels.
//! - [`Kernels`] is what a server can run. Clients name kernels and arguments; they never send code.
//!
//! A request travels on a Unix socket rather than as a ROS service: the kernel then says which user and process a
//! client is, hands over its memory without a copy, and tells the server at once when the client dies, so that its
//! requests end.
//!
//! Nothing that a client does delays the others for longer than the segment that the device runs: its messages are
//! checked before anything is done, its requests are limited by its depth, its segments by their bounds, and what it
//! does not read is not kept. Its memory is sealed against shrinking before the server maps it. The server copies bytes
//! from and to it, and never forms references into it, because the client may change it at any time.

mod access;
mod client;
mod completion;
mod kernels;
mod memory;
mod server;
mod session;
mod socket;
#[doc(hidden)]
pub mod wire;

pub use access::{Access, AccessError};
pub use client::{CallError, ConnectError, RemoteClient, RemoteSegment};
pub use completion::{RemoteCompletion, RemoteError, RemoteOutcome};
pub use kernels::{Call, Kernels};
pub use memory::{MemoryError, Pin, Region, SharedMemory};
pub use server::{Server, ServerError, ServerOptions};
