//! What a node's entities talk through: the topics and services of their context, or a middleware. Here values become payloads.

mod call;
mod service;
mod topic;

use rospin_engine::Context;

pub(crate) use call::ClientLink;
pub(crate) use service::{Reply, Requests};
pub(crate) use topic::{Messages, PublisherLink, Values};

use crate::message::{Decode, Encode, Service};
use crate::middleware::{Matches, NodeEnd, Refused};
use crate::names::{FullName, TypeName};
use crate::qos::Qos;

/// How much is kept in process of what is to be kept whole: as much as a middleware keeps at least.
const KEEP_ALL: usize = 8192;

/// What one node talks through.
pub(crate) enum Link {
    /// The context: nothing is encoded.
    InProcess(Context),
    /// A middleware.
    Network(Box<dyn NodeEnd>),
}

impl Link {
    pub(crate) fn create_publisher<M: Encode>(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
    ) -> Result<PublisherLink<M>, Refused> {
        match self {
            Self::InProcess(context) => PublisherLink::in_process(context, topic, message_type, qos),
            Self::Network(node) => Ok(PublisherLink::network(topic, node.create_publisher(topic, message_type, qos)?)),
        }
    }

    pub(crate) fn create_subscription<D: Decode>(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        decode: D,
    ) -> Result<(Messages<D>, Box<dyn Matches>), Refused> {
        match self {
            Self::InProcess(context) => Messages::in_process(context, topic, message_type, qos),
            Self::Network(node) => {
                let (source, matches) = node.create_subscription(topic, message_type, qos)?;
                Ok((Messages::Network { source, decode }, matches))
            }
        }
    }

    pub(crate) fn create_service<S: Service>(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<Requests<S>, Refused> {
        match self {
            Self::InProcess(context) => Requests::in_process(context, service, qos),
            Self::Network(node) => Ok(Requests::Network(node.create_service(service, service_type, qos)?)),
        }
    }

    pub(crate) fn create_client<S: Service>(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<ClientLink<S>, Refused> {
        match self {
            Self::InProcess(context) => ClientLink::in_process(context, service),
            Self::Network(node) => Ok(ClientLink::network(service, node.create_client(service, service_type, qos)?)),
        }
    }
}

fn refused(error: impl std::fmt::Display) -> Refused {
    Refused(error.to_string())
}
