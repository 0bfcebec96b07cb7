//! ROS 2 over DDS, run by rospin: nodes that talk to C++ and Python nodes, whose callbacks run when rospin's policy
//! says.
//!
//! The middleware is Eclipse Cyclone DDS, the C library, which Cargo compiles along, with four small patches: that
//! takes CMake and a C and C++ compiler. Its threads move bytes and nothing else. When something arrived they put it
//! into a queue and raise a flag; an executor's own thread takes it, decodes it and runs the callback.
//!
//! - A [`Domain`] is a process' part in a DDS domain: one participant with its sockets and threads, which its nodes
//!   share.
//! - A [`Node`] has a name, and creates publishers, subscriptions, services and clients.
//! - [`Message`]s and [`ServiceInterface`]s are types that are generated from ROS 2's definitions (`rospin-msgs`).
//!
//! ```no_run
//! use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
//! use rospin_dds::{Domain, DomainOptions};
//! use rospin_msgs::std_msgs::msg::String as Text;
//!
//! let context = Context::new(ContextOptions::new());
//! let executor = context.create_executor(ExecutorOptions::new("main"));
//! let domain = Domain::join(DomainOptions::from_env()?)?;
//! let node = domain.ros(&context).create_node("listener")?;
//!
//! let group = node.create_group_on(&executor.handle(), "listener", 0_u32);
//! let _subscription = group.create_subscription("chatter", |heard: &mut u32, message: Text| {
//!     *heard += 1;
//!     println!("{heard}: {}", message.data);
//! })?;
//! executor.spin(SpinOptions::new())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Quality of service
//!
//! As `rmw_cyclonedds_cpp` has it, with two differences. A reliable publisher that keeps all and is far ahead of its
//! subscriptions (500 kB that they have not confirmed, unless `Internal/Watermarks/WhcHigh` says otherwise) waits for
//! its [`max_blocking_time`](Qos::with_max_blocking_time) rather than for ever, and fails with [`PublishError::Full`].
//! One that keeps the last few messages, and publishes them as fast as it can, waits while more is on its way to
//! processes of this machine than an eighth of their sockets' buffers: what overflows them would be overwritten before
//! it could be sent again. It waits for 25 ms at most if a process does not answer, and then not again before it does;
//! and not at all where 64 KiB, or 50 small messages, take it more than 20 ms. Subscriptions of this process never make
//! a publisher of either kind wait here. A subscription that keeps all keeps no more than 8192 messages.
//!
//! Two ends of a topic whose quality of service or type does not fit are not matched; the log says so, once, and how to
//! fix it.
//!
//! A lifespan begins with the arrival of a message. As Cyclone DDS has it, a publisher with manual liveliness whose
//! lease has ended is alive again with its next message, not when it asserts to be alive.
//!
//! A match counts once it is sure that messages arrive: [`Publisher::wait_for_subscription`] returns when the
//! subscription has answered, and [`Client::wait_for_service`] when a server is there with both of its ends.
//!
//! # Losses
//!
//! A payload that is not a value of its topic's type (cut short, another type, noise) is counted as
//! [`TakeFailed`](rospin_engine::LossCause::TakeFailed) and reported as an [`Incident`](rospin_engine::Incident); the
//! callback does not run. [`Subscription::missed`] counts the messages that a full queue displaced, and those that
//! never arrived, as far as the numbers of the messages that did arrive tell.
//!
//! A call ends with [`CallError::Unanswered`] when all servers that were there when it was sent have gone before one
//! has answered. One that was killed goes at the end of its lease, also if it was started again within that. A server
//! that stays and does not answer is not told of: DDS has no word for that. A response whose client discovery has found
//! only one end of waits for the other one, for ten seconds at most; then it is logged and counted
//! ([`Service::unsent_responses`]).
//!
//! # Other implementations
//!
//! Topics are those of every DDS. Services and actions have two forms, and a server answers each client in the
//! client's:
//!
//! - `rmw_cyclonedds_cpp` begins requests and responses with a header that says whose they are.
//! - `rmw_fastrtps_cpp`, ROS 2's default, has that beside the message, in parameters of DDS that precede it (the inline
//!   QoS `PID_RELATED_SAMPLE_IDENTITY`); so has RustDDS.
//!
//! A client speaks the form of its servers. If one service has servers that read only the one form and others that read
//! only the other, calls fail with [`CallError::NotSent`], and the log says so, once: each kind would take a request of
//! the other form for another request, and execute that. Servers of this crate read both.
//!
//! A message that is published just when a subscription is created may be lost if its publisher's DDS is neither
//! Cyclone's nor Fast
//! DDS: Cyclone DDS cannot know where the history of such a publisher ends.
//!
//! Warnings of Cyclone DDS itself go to the log, at most 20 lines a second. It gives them with locks of its own held,
//! so a logger of yours must not call this crate; that of `rospin::init` does not.
//!
//! # Security
//!
//! With the feature `security`, which compiles against OpenSSL, a process proves its identity and communicates only
//! with processes that can prove theirs. It takes a keystore of `ros2 security create_keystore` as it is.
//! [`DomainOptions::from_env`] reads the variables of ROS 2 (`ROS_SECURITY_ENABLE` and the like). A publisher or
//! subscription that the permissions do not allow is refused when it is created. The plugins are part of the program;
//! Cyclone DDS prints on standard error which certificates or documents it does not accept.
//!
//! # Publishers that are faster than their subscriptions
//!
//! A reliable subscription that [keeps all](History::KeepAll) refuses what it has no room for. The message stays with
//! its publisher and is sent again, also by other implementations of DDS. None of Cyclone DDS's threads waits
//! meanwhile. All subscriptions of a process to one topic get the messages of a publisher together, so the fullest of
//! those that keep all decides for the others.
//!
//! A reliable publisher with a history of limited depth overwrites its oldest messages, whether or not they have
//! arrived. The log says so, once, if a subscription asks for one of them in vain.
//!
//! # The graph
//!
//! [Nodes](Node) know of other nodes as far as discovery has heard of them. The node of a publisher, subscription,
//! server or client is announced on a topic of its own, from ROS 2 Iron on, so it may be known a moment later than the
//! endpoint. A process that ends announces its end. A process that was killed leaves the graph when the lease that it
//! asked for is over, by default after ten seconds.
//!
//! # Threads
//!
//! Cyclone DDS's threads are started by [`Domain::join`]: `recv` (or `recvMC` and `recvUC`), `dq.builtins`, `dq.user`,
//! `tev` and `gc`; and one called `rospin-dds` that looks after new matches and after queues that were full, and sleeps
//! otherwise. They have the
//! scheduling of the thread that joins; see [`Context::start_threads`](rospin_engine::Context::start_threads). Messages
//! that a process sends to itself pass none of these threads: the publishing thread leaves them in the subscription's
//! queue.

#![deny(unsafe_code)]

#[cfg(feature = "bare")]
#[doc(hidden)]
pub use cyclone::bare;

mod cdr;
mod client;
mod cyclone;
mod domain;
mod ends;
mod entries;
mod feed;
mod form;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod gaps;
mod matches;
mod middleware;
mod names;
mod nodes;
mod options;
mod publisher;
mod ready;
mod room;
mod security;
mod service;
mod subscription;
mod user_data;
mod vendor;

pub use domain::Domain;
pub use options::{DiscoveryRange, DomainOptions, EnvError, JoinError};
pub use rospin_node::*;
