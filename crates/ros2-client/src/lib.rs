//! ROS 2 over DDS, run by rospin: nodes that talk to C++ and Python nodes, whose callbacks run when rospin's policy says.
//!
//! The middleware is the crate [`ros2_client`] on RustDDS, all of it Rust: nothing has to be installed. Its threads move
//! bytes and nothing else. When something arrived they raise a flag; an executor's own thread takes it, decodes it and runs
//! the callback.
//!
//! - A [`Domain`] is what a process has of a DDS domain: sockets and threads, which its nodes share.
//! - A [`Node`] has a name, and creates publishers, subscriptions, services and clients.
//! - [`Message`]s and [`Service`]s are types that are generated from ROS 2's definitions (`rospin-msgs`).
//!
//! ```no_run
//! use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
//! use rospin_msgs::std_msgs::msg::String as Text;
//! use rospin_ros2_client::{Domain, DomainOptions};
//!
//! let context = Context::new(ContextOptions::new());
//! let executor = context.create_executor(ExecutorOptions::new("main"));
//! let domain = Domain::join(&executor.handle(), DomainOptions::from_env()?)?;
//! let node = domain.ros().create_node("listener")?;
//!
//! let group = executor.create_group("listener", 0_u32);
//! let _subscription = node.on(&group).create_subscription("chatter", |heard: &mut u32, message: Text| {
//!     *heard += 1;
//!     println!("{heard}: {}", message.data);
//! })?;
//! executor.spin(SpinOptions::new())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is lost
//!
//! A payload that is not what its topic's type says (cut short, another type, noise) is counted as
//! [`TakeFailed`](rospin_engine::LossCause::TakeFailed) and reported as an [`Incident`](rospin_engine::Incident); the callback does not
//! run. What the middleware's queue drops when a callback is slower than its topic is in [`Subscription::missed`].
//!
//! # The graph
//!
//! What [nodes](Node) tell of others is what discovery heard, from the time at which the executor of the [`Domain`] spins. Which node
//! has a publisher, subscription, server or client comes on a topic of its own, from nodes of ROS 2 Iron or later: it may be known a
//! moment after the rest. Who ends says goodbye; who is killed is missed when the lease is over that it asked for, 50 seconds for
//! processes on this crate. RustDDS forgets what happens while 2048 events wait: where an executor does not spin for long and a large
//! system starts meanwhile, some of it may be missing.
//!
//! A process may have two participants, so tools may list one of its nodes twice; here, nodes of one name are one.
//!
//! # What RustDDS does otherwise
//!
//! A [latched](PublisherOptions::transient_local) publisher keeps its depth only from when it has a subscription, and tidies up
//! every six seconds: until then, late subscriptions get more than that, as far as their own depth goes. Those of this crate that
//! did not ask for what was latched get it, too, if they are reliable. Publishers of other implementations know better.

#![forbid(unsafe_code)]

mod client;
mod domain;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod gaps;
mod graph;
mod headed;
mod listener;
mod matches;
mod middleware;
mod names;
mod node;
mod owed;
mod participant;
mod publisher;
mod raw;
mod reader;
#[cfg(feature = "security")]
mod security;
mod server;
mod subscription;

pub use domain::{Domain, DomainOptions, EnvError, JoinError, ServiceMapping};
pub use rospin_node::*;

/// The middleware itself, in the version that this crate uses.
pub use ros2_client;
