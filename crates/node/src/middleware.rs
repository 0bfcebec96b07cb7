//! The interface between nodes and a middleware: publishers, subscriptions, services and clients, and nothing else.
//!
//! Payloads pass it: CDR behind its header, as [`rospin_wire::cdr::to_payload`] encodes it. So a middleware knows only
//! the names of types, and its code is compiled once. Messages go through an [`Inlet`] into the queue of their
//! subscription, and requests arrive at a [`Source`]: the middleware's threads notify, and an executor's thread takes
//! and decodes them. The middleware's threads never call a callback.
//!
//! A node has one type for all middlewares, so a middleware is chosen at run time. The price is a virtual call for each
//! message.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bytes::Bytes;
use rospin_engine::{ForeignThread, ForeignThreads, Source};
use rospin_wire::cdr::Gap;

use crate::error::CallError;
use crate::error::PublishError;
use crate::error::Refused;
use crate::events::EndEvents;
use crate::graph::Graph;
use crate::info::{Gid, RequestId};
use crate::inlet::Inlet;
use crate::loan::LentBytes;
use crate::matches::{Awaited, Matches};
use crate::names::{FullName, NodeName, TypeName};
use crate::qos::Qos;

/// Threads of Cyclone DDS. Some read the network, hand messages on, or send what is due. Others collect garbage, or
/// look after new matches.
pub const CYCLONE_DDS_THREADS: ForeignThreads = ForeignThreads {
    middleware: "DDS",
    kinds: &[
        ForeignThread::carries("recv*"),
        ForeignThread::carries("dq.user"),
        ForeignThread::carries("tev"),
        ForeignThread::serves("dq.builtins"),
        ForeignThread::serves("gc"),
        ForeignThread::serves("rospin-dds"),
    ],
};

/// Threads of Zenoh's runtimes. Some read and write the network. Others accept connections, find other processes, or
/// run Zenoh's own tasks.
pub const ZENOH_THREADS: ForeignThreads = ForeignThreads {
    middleware: "Zenoh",
    kinds: &[
        ForeignThread::carries("rx-*"),
        ForeignThread::carries("tx-*"),
        ForeignThread::carries("net-*"),
        ForeignThread::serves("acc-*"),
        ForeignThread::serves("app-*"),
    ],
};

/// Middleware that moves payloads between nodes.
///
/// Programs choose one for their [`Ros`](crate::Ros), and use [nodes](crate::Node) only. An implementation starts the
/// threads that it needs. These only move bytes and notify.
///
/// The middleware counts losses that only it notices with
/// [`Notifier::count_lost`](rospin_engine::Notifier::count_lost).
pub trait Middleware: Send + Sync + 'static {
    /// Returns the graph of the network. The middleware enters nodes and endpoints of other processes, on any thread.
    /// This crate enters those of this process.
    fn graph(&self) -> &Arc<Graph>;

    /// Returns the kinds of threads that the middleware starts, which are raised above real-time executors. The default
    /// is none.
    fn threads(&self) -> Option<ForeignThreads> {
        None
    }

    /// Returns the name of the network: of two middlewares on one machine whose networks have different names, no ends
    /// are ever matched. It is empty, by default, if the middleware cannot tell.
    fn network(&self) -> String {
        String::new()
    }

    /// Announces a node, which is in the graphs of other processes until the returned value is dropped.
    ///
    /// # Errors
    /// If the middleware cannot announce the node. The text is the reason.
    fn create_node(&self, name: &NodeName) -> Result<Box<dyn NodeEnd>, Refused>;
}

/// The middleware's side of a node.
pub trait NodeEnd: Send + Sync + 'static {
    /// Creates a publisher of payloads of that type. Records in `events` what happens between it and ends of other
    /// processes.
    ///
    /// # Errors
    /// If the middleware cannot create it. The text is the reason.
    fn create_publisher(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        events: &EndEvents,
    ) -> Result<Box<dyn PublisherEnd>, Refused>;

    /// Creates a subscription, which passes payloads to `inlet`, on any thread, in the order of their arrival. It
    /// receives messages that are sent from then on; those that publishers kept only if `qos` is transient local. It
    /// must leave out messages that were published through the same middleware object, because this crate delivers
    /// those itself. If the inlet [keeps all](Inlet::keeps_all), messages for which it has no room should stay with
    /// their publisher. Records in `events` what happens between it and ends of other processes.
    ///
    /// # Errors
    /// If the middleware cannot create it. The text is the reason.
    fn create_subscription(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        inlet: Inlet,
        events: &EndEvents,
    ) -> Result<SubscriptionEnd, Refused>;

    /// Creates a server. The items of the returned source are the requests, each with the way of its response. The
    /// source has no requests that were sent to an earlier server, and holds at most as many as the depth of `qos`. The
    /// server adds to `unsent` the responses that are lost after [`ReplyEnd::send`] has taken them.
    ///
    /// # Errors
    /// If the middleware cannot create it. The text is the reason.
    fn create_service(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
        unsent: &Arc<AtomicU64>,
    ) -> Result<RequestSource, Refused>;

    /// Creates a client. Its responses go straight to the futures that await them, without an executor.
    ///
    /// # Errors
    /// If the middleware cannot create it. The text is the reason.
    fn create_client(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<Box<dyn ClientEnd>, Refused>;
}

