//! ROS 2 over Zenoh, run by rospin: nodes that talk to those of `rmw_zenoh_cpp`, whose callbacks run when rospin's
//! policy says.
//!
//! Zenoh's threads move bytes and nothing else. When a message arrives, they put it into a queue and raise a flag. A
//! thread of the executor takes the message, decodes it and runs the callback.
//!
//! - A [`Session`] is the connection of a process to the network: sockets and threads, which its nodes share.
//! - A [`Node`] has a name, and creates publishers, subscriptions, services and clients.
//! - [`Message`]s and [`ServiceInterface`]s are types that are generated from ROS 2's definitions, with their type's
//!   name and hash.
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
//! let group = node.create_group_on(&executor.handle(), "listener", 0_u32);
//! let _subscription = group.create_subscription("chatter", |heard: &mut u32, message: Text| {
//!     *heard += 1;
//!     println!("{heard}: {}", message.data);
//! })?;
//! executor.spin(SpinOptions::new())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Type hashes
//!
//! Over Zenoh, the hash of a type is part of every key: a publisher and a subscription, or a client and a server, are
//! connected only if their hashes are the same. ROS 2 has hashes from Iron on, and `ros2 topic info --verbose` shows
//! them. Set them as [`Message::TYPE_HASH`] and [`ServiceInterface::TYPE_HASH`]; the latter is the hash of the service,
//! not of its request. A type without a hash gets the text that Humble's `rmw_zenoh_cpp` uses for all types,
//! `TypeHashNotSupported`. Such entities are connected with one another and with nodes on Humble, but not with nodes of
//! a later ROS 2. An action has three hashes, of the services and the message that belong to it: see [`Action`].
//!
//! Types that are known only at run time have a hash, too. For nodes on Humble, `MessageType::without_hash` takes it
//! away; a type that was learned from a publisher announces what the publisher does.
//!
//! Nodes of the crate ros2-client over Zenoh know the hashes of a few types. For all others they use 64 zeros, which no
//! ROS 2 does. To communicate with them, give a type the hash `RIHS01_` and 64 zeros.
//!
//! # Quality of service
//!
//! As in `rmw_zenoh_cpp`, a publisher and a subscription of the same topic and type are always connected, whatever
//! their reliability and durability. Where the publisher offers less than the subscription demands, a warning in the
//! log says so. A [transient local](SubscriptionOptions::transient_local) subscription asks transient local publishers
//! for the messages that they keep, through Zenoh's advanced publishers and subscribers.
//!
//! A publisher waits for room on a connection for up to 100 ms, as over DDS, and for up to a second if the message is
//! longer than 64 KiB. A message that finds no room by then is dropped, reliable or not, and the subscription counts it
//! as missed. (`rmw_zenoh_cpp` waits a millisecond, and loses bursts of large messages on a busy machine.) So a
//! reliable publisher is slowed down to the speed of its connection, and a stuck subscription delays it once. The
//! publishers of a session share the queue of a connection, and wait with each other. A callback that must not wait for
//! others sets [`SessionOptions::max_blocking_time`], or publishes on a session of its own.
//!
//! Only a publisher that is reliable *and* keeps [all](History::KeepAll) waits until the connection has room or is
//! given up. While a cable is unplugged, the executor that it publishes on stands still, so give it an executor of its
//! own. Such publishers have a queue of their own on every connection, with Zenoh's priority `DataHigh`. Other
//! publishers do not wait with them, and messages that others published earlier may be overtaken. Requests and
//! responses also wait for room, in the queue of the other publishers, as in `rmw_zenoh_cpp`. A subscription that keeps
//! all messages keeps at most 8192 of them.
//!
//! Zenoh connects ends of any quality of service, so there is no event of an incompatible one. Deadlines are counted at
//! both ends. Subscriptions in other processes learn nothing of a publisher's lifespan or manual liveliness, of which a
//! warning tells: to them it is alive while its process is. `rmw_zenoh_cpp` has none of the three.
//!
//! With the feature `shared-memory`, large messages can stay on the machine: see `SessionOptions::shared_memory`.
//!
//! # Losses
//!
//! A payload that is not a value of its topic's type (cut short, another type, noise) is counted as
//! [`TakeFailed`](rospin_engine::LossCause::TakeFailed) and reported as an [`Incident`](rospin_engine::Incident); the
//! callback does not run. [`Subscription::missed`] counts the messages that a full queue displaced, and those that
//! never arrived. The latter are gaps in the numbers of the messages that did arrive.
//!
//! A server tells its client when it cannot answer: when it could not decode the request, when newer requests displaced
//! it, when its callback panicked, and when it ended. Such a call, and one whose response cannot be decoded, ends with
//! [`CallError::Unanswered`]. So does a call that took longer than its [timeout](SessionOptions::call_timeout), and a
//! call whose servers were killed or unplugged: it ends a second after the last of them left the graph. A call that is
//! dropped is still answered, and Zenoh remembers it until then.
//!
//! A transient local subscription does not get messages that are older than one that it already got. If a publisher
//! keeps more than one message, this can affect messages that are published at the moment at which the subscription
//! appears.
//!
//! Zenoh delivers by name and type, to all subscribers that exist when a message arrives. So if a subscription or
//! server ends while a message or request is on its way, its successor in the same session gets it, if there is one
//! already. A subscription may also get a message that was published a moment before it was created.
//!
//! # The graph
//!
//! [Nodes](Node) know other nodes by their liveliness tokens. A process that is killed leaves the graph as soon as its
//! connections end. A process behind an unplugged cable leaves it when the connection's lease ends: after a minute,
//! unless `transport/link/tx/lease` is set.
//!
//! # Security
//!
//! TLS and access control are configured by [settings](SessionOptions::setting), or in the
//! [file](SessionOptions::config_file). Use TLS with endpoints such as `quic/192.168.0.1:7447?multistream=0`. With more
//! than one stream, a message may overtake the declaration that it depends on, and is lost. Endpoints with `tls/` are
//! [not safe](OpenError::Tls). Access control treats tokens as messages of their own: a topic whose messages are denied
//! can still be seen in the graph. Authentication by public keys, compression and several links between two sessions are
//! not compiled in: a program that wants them depends on `zenoh` with `auth_pubkey`, `transport_compression` or
//! `transport_multilink`.
//!
//! # Threads
//!
//! [`Session::open`] starts Zenoh's threads, with the scheduling of the thread that calls it; see
//! [`Context::start_threads`](rospin_engine::Context::start_threads). They put samples into queues, and report the ends
//! of calls. Responses are decoded by the task that awaits them, so the executor and the priority of a client do not
//! matter here.
//!
//! # The library hiroz
//!
//! Keys and tokens are those of `rmw_zenoh_cpp`, written here. The crate `hiroz-protocol` has them, too, but it enables
//! all of Zenoh's default features, and with them libraries that have known vulnerabilities. The nodes of hiroz are not
//! used: their types come with traits and code generation of their own, they start tasks and answer parameter services
//! on Zenoh's threads, and a caller does not learn that its call ended without a response. This crate uses a Zenoh
//! session directly, and everything else of ROS 2 is [`rospin_node`].

#![forbid(unsafe_code)]

mod attachment;
mod client;
mod error;
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
mod profile;
mod publisher;
mod service;
mod session;
mod spare;
mod subscription;
mod tokens;

pub use error::OpenError;
pub use options::{Mode, SessionOptions};
pub use rospin_node::*;
pub use session::Session;

/// The transport itself, in the version that this crate uses.
pub use zenoh;
