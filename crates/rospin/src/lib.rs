//! ROS 2 nodes on a real-time, event-driven executor.
//!
//! rospin decides which callback runs next, and on which thread. A [`policy`] orders callbacks by urgency. Callbacks
//! are synchronous or asynchronous, Tokio works inside them, and every message that is lost is counted.
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
//! - [`init`] reads arguments and environment, chooses a middleware, logs to the console and listens for signals. [`Ros`]
//!   creates nodes.
//! - A [`Node`] creates publishers, subscriptions, services, clients and timers. Its callbacks run one at a time, unless they are
//!   created on other callback groups. The module [`callback`] lists the forms that a callback may have.
//! - A [`CallbackGroup`] has a payload that its callbacks share without a lock. Callbacks of a [`ReentrantGroup`] may
//!   run at the same time.
//! - An [`Executor`] has threads and a policy, and is spun. A [`Context`] has the clocks.
//! - A [`container`] runs several nodes, which a file lists.
//! - [`log`] has the macros for log records; [`Node::logger`] writes them in a node's name.
//! - A [`testing::Harness`] runs nodes in tests, under a clock of its own.
//! - [`message_filters`] gives callbacks the messages of several topics that belong together. `tf2`, behind the feature of
//!   that name, keeps coordinate frames over time.
//! - `diagnostics`, behind the feature `diagnostic_msgs`, reports on `/diagnostics`.
//! - `accelerator`, behind the feature of that name, shares a GPU between chains in the order of their priorities, and
//!   `remote_accelerator` between processes.
//! - [`msgs`] has the messages of ROS 2's own packages, a feature per package. Their bytes, such as those of an image, are a
//!   [`Blob`], which is made of a `Vec<u8>` by `into()`.
//!
//! # Middlewares
//!
//! Nodes of one process communicate without a network. With the feature `dds` or `zenoh` they also communicate with
//! other processes. `RMW_IMPLEMENTATION` selects the middleware, as for every ROS 2 program. See [`init`].
//!
//! A handle owns its entity: a subscription ends when its handle is dropped. Keep the handle for as long as the
//! callback shall run.

#![forbid(unsafe_code)]

mod console;
#[cfg(feature = "diagnostic_msgs")]
pub mod diagnostics;
mod init;
mod live;
mod monitor_of_process;
pub mod prelude;
mod recording;
mod signals;
pub mod testing;

pub use rospin_container as container;
pub use rospin_engine::{
    Activation, Barrier, BarrierError, Chain, ChainError, Clock, ClockChange, ClockKind, Closer, Context,
    ContextOptions, Criticality, DeployError, Deployment, DeploymentError, Entity, EntityId, EntityKind, EntityOptions,
    EntitySpec, Executor, ExecutorHandle, ExecutorOptions, Failures, FileError, GroupGone, GroupId, GroupKind,
    GroupOptions, Incident, IncidentKind, Instant, JumpCallback, JumpThreshold, Loss, LossCause, ManualClock,
    MissedDeadline, Misses, Notifier, OnPanic, Order, Overrun, Payload, Pending, Policy, Priority, PriorityMap, Rate,
    RateError, RecordError, Recorder, RosTime, SinkHandle, Sleep, SleepError, Source, SourceError, SpinEnd, SpinError,
    SpinOptions, TakeError, Time, TimeJump, Timer, TimerError, check_cores, deployment, os, policy, trace,
};
pub use rospin_msgs as msgs;
pub use rospin_node::*;

pub use anyhow::{Error, Result};
pub use init::{InitError, Middlewares, init, init_with};
pub use live::open_live_door;
/// Macros for log records: `log::info!(logger: node.logger(), "hello")`.
pub use log;
pub use monitor_of_process::{MonitoringError, monitor, monitor_from_env};
pub use recording::{RecordingError, emit_tracepoints_from_env, record_from_env};

/// Local topics and services, and the groups of an executor, on which their callbacks are created.
///
/// They belong to a [`Context`] and need no node. They are no ROS topics: no node hears them, whatever their name. So their creators
/// have names of their own.
///
/// ```
/// # use rospin::prelude::*;
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let group = executor.create_group("heard", 0_u32);
/// let _subscription = group.create_local_subscription("numbers", |heard, number: Arc<u32>| *heard += *number)?;
/// context.create_local_publisher("numbers")?.publish(7_u32);
/// executor.spin(SpinOptions::spin_all())?;
/// assert_eq!(group.into_payload().unwrap(), 7);
/// # Ok::<(), rospin::Error>(())
/// ```
///
/// ```compile_fail,E0599
/// # use rospin::prelude::*;
/// # let context = Context::new(ContextOptions::new());
/// context.create_publisher::<u32>("numbers"); // error: a node's `create_publisher` is meant
/// ```
pub mod local {
    pub use rospin_engine::{
        CallbackGroup, Client, Publisher, PublisherOptions, Queue, ReentrantGroup, RequestQueue, Service,
        ServiceOptions, Subscription, SubscriptionOptions, Topics,
    };
}

/// Monitors, which compare a program with its system file while it runs.
pub mod monitoring {
    pub use crate::monitor_of_process::watch;
    pub use rospin_trace::monitor::{Cause, Monitor, MonitorSink, Violation, ViolationCount, ViolationKind};
}

#[cfg(feature = "accelerator")]
pub use rospin_accelerator as accelerator;
/// Nodes over DDS: options beyond those of [`init`].
#[cfg(feature = "dds")]
pub use rospin_dds as dds;
/// An accelerator of several processes: its server, and its clients.
#[cfg(feature = "accelerator")]
pub use rospin_remote as remote_accelerator;
#[cfg(feature = "tf2")]
pub use rospin_tf2 as tf2;
/// Nodes over Zenoh: options beyond those of [`init`].
#[cfg(feature = "zenoh")]
pub use rospin_zenoh as zenoh;

/// Compiles the programs in README.md and in the book.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../book/src/guide/node.md")]
    struct Node;
    #[doc = include_str!("../../../book/src/guide/parameters.md")]
    struct Parameters;
    #[doc = include_str!("../../../book/src/guide/services_and_actions.md")]
    struct ServicesAndActions;
    #[doc = include_str!("../../../book/src/guide/lifecycle.md")]
    struct Lifecycle;
    #[doc = include_str!("../../../book/src/guide/launch.md")]
    struct Launch;
    #[doc = include_str!("../../../book/src/guide/several_robots.md")]
    struct SeveralRobots;
    #[doc = include_str!("../../../book/src/guide/messages.md")]
    struct Messages;
    #[doc = include_str!("../../../book/src/guide/qos.md")]
    struct QualityOfService;
    #[doc = include_str!("../../../book/src/guide/testing.md")]
    struct Testing;
    #[doc = include_str!("../../../book/src/guide/message_filters.md")]
    struct MessageFilters;
    #[doc = include_str!("../../../book/src/guide/tracing.md")]
    struct Tracing;
    #[doc = include_str!("../../../book/src/guide/monitor.md")]
    struct Monitor;
    #[cfg(feature = "diagnostic_msgs")]
    #[doc = include_str!("../../../book/src/guide/diagnostics.md")]
    struct Diagnostics;
    #[doc = include_str!("../../../book/src/guide/statistics.md")]
    struct Statistics;
    #[cfg(feature = "accelerator")]
    #[doc = include_str!("../../../book/src/guide/accelerators.md")]
    struct Accelerators;
    #[cfg(feature = "tf2")]
    #[doc = include_str!("../../../book/src/guide/tf2.md")]
    struct Tf2;
}
