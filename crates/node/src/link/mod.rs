//! The ends through which a node's entities communicate: in this process directly, and beyond it through a middleware.
//! Values become payloads here.

mod call;
mod doors;
mod encoded;
mod ends;
mod messages;
mod publisher;
mod service;

use std::any::Any;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rospin_engine::{Context, Recorder};
use serde::Serialize;

pub(crate) use call::{Call, ClientLink};
pub(crate) use encoded::EncodedClientLink;
pub(crate) use messages::{Attributed, Messages, Values};
pub(crate) use publisher::PublisherLink;
pub(crate) use service::{Reply, Requests};

use crate::address::Address;
use crate::error::Refused;
use crate::events::EndEvents;
use crate::graph::Graph;
use crate::matches::Matches;
use crate::message::{Decode, Encode, ServiceInterface};
use crate::middleware::NodeEnd;
use crate::names::{FullName, TypeName};
use crate::qos::Qos;
use crate::terms::Terms;

/// The number of items that are kept where the quality of service says keep all, since no queue may grow without bound.
const KEEP_ALL: usize = 8192;

/// Returns the number of messages that an end keeps.
pub(crate) fn depth(qos: &Qos) -> usize {
    qos.depth().unwrap_or(KEEP_ALL)
}

/// The messages of a new subscription, its matches, and the record of its events.
pub(crate) type Subscribed<D> = (Messages<D>, Box<dyn Matches>, EndEvents);

/// The link of one node to all others: its entities get their ends here.
pub(crate) struct Link {
    context: Context,
    graph: Arc<Graph>,
    /// The middleware's side of the node. With `None`, the node reaches only this process.
    network: Option<Box<dyn NodeEnd>>,
}

impl Link {
    pub(crate) fn new(context: &Context, graph: &Arc<Graph>, network: Option<Box<dyn NodeEnd>>) -> Self {
        Self { context: context.clone(), graph: Arc::clone(graph), network }
    }

    /// Returns the recorder of what the node's callbacks do.
    pub(crate) fn recorder(&self) -> &Recorder {
        self.context.recorder()
    }

    pub(crate) fn create_publisher<M: Encode>(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
    ) -> Result<PublisherLink<M>, Refused> {
        let (events, network) = (EndEvents::of(qos, self.context.clock().now()), self.network.as_ref());
        let outside = network.map(|node| node.create_publisher(topic, message_type, qos, &events)).transpose()?;
        let offered = if self.graph.matches_qos() { Terms::of(qos) } else { Terms::ALL };
        let address = Address::of::<M>(topic, self.graph.type_key(message_type), message_type, qos);
        PublisherLink::new(&self.context, self.graph.local_topics(), outside, offered, (address, qos), events)
    }

    pub(crate) fn create_subscription<D: Decode>(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        decode: D,
        with_origins: bool,
    ) -> Result<Subscribed<D>, Refused> {
        let (events, network) = (EndEvents::of(qos, self.context.clock().now()), self.network.as_ref());
        let subscribe =
            |inlet| network.map(|node| node.create_subscription(topic, message_type, qos, inlet, &events)).transpose();
        let address = Address::of::<D::Message>(topic, self.graph.type_key(message_type), message_type, qos);
        let topics = self.graph.local_topics();
        let (messages, matches) =
            Messages::new(&self.context, topics, &subscribe, (address, qos), decode, with_origins, &events)?;
        Ok((messages, matches, events))
    }

    pub(crate) fn create_service<D: Decode, R: Serialize + Send + 'static>(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
        unsent: &Arc<AtomicU64>,
        (decoder, is_dynamic): (D, bool),
    ) -> Result<Requests<D, R>, Refused> {
        match &self.network {
            None => Requests::in_process(&self.context, service, qos, decoder, is_dynamic),
            Some(node) => {
                let source = node.create_service(service, service_type, qos, unsent)?;
                Ok(Requests::Network { source, decoder })
            }
        }
    }

    pub(crate) fn create_client<S: ServiceInterface>(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<ClientLink<S>, Refused> {
        match &self.network {
            None => ClientLink::in_process(&self.context, service),
            Some(node) => Ok(ClientLink::network(service, node.create_client(service, service_type, qos)?)),
        }
    }

    pub(crate) fn create_encoded_client(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<EncodedClientLink, Refused> {
        match &self.network {
            None => Ok(EncodedClientLink::in_process(self.context.shared(), service)),
            Some(node) => Ok(EncodedClientLink::network(service, node.create_client(service, service_type, qos)?)),
        }
    }
}

/// Runs code of a message's type. A panic becomes an error like any other, because it must end neither the entity nor
/// the thread that it happens on.
fn contain<T, E>(convert: impl FnOnce() -> Result<T, E>) -> Result<T, Box<dyn Error + Send + Sync>>
where
    E: Into<Box<dyn Error + Send + Sync>>,
{
    // Nothing that a panic could leave half done is used afterwards.
    match catch_unwind(AssertUnwindSafe(convert)) {
        Ok(converted) => converted.map_err(Into::into),
        Err(panic) => Err(panicked(&*panic)),
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Box<dyn Error + Send + Sync> {
    let message = panic.downcast_ref::<&str>().map(ToString::to_string);
    let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    format!("its type's code panicked: {message}").into()
}

fn refused(error: impl std::fmt::Display) -> Refused {
    Refused(error.to_string())
}
