//! The seam to a middleware: publishers, subscriptions, services and clients, and nothing else.
//!
//! What travels through it are payloads: CDR behind its header, as [`rospin_wire::cdr::to_payload`] makes it. So a middleware knows
//! nothing of types but their names, and its code is compiled once. What arrives is a [`Source`]: the middleware's threads notify,
//! an executor's thread takes and decodes. None of them calls a callback.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use rospin_engine::{ForeignThread, ForeignThreads, Source};

use crate::error::CallError;
use crate::error::PublishError;
use crate::error::Refused;
use crate::graph::Graph;
use crate::inbox::Delivery;
use crate::info::{Gid, Packet};
use crate::matches::{Awaited, Matches};
use crate::names::{FullName, NodeName, TypeName};
use crate::qos::Qos;

/// The threads of Cyclone DDS: those that read the network, hand messages on, and send what is due; its garbage collector, and the one
/// that looks after new matches.
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

/// The threads of Zenoh's runtimes: those that read and write the network; and those that accept links, find others and run what is
/// Zenoh's own.
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

/// Moves payloads between nodes.
///
/// Programs choose one for their [`Ros`](crate::Ros) and call [nodes](crate::Node). An implementation starts what threads it needs
/// by itself; they only move bytes and notify.
///
/// Losses that only the middleware sees it counts with [`Notifier::count_lost`](rospin_engine::Notifier::count_lost).
pub trait Middleware: Send + Sync + 'static {
    /// Returns the graph of the network. The middleware enters what belongs to other processes, on whichever thread hears of it;
    /// what belongs to this one is entered above.
    fn graph(&self) -> &Arc<Graph>;

    /// Returns the threads that it starts, which are raised above real-time executors; none unless it says so.
    fn threads(&self) -> Option<ForeignThreads> {
        None
    }

    /// Makes a node known. It is in the graph as long as what is returned lives.
    ///
    /// # Errors
    /// If it cannot.
    fn create_node(&self, name: &NodeName) -> Result<Box<dyn NodeEnd>, Refused>;
}

/// A node as a middleware has it.
pub trait NodeEnd: Send + Sync + 'static {
    /// Creates a publisher of payloads of that type.
    ///
    /// # Errors
    /// If it cannot.
    fn create_publisher(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
    ) -> Result<Box<dyn PublisherEnd>, Refused>;

    /// Creates a subscription: messages go to `delivery`, on any thread, in the order of their arrival. Only messages that are sent
    /// from then on, unless `qos` asks for those that were latched; and none that was published through the same middleware object,
    /// since those are delivered without it.
    ///
    /// # Errors
    /// If it cannot.
    fn create_subscription(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        delivery: Delivery<Packet>,
    ) -> Result<SubscriptionEnd, Refused>;

    /// Creates a server: the requests, each with where its response goes, and none that was sent to a server before it. No more
    /// than the depth of `qos` is kept, as for [subscriptions](Self::create_subscription).
    ///
    /// # Errors
    /// If it cannot.
    fn create_service(&self, service: &FullName, service_type: &TypeName, qos: &Qos) -> Result<RequestSource, Refused>;

    /// Creates a client. Its responses go to the futures that await them; no executor takes them.
    ///
    /// # Errors
    /// If it cannot.
    fn create_client(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<Box<dyn ClientEnd>, Refused>;
}

/// A subscription as a middleware has it.
pub struct SubscriptionEnd {
    /// Receives until it is dropped.
    pub reader: Box<dyn Send>,
    /// The publishers of other processes that it is matched with.
    pub matches: Box<dyn Matches>,
}

impl fmt::Debug for SubscriptionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscriptionEnd").field("count", &self.matches.count()).finish_non_exhaustive()
    }
}

/// The requests of a server, each with where its response goes.
pub type RequestSource = Box<dyn Source<Item = (Bytes, Box<dyn ReplyEnd>), Attachment = ()>>;

/// A publisher as a middleware has it. It is matched with subscriptions of other processes, as [`NodeEnd::create_subscription`]
/// says.
pub trait PublisherEnd: Matches {
    /// Returns true if anybody may get the next message, now or later; otherwise it is not even encoded. Neither blocks nor locks.
    fn is_heard(&self) -> bool;

    /// Returns its id: the same as subscriptions of other processes see in the [publication](crate::Publication) of each message.
    fn gid(&self) -> Gid;

    /// Notes a message that is not sent, since nobody hears it. A middleware that numbers messages counts it: a subscription that had
    /// been matched, and is matched again later, tells from the numbers how many it missed.
    fn pass_over(&self) {}

    /// Sends a message, without waiting for subscriptions. It may take the bytes out of `payload`; what it leaves there is the memory
    /// that the next one is encoded into.
    ///
    /// # Errors
    /// If the message is lost.
    fn publish(&self, payload: &mut Vec<u8>) -> Result<(), PublishError>;
}

/// Where a response goes.
pub trait ReplyEnd: Send + 'static {
    /// Sends the response, without waiting for the client.
    ///
    /// # Errors
    /// If the response is lost.
    fn send(self: Box<Self>, payload: Vec<u8>) -> Result<(), Refused>;

    /// Tells the client, where that is possible, that its request could not be decoded.
    fn refuse(self: Box<Self>, reason: &str);
}

/// A client as a middleware has it. It is matched once a server can answer.
pub trait ClientEnd: Matches {
    /// Sends a request, without waiting for the server. Dropping what is returned gives the call up.
    fn call(&self, payload: Vec<u8>) -> Awaited<Result<Bytes, CallError>>;

    /// Returns how many responses could not be told apart from others, and were lost.
    fn unreadable(&self) -> u64;
}
