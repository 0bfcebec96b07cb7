//! The seam to a middleware: publishers, subscriptions, services and clients, and nothing else.
//!
//! What arrives is a [`Source`]: the middleware's threads notify, an executor's thread takes and decodes. None of them calls a
//! callback.

use std::sync::Arc;

use rospin::{EntityOptions, ExecutorHandle, Source};

use crate::client::CallError;
use crate::graph::Graph;
use crate::message::{Decode, Encode, Service};
use crate::names::{FullName, NodeName, TypeName};
use crate::publisher::PublishError;
use crate::qos::Qos;

/// What a middleware would not do, in its own words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// What moves messages between nodes.
///
/// Programs do not use it but to choose one; [`Node`](crate::Node) is what they call. An implementation starts what threads it
/// needs by itself; they only move bytes and notify.
///
/// Losses that only the middleware sees it counts with [`Notifier::count_lost`](rospin::Notifier::count_lost).
///
/// It knows nothing of types but their names: what is sent says to serde how it is [encoded](Encode), and a [seed](Decode) that
/// comes with a subscription how its messages are decoded. So types that are known only at run time need nothing of it.
pub trait Middleware: Clone + Send + Sync + 'static {
    /// A node as the graph knows it; it is in the graph as long as this lives.
    type Node: Send + Sync + 'static;
    /// See [`create_publisher`](Self::create_publisher).
    type Publisher<M: Encode>: PublisherEnd<M>;
    /// See [`create_subscription`](Self::create_subscription).
    type Messages<D: Decode>: Source<Item = D::Message>;
    /// Whom a subscription is matched with.
    type Matches: Matches;
    /// See [`create_service`](Self::create_service).
    type Requests<S: Service>: Source<Item = (S::Request, Self::Reply<S>)>;
    /// Where a response goes.
    type Reply<S: Service>: ReplyEnd<S::Response>;
    /// See [`create_client`](Self::create_client).
    type Client<S: Service>: ClientEnd<S>;

    /// The graph of the network, which all clones share. The middleware enters what belongs to other processes, on whichever
    /// thread hears of it; what belongs to this one is entered above.
    fn graph(&self) -> &Arc<Graph>;

    /// Makes a node known.
    ///
    /// # Errors
    /// If it cannot.
    fn create_node(&self, name: &NodeName) -> Result<Self::Node, Refused>;

    /// Creates a publisher. What it sends says how it is encoded; what type that is, `message_type` says and nothing else.
    ///
    /// # Errors
    /// If it cannot.
    fn create_publisher<M: Encode>(
        &self,
        node: &Self::Node,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
    ) -> Result<Self::Publisher<M>, Refused>;

    /// Creates a subscription: the messages, each decoded with a clone of `decode` when it is taken, and whom it is matched with.
    /// Only messages that are sent from then on, unless `qos` asks for those that were latched. No more than the depth of `qos` is
    /// kept; what is displaced is counted as [`LossCause::QueueFull`](rospin::LossCause::QueueFull), and what cannot be decoded
    /// is an error of taking it.
    ///
    /// # Errors
    /// If it cannot.
    fn create_subscription<D: Decode>(
        &self,
        node: &Self::Node,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        decode: D,
    ) -> Result<(Self::Messages<D>, Self::Matches), Refused>;

    /// Creates a server: the requests, each with where its response goes, and none that was sent to a server before it. No more
    /// than the depth of `qos` is kept, as for [subscriptions](Self::create_subscription).
    ///
    /// # Errors
    /// If it cannot.
    fn create_service<S: Service>(
        &self,
        node: &Self::Node,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<Self::Requests<S>, Refused>;

    /// Creates a client. If responses have to be taken from somewhere, that is an entity of `executor`, with these options, in a
    /// group of its own.
    ///
    /// # Errors
    /// If it cannot.
    fn create_client<S: Service>(
        &self,
        node: &Self::Node,
        executor: &ExecutorHandle,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
        options: EntityOptions,
    ) -> Result<Self::Client<S>, Refused>;
}

/// Whom a subscription, or a publisher, is matched with.
pub trait Matches: Send + Sync + 'static {
    /// With how many, as far as it is known at this moment.
    fn count(&self) -> usize;

    /// Waits until it is matched with somebody.
    fn wait(&self) -> impl Future<Output = ()> + Send + 'static;
}

/// A publisher as a middleware has it.
pub trait PublisherEnd<M>: Matches {
    /// Sends the message, without waiting for subscriptions.
    ///
    /// # Errors
    /// If the message is lost.
    fn publish(&self, message: M) -> Result<(), PublishError>;
}

/// Where a response goes.
pub trait ReplyEnd<T>: Send + 'static {
    /// Sends the response, without waiting for the client.
    ///
    /// # Errors
    /// If the response is lost.
    fn send(self, response: T) -> Result<(), Refused>;
}

/// A client as a middleware has it. It is matched once a server can answer.
pub trait ClientEnd<S: Service>: Matches {
    /// A response that is awaited; dropping it gives the call up.
    type Call: Future<Output = Result<S::Response, CallError>> + Send + 'static;

    /// Sends a request, without waiting for the server.
    fn call(&self, request: S::Request) -> Self::Call;

    /// How many responses could not be decoded.
    fn undecodable(&self) -> u64;
}
