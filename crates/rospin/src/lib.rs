//! ROS 2 nodes on a real-time, event-driven executor.
//!
//! rospin decides which callback runs next, on which thread, in the order of a [`policy`] that knows which one is urgent. Callbacks
//! are synchronous or asynchronous, Tokio works inside them, and everything that is lost is counted.
//!
//! ```no_run
//! use rospin::msgs::std_msgs::msg::String as Text;
//! use rospin::prelude::*;
//!
//! fn main() -> rospin::Result<()> {
//!     let ros = rospin::init()?;
//!     let node = ros.create_node("talker")?;
//!     let chatter = node.create_publisher::<Text>("chatter")?;
//!     let mut count = 0;
//!     let _timer = node.create_timer(Duration::from_millis(10), move |_| {
//!         count += 1;
//!         chatter.publish(Text { data: format!("Hello World: {count}") })
//!     })?;
//!     Ok(ros.spin()?)
//! }
//! ```
//!
//! - [`init`] reads the environment, chooses a middleware and listens for signals; [`Ros`] creates nodes.
//! - A [`Node`] creates publishers, subscriptions, services, clients and timers. Their callbacks run one at a time, unless they are
//!   created [`on`](Node::on) a callback group of their own: see [`callback`] for the forms that they may have.
//! - A [`CallbackGroup`] has a payload that its callbacks share without a lock; a [`ReentrantGroup`] excludes nothing.
//! - An [`Executor`] has threads and a policy; it is spun. A [`Context`] has the clocks.
//! - A [`container`] runs nodes that a file chooses.
//! - [`msgs`] has the messages of ROS 2's own packages, a feature each.
//!
//! # Middlewares
//!
//! Nodes of one process talk without a network. With the feature `dds` or `zenoh` they talk to others, too: `RMW_IMPLEMENTATION` says
//! how, as for every ROS 2 program. See [`init`].
//!
//! Handles own what they stand for: a subscription ends when its handle is dropped, so keep it for as long as it is to be heard.

#![forbid(unsafe_code)]

mod init;
pub mod prelude;
mod signals;

pub use rospin_container as container;
pub use rospin_engine::{
    Activation, Barrier, BarrierError, CallbackGroup, Chain, ChainError, Clock, ClockChange, ClockKind, Closer,
    Context, ContextOptions, Criticality, DeployError, Deployment, DeploymentError, Entity, EntityId, EntityKind,
    EntityOptions, EntitySpec, Executor, ExecutorHandle, ExecutorOptions, Failures, FileError, GroupGone, GroupId,
    GroupKind, GroupOptions, Incident, IncidentKind, Instant, JumpCallback, JumpThreshold, Loss, LossCause,
    ManualClock, Notifier, OnPanic, Order, Overrun, Payload, Pending, Policy, Priority, PriorityMap, ReentrantGroup,
    RosTime, Sleep, SleepError, Source, SourceError, SpinEnd, SpinError, SpinOptions, TakeError, Tick, TimeJump, Timer,
    TimerError, TimerOptions, check_cores, deployment, os, policy, trace,
};
pub use rospin_msgs as msgs;
pub use rospin_node::*;

pub use anyhow::{Error, Result};
pub use init::{InitError, Middlewares, init, init_with};

/// Nodes over DDS: what [`init`] does not ask for.
#[cfg(feature = "dds")]
pub use rospin_dds as dds;
/// Nodes over Zenoh: what [`init`] does not ask for.
#[cfg(feature = "zenoh")]
pub use rospin_zenoh as zenoh;

/// The program in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
