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
//! At the root is what every program needs; modules have the rest, a module a topic. `use rospin::prelude::*;` imports
//! the names that most programs use, those of actions and lifecycle nodes with them.
//!
//! # Start and end
//!
//! - [`init`] reads arguments and environment, chooses a middleware, logs to the console and listens for signals.
//!   [`Ros`] creates nodes. [`init_with`] takes [`RosArguments`], [`Middlewares`] and [`ContextOptions`] of your own.
//! - [`Result`] and [`Error`] are those of `anyhow`. So is [`Ok`](Ok()): `rospin::Ok(())` ends a callback that uses
//!   `?`. The module [`errors`] has what the names of the root return.
//!
//! # Nodes
//!
//! - A [`Node`] creates publishers, subscriptions, services, clients and timers. Its callbacks run one at a time,
//!   unless they are created on other callback groups. [`NodeOptions`] have what a launch file can set, too.
//! - A [`Publisher`] sends, a [`Subscription`] calls back. Their options are [`PublisherOptions`] and
//!   [`SubscriptionOptions`], with a [`Qos`], whose parts are in [`qos`]; [`events`] come when it does not fit, or is
//!   not kept.
//! - A [`Service`] answers, a [`Client`] asks. [`ServiceOptions`] and [`ClientOptions`] are theirs.
//! - A [`Timer`] calls back at the times of its [`TimerOptions`], with a [`Tick`].
//! - [`parameters`]: a [`Parameter`] is declared with [`ParameterOptions`], or a whole struct that derives
//!   [`Parameters`].
//! - [`action`]: goals that take time, give feedback and can be canceled. [`lifecycle`]: managed nodes.
//! - [`graph`]: the nodes and endpoints of the network, and their names.
//! - A [`Logger`] writes records in its node's name, by the macros of [`log`]; [`logging`] has `/rosout`.
//! - A [`container`] runs several nodes, which a file lists.
//!
//! # Messages
//!
//! - [`msgs`] has the messages of ROS 2's own packages, a feature per package. Each is a [`Message`], or the two halves
//!   of a [`ServiceInterface`]. [`MessageInfo`] says where a message comes from.
//! - Bytes of a message, such as those of an image, are a [`Blob`], which is made of a `Vec<u8>` by `into()`.
//! - [`message`]: messages as bytes, and the names of types. [`dynamic`]: types that are known only at run time.
//! - [`message_filters`] gives callbacks the messages of several topics that belong together. `tf2`, behind the feature
//!   of that name, keeps coordinate frames over time. `diagnostics`, behind the feature `diagnostic_msgs`, reports on
//!   `/diagnostics`.
//!
//! # Callbacks and time
//!
//! - [`callback`] lists the forms that a callback may have.
//! - A [`CallbackGroup`] has a payload that its callbacks share without a lock, as a [`Payload`] where they are
//!   asynchronous. Callbacks of a [`ReentrantGroup`] may run at the same time. [`GroupOptions`] are for both, and
//!   [`groups`] has what is common to them.
//! - A [`Time`] is a point of ROS time. [`time`]: clocks, rates, sleeps, and the [`Instant`](time::Instant) of a steady
//!   clock.
//! - [`source`]: callbacks for what comes from devices, files and libraries. [`local`]: topics without a node.
//!
//! # Executors
//!
//! - An [`Executor`] has threads and a policy by its [`ExecutorOptions`], and is spun with [`SpinOptions`]. An
//!   [`ExecutorHandle`] ends the spin. A [`Context`] has the clocks.
//! - [`policy`] orders callbacks by urgency, such as by their [`Priority`]; [`scheduling`] has what policies know, and
//!   chains.
//! - [`executor`]: how a spin ends, and what a panic does. [`os`]: threads under the operating system's scheduling.
//! - [`deployment`]: a file with the priorities and threads of a program's callbacks.
//! - `accelerator`, behind the feature of that name, shares a GPU between chains in the order of their priorities, and
//!   `remote_accelerator` between processes.
//!
//! # Tests, and a look inside
//!
//! - [`testing`]: a [`Harness`](testing::Harness) runs nodes in tests, under a clock of its own.
//! - [`monitoring`]: losses, incidents and violations, while the program runs. [`recording`] and [`trace`]: everything
//!   that the executors do, in a file.
//!
//! # Middlewares
//!
//! Nodes of one process communicate without a network. With the feature `dds` or `zenoh` they also communicate with
//! other processes. `RMW_IMPLEMENTATION` selects the middleware, as for every ROS 2 program. See [`init`]. With the
//! feature `shared_memory`, images and point clouds stay in memory that the processes of a machine share.
//! [`middleware`] is for those who write another one.
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
pub mod recording;
mod signals;
pub mod testing;
mod topics;

pub use anyhow::{Error, Ok, Result};
pub use init::{Middlewares, init, init_with};
/// Macros for log records: `log::info!(logger: node.logger(), "hello")`.
pub use log;
pub use rospin_container as container;
pub use rospin_engine::{
    Context, ContextOptions, Executor, ExecutorHandle, ExecutorOptions, GroupOptions, Payload, Priority, SpinOptions,
    Time, Timer, deployment, os, policy, trace,
};
pub use rospin_msgs as msgs;
#[doc(hidden)]
pub use rospin_node::derived;
pub use rospin_node::{
    Blob, CallbackGroup, Client, ClientOptions, Logger, Message, MessageInfo, Node, NodeOptions, Parameter,
    ParameterOptions, Parameters, Publisher, PublisherOptions, Qos, ReentrantGroup, Ros, RosArguments, Service,
    ServiceInterface, ServiceOptions, Subscription, SubscriptionOptions, Tick, TimerOptions, callback, dynamic,
    lifecycle, message_filters,
};
pub use topics::{
    action, errors, events, executor, graph, groups, local, logging, message, middleware, monitoring, parameters, qos,
    scheduling, source, time,
};

#[cfg(feature = "accelerator")]
pub use rospin_accelerator as accelerator;
/// Nodes over DDS: options beyond those of [`init`].
#[cfg(feature = "dds")]
pub use rospin_dds as dds;
/// Images and point clouds between processes of one machine without a copy: options beyond those of [`init`].
#[cfg(feature = "shared_memory")]
pub use rospin_local as shared_memory;
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
