//! rospin as the executor of [rclrs](https://docs.rs/rclrs) nodes: the line that creates the executor changes, and
//! nothing else.
//!
//! ```no_run
//! use rclrs::*;
//! use rospin_rclrs::{CreateRospinExecutor, Priority, RospinOptions, with_priority};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let context = Context::default_from_env()?;
//! let mut executor = context.create_rospin_executor(RospinOptions::from_env()?);
//! let node = executor.create_node("robot")?;
//! // Priorities are optional; a deployment file may set them, too.
//! let brake = with_priority(Priority(8), || node.create_worker(0_u32));
//! # executor.spin(SpinOptions::default()).first_error()?;
//! # Ok(())
//! # }
//! ```
//!
//! - Each worker is a mutually exclusive callback group with its payload. What nodes create without a worker is in a
//!   reentrant group.
//! - Each subscription, service, client, timer and action is an entity. The middleware's events tell when it is ready;
//!   in steady state no thread is blocked in a wait set for it.
//! - Callbacks run in the order of their priorities: of a [`Scope`], or of a [deployment
//!   file](RospinOptions::deployment).
//! - Futures run on the executor's threads, within a Tokio context, at the priority of the callback that created them.

mod bell;
mod cell;
mod ffi;
mod guard;
mod handle;
mod looks;
mod options;
mod registration;
mod registry;
mod runtime;
mod scope;
mod shared;
mod shown;
mod source;
mod spares;
mod tasks;
mod worker;

pub use options::RospinOptions;
pub use rospin_engine::{Deployment, DeploymentError, ExecutorOptions, Priority, policy};
pub use runtime::{CreateRospinExecutor, RospinRuntime};
pub use scope::{Scope, with_priority};