/// The middleware's side of a subscription.
pub struct SubscriptionEnd {
    /// Reader that receives messages until it is dropped.
    pub reader: Box<dyn Send>,
    /// Publishers of other processes that the subscription is matched with.
    pub matches: Box<dyn Matches>,
}

impl fmt::Debug for SubscriptionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscriptionEnd").field("count", &self.matches.count()).finish_non_exhaustive()
    }
}

/// Requests of a server, each with the way of its response.
pub type RequestSource = Box<dyn Source<Item = (Bytes, Box<dyn ReplyEnd>), Attachment = ()>>;

/// The middleware's side of a publisher. Its [matches](Matches) are subscriptions of other processes.
pub trait PublisherEnd: Matches {
    /// Returns true if a subscription of another process may get the next message, now or later. Otherwise the message
    /// is not passed to [`publish`](Self::publish), nor encoded for that. Neither blocks nor locks.
    fn is_heard(&self) -> bool;

    /// Returns the publisher's id: the one that subscriptions of other processes see in the
    /// [publication](crate::Publication) of each message.
    fn gid(&self) -> Gid;

    /// Returns true if a subscription of another process may get the next message that is none of `known`, which are
    /// subscriptions by their [ids](Matches::id). Locks for a moment. A middleware that cannot tell them apart answers
    /// as [`is_heard`](Self::is_heard) does, which is the default.
    fn is_heard_besides(&self, known: &[Gid]) -> bool {
        let _ = known;
        self.is_heard()
    }

    /// Returns true if it lends memory, from which subscriptions of other processes read without a copy. The default is
    /// false.
    fn can_lend(&self) -> bool {
        false
    }

    /// Lends memory for so many bytes of a message; `None` if there is none.
    fn lend(&self, length: usize) -> Option<Box<dyn LentBytes>> {
        let _ = length;
        None
    }

    /// Returns true if those are all bytes of memory that it has lent and has not got back.
    fn has_lent(&self, bytes: &[u8]) -> bool {
        let _ = bytes;
        false
    }

    /// Does what [`publish`](Self::publish) does with a payload that has a gap: the bytes that belong there are in
    /// memory that it [has lent](Self::has_lent), where nobody reads them after this call, but subscriptions.
    ///
    /// # Errors
    /// As those of [`publish`](Self::publish).
    fn publish_around(&self, payload: &mut Vec<u8>, gap: Gap) -> Result<(), PublishError> {
        let _ = (payload, gap);
        Err(PublishError::Failed { topic: String::new(), reason: "the middleware lends no memory".to_owned() })
    }

    /// Notes a message that is not sent, because no subscription would get it. A middleware that numbers messages
    /// counts it. A subscription that was matched before, and is matched again later, learns from the numbers how many
    /// messages it missed.
    fn pass_over(&self) {}

    /// Gives a sign of life, if its [liveliness](crate::Liveliness) is manual. A middleware without liveliness does
    /// nothing.
    fn assert_liveliness(&self) {}

    /// Waits until there is room for a message, for the time `at_most`: until [`publish`](Self::publish) neither waits
    /// nor overwrites a message that a reliable subscription of another process has not got. With zero it only looks.
    /// Returns true if there is room.
    ///
    /// # Errors
    /// If the middleware cannot tell, which is the default. The text is the reason.
    fn wait_for_room(&self, at_most: Duration) -> Result<bool, Refused> {
        let _ = at_most;
        Err(Refused("the middleware does not tell if there is room for a message".to_owned()))
    }

    /// Sends a message, whether or not a subscription is ready to take it. May wait for room as long as the
    /// middleware's settings say, for example while reliable subscriptions are far behind.
    ///
    /// It may take the memory of `payload`, and leave other memory in its place, which is used for the next message.
    ///
    /// # Errors
    /// [`PublishError::Full`] if there was no room in time; others if the middleware could not send. The message is
    /// lost then.
    fn publish(&self, payload: &mut Vec<u8>) -> Result<(), PublishError>;
}

/// A request that was sent.
pub struct SentRequest {
    /// Its id, which the server has from [`ReplyEnd::request_id`].
    pub id: RequestId,
    /// Future of the response.
    pub response: Awaited<Result<Bytes, CallError>>,
}

impl fmt::Debug for SentRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SentRequest").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Way of a response to its client.
pub trait ReplyEnd: Send + 'static {
    /// Returns the id of the request.
    fn request_id(&self) -> RequestId;

    /// Sends the response, without waiting for the client. May wait for room, as [`PublisherEnd::publish`] does.
    ///
    /// # Errors
    /// If the response is lost.
    fn send(self: Box<Self>, payload: Vec<u8>) -> Result<(), Refused>;

    /// Tells the client, where the middleware can do that, that its request could not be decoded. `reason` is the
    /// decoder's error.
    fn refuse(self: Box<Self>, reason: &str);
}

/// The middleware's side of a client: it sends requests and returns the responses. It is [matched](Matches) while a
/// server can answer.
pub trait ClientEnd: Matches {
    /// Sends a request, without waiting for the server. May wait for room, as [`PublisherEnd::publish`] does. Returns
    /// its id, and a future of the response. Dropping the future abandons the call.
    ///
    /// # Errors
    /// If the request was not sent.
    fn call(&self, payload: Vec<u8>) -> Result<SentRequest, CallError>;

    /// Returns the number of responses that were lost because their calls could not be identified.
    fn unreadable(&self) -> u64;
}
