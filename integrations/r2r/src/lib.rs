//! rospin as the executor of [R2R](https://docs.rs/r2r) nodes: messages, requests, goals and ticks run in the order of
//! their priorities.
//!
//! ```no_run
//! use futures::StreamExt;
//! use r2r::QosProfile;
//! use rospin_r2r::{Priority, R2rExecutor, R2rOptions, SpinOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let executor = R2rExecutor::new(R2rOptions::from_env()?);
//! let node = executor.create_node(r2r::Context::create()?, "robot", "")?;
//! let mut stops = node.subscribe::<r2r::std_msgs::msg::Empty>("/stop", QosProfile::default())?;
//! let urgent = executor.create_spawner("urgent", Some(Priority(8)))?;
//! urgent.spawn(async move {
//!     while let Some(_stop) = stops.next().await {
//!         // Engage the brakes.
//!     }
//! });
//! executor.spin(SpinOptions::new())?;
//! # Ok(())
//! # }
//! ```
//!
//! - [`R2rNode`] spins its R2R node on a thread of its own, the pump, which is more urgent than all callbacks. The pump
//!   empties R2R's channels after every spin, so that R2R never finds one full.
//! - [`Incoming`] is what the pump put there: as many items as the quality of service says. Items that make room are
//!   counted.
//! - An [`Incoming`] is a stream, for R2R's code as it is, and a [source](rospin_engine::Source), for entities with a
//!   callback.
//! - A [`Spawner`] runs futures on the executor's threads, at a priority, within a Tokio context.

mod executor;
mod incoming;
mod node;
mod options;
mod pump;
mod tasks;
mod timer;

pub use executor::R2rExecutor;
pub use incoming::Incoming;
pub use node::{NodeError, R2rNode};
pub use options::R2rOptions;
pub use rospin_engine::{
    CallbackGroup, Deployment, DeploymentError, EntityKind, EntityOptions, ExecutorOptions, GroupOptions, LossCause,
    Priority, ReentrantGroup, SpinEnd, SpinError, SpinOptions, TimerOptions, policy,
};
pub use tasks::Spawner;
pub use timer::Timer;
