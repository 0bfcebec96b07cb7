//! ROS 2 over Zenoh, run by rospin: nodes that talk to those of `rmw_zenoh_cpp`, whose callbacks run when rospin's policy
//! says.
//!
//! Zenoh's threads move bytes and nothing else. When a message arrives they put it into a queue and raise a flag; an
//! executor's own thread takes it, decodes it and runs the callback.
//!
//! - A [`Session`] is the connection of a process to the network: sockets and threads, which its nodes share.
//! - A [`Node`] has a name, and creates publishers, subscriptions, services and clients.
//! - [`Message`]s and [`Service`]s are types that are generated from ROS 2's definitions, with their type's name and hash.
//!
//! ```no_run
//! use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
//! use rospin_zenoh::{Session, SessionOptions};
//! use rospin_msgs::std_msgs::msg::String as Text;
//!
//! let context = Context::new(ContextOptions::new());
//! let executor = context.create_executor(ExecutorOptions::new("main"));
//! let session = Session::open(SessionOptions::from_env()?)?;
//! let node = session.ros(&context).create_node("listener")?;
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
//! # Type hashes
//!
//! Over Zenoh, the hash of a type is part of every key: publisher and subscription, client and server meet only if it is the
//! same. ROS 2 from Iron on has it, and `ros2 topic info --verbose` shows it; give it as [`Message::TYPE_HASH`] and
//! [`Service::TYPE_HASH`], a service that of the service and not of its request. A type without one gets what Humble's
//! `rmw_zenoh_cpp` uses for all types, `TypeHashNotSupported`: such entities meet one another, and nodes on Humble, but no
//! nodes of a later ROS 2. An action has three hashes, of the services and the message that its type makes: see [`Action`].
//!
//! Types that are known only at run time calculate theirs. They announce it unless the program is built for Humble, or
//! [`MessageType::without_hash`](dynamic::MessageType::without_hash) says otherwise.
//!
//! Nodes of the crate ros2-client, where its Zenoh back end is used, know the hashes of a few types. For all others they say
//! 64 zeros, which no ROS 2 does: to meet them, give a type `RIHS01_` and 64 zeros.
//!
//! # Quality of service
//!
//! As in `rmw_zenoh_cpp`, a publisher and a subscription of the same topic and type always hear each other, whatever
//! their reliability and durability. Where the publisher offers less than the subscription asks for, a warning says so.
//! Latched topics work through Zenoh's advanced publishers and subscribers: a [transient
//! local](SubscriptionOptions::transient_local) subscription asks transient local publishers for what they kept.
//!
//! A publisher waits for room on a connection, for a tenth of a second as over DDS, and for a second if the message is longer than
//! 64 KiB. A message that finds none is dropped, reliable or not, and counted where it is missed. `rmw_zenoh_cpp` waits a
//! millisecond, and loses bursts of large messages on a busy machine. So a reliable publisher that is ahead of the
//! connection is slowed down to its speed, and a stuck subscription costs one wait. A callback that may not wait for
//! others sets [`SessionOptions::max_blocking_time`], or publishes on a session of its own: the publishers of a session share
//! the queue of a connection, and wait with each other.
//!
//! Only a publisher that is reliable *and* keeps [all](History::KeepAll) waits until the connection has room or is given up: while
//! a cable is out, the executor that it publishes on stands still, so give it one of its own. Such publishers have a
//! queue of their own on every connection, Zenoh's priority `DataHigh`: others do not wait with them, and what those said before
//! may be overtaken. Requests and responses wait for room, too, in the queue of all others, as in `rmw_zenoh_cpp`. A
//! subscription that keeps all keeps no more than 8192 messages.
//!
//! With the feature `shared-memory`, large messages can stay on the machine: see `SessionOptions::shared_memory`.
//!
//! # What is lost
//!
//! A payload that is not what its topic's type says (cut short, another type, noise) is counted as
//! [`TakeFailed`](rospin_engine::LossCause::TakeFailed) and reported as an [`Incident`](rospin_engine::Incident); the
//! callback does not run. [`Subscription::missed`] counts the messages that a full queue displaced, and those that
//! never arrived, as far as the numbers of the messages that did arrive tell.
//!
//! A server tells its client when it cannot answer: when it could not decode the request, when newer requests displaced it,
//! when its callback panicked, and when it ended. Such a call, and one whose response cannot be decoded, ends with
//! [`CallError::Unanswered`]. So does one that took longer than [it may](SessionOptions::call_timeout), and one whose
//! servers were killed or unplugged: a second after the last of them left the graph. A call that is dropped is still
//! answered, and remembered until then.
//!
//! Messages of a latched topic that are older than one that was heard already are not delivered any more. If more than
//! one is kept, that can concern messages that are published at the moment at which a subscription appears.
//!
//! Zenoh delivers by name and type, to all that are there when a message arrives. So a message or request that is under
//! way to a subscription or server that ends at that moment is heard by its successor in the same session, if there is
//! one already; and a subscription may hear a message that was published a moment before it was created.
//!
//! # The graph
//!
//! [Nodes](Node) know of others from their liveliness tokens. A process that is killed is missed as soon as its
//! connections end, one behind a cable that is out, when the connection's lease is over: after a minute, unless
//! `transport/link/tx/lease` says otherwise.
//!
//! # Who may join
//!
//! TLS and access control are [settings](SessionOptions::setting), or of the [file](SessionOptions::config_file). TLS is
//! for endpoints such as `quic/192.168.0.1:7447?multistream=0`: with more than one stream a message may overtake what
//! announces it, and is lost; and `tls/` is [not safe](OpenError::Tls). With access control, tokens are messages, too: a
//! topic whose messages are denied can still be seen in the graph.
//!
//! # Threads
//!
//! Zenoh's threads are started by [`Session::open`], with the scheduling of the thread that calls it; see
//! [`Context::start_threads`](rospin_engine::Context::start_threads). On them a sample is put into its queue, and a
//! call's end is told. Responses are decoded where they are awaited, so the executor and the priority of a client do not
//! matter here.
//!
//! # The library hiroz
//!
//! The keys and tokens of ROS 2 over Zenoh come from the crate `hiroz-protocol`. The nodes of hiroz are not used: their
//! types come with traits and code generation of their own, they start tasks and answer parameter services on Zenoh's
//! threads, and the end of a call without response is not told to its caller. This crate uses a Zenoh session directly,
//! and all the rest of ROS 2 is [`rospin_node`].

#![forbid(unsafe_code)]

mod attachment;
mod client;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod gaps;
mod grace;
mod graph;
mod matches;
mod middleware;
mod names;
mod options;
mod payload;
mod publisher;
mod service;
mod session;
mod spare;
mod subscription;

pub use options::{Mode, OpenError, SessionOptions};
pub use rospin_node::*;
pub use session::Session;

/// The transport itself, in the version that this crate uses.
pub use zenoh;
