//! The types of a service as its ends know them: Rust types, or types that are known only at run time.
//!
//! Servers and introspection are generic over them. Here are those that are Rust types.

use std::fmt;
use std::marker::PhantomData;

use bytes::Bytes;
use rospin_dynamic::describe;
use rospin_wire::EVENT_SUFFIX;
use rospin_wire::cdr::{PayloadError, from_shared_payload};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{PublishError, TopicError};
use crate::interfaces::service_msgs::ServiceEventInfo;
use crate::message::{Decode, Message, ServiceInterface};
use crate::names::{TypeName, TypeNameError};
use crate::node::Node;
use crate::options::PublisherOptions;
use crate::publisher::Publisher;

/// The types of a service, and how its ends publish events of them.
pub(crate) trait ServiceTypes: Clone + Send + Sync + 'static {
    /// Type of the requests.
    type Request: Clone + Send + Sync + 'static;
    /// Type of the responses.
    type Response: Serialize + Clone + Send + Sync + 'static;
    /// Decoder of the requests.
    type Decoder: Decode<Message = Self::Request>;
    /// Publisher of events.
    type Events: Clone + Send + Sync + 'static;

    /// True if the types are known only at run time, so that requests between ends of one process cross a door.
    const ARE_DYNAMIC: bool;

    /// Returns the name of the service's type.
    fn type_name(&self) -> Result<TypeName, TypeNameError>;

    /// Returns the decoder of requests.
    fn decoder(&self) -> Self::Decoder;

    /// Checks that a response is one of the service. The error is the reason for who called.
    fn check_response(&self, response: &Self::Response) -> Result<(), String>;

    /// Creates the publisher of events.
    fn create_events(&self, node: &Node, options: PublisherOptions) -> Result<Self::Events, TopicError>;

    /// Returns the node of the publisher.
    fn node(events: &Self::Events) -> &Node;

    /// Publishes the event of a request or a response.
    fn publish(
        events: &Self::Events,
        info: ServiceEventInfo,
        request: Option<Self::Request>,
        response: Option<Self::Response>,
    ) -> Result<(), PublishError>;
}

/// An event of a service, on `SERVICE/_service_event`: the message type `S_Event` of ROS 2.
///
/// A call is four events: the client sends the request, the server receives it, the server sends the response, the
/// client receives it. Each end publishes its own two, if its introspection is on.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct ServiceEvent<S: ServiceInterface> {
    /// Kind and time of the event, and the id of the request.
    pub info: ServiceEventInfo,
    /// The request, in the events of requests, if the end publishes contents. At most one.
    pub request: Vec<S::Request>,
    /// The response, in the events of responses, if the end publishes contents. At most one.
    pub response: Vec<S::Response>,
}

impl<S: ServiceInterface> Message for ServiceEvent<S> {
    const TYPE: &'static str = S::TYPE;
    const TYPE_HASH: Option<&'static str> = S::EVENT_TYPE_HASH;
    const TYPE_SUFFIX: &'static str = EVENT_SUFFIX;
}

impl<S: ServiceInterface> Clone for ServiceEvent<S> {
    fn clone(&self) -> Self {
        Self { info: self.info, request: self.request.clone(), response: self.response.clone() }
    }
}

impl<S: ServiceInterface<Request: fmt::Debug, Response: fmt::Debug>> fmt::Debug for ServiceEvent<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ServiceEvent");
        shown.field("info", &self.info).field("request", &self.request).field("response", &self.response).finish()
    }
}

impl<S: ServiceInterface<Request: PartialEq, Response: PartialEq>> PartialEq for ServiceEvent<S> {
    fn eq(&self, other: &Self) -> bool {
        self.info == other.info && self.request == other.request && self.response == other.response
    }
}

/// The types of the service `S`, which are Rust types.
pub(crate) struct RustTypes<S>(PhantomData<fn() -> S>);

impl<S> RustTypes<S> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<S> Clone for RustTypes<S> {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl<S: ServiceInterface> ServiceTypes for RustTypes<S> {
    type Request = S::Request;
    type Response = S::Response;
    type Decoder = RustDecoder<S::Request>;
    type Events = Publisher<ServiceEvent<S>>;

    const ARE_DYNAMIC: bool = false;

    fn type_name(&self) -> Result<TypeName, TypeNameError> {
        TypeName::of_service::<S>()
    }

    fn decoder(&self) -> Self::Decoder {
        RustDecoder(PhantomData)
    }

    fn check_response(&self, _: &S::Response) -> Result<(), String> {
        Ok(())
    }

    fn create_events(&self, node: &Node, options: PublisherOptions) -> Result<Self::Events, TopicError> {
        node.create_publisher_of(options, &event_type::<S>()?)
    }

    fn node(events: &Self::Events) -> &Node {
        events.node()
    }

    fn publish(
        events: &Self::Events,
        info: ServiceEventInfo,
        request: Option<S::Request>,
        response: Option<S::Response>,
    ) -> Result<(), PublishError> {
        let request = request.into_iter().collect();
        let response = response.into_iter().collect();
        events.publish(ServiceEvent { info, request, response })
    }
}

/// Returns the name of the type of a service's events. The hash of those of an action's parts is that of their
/// description.
fn event_type<S: ServiceInterface>() -> Result<TypeName, TypeNameError> {
    let service = TypeName::of_service::<S>()?;
    let name = format!("{service}{EVENT_SUFFIX}");
    let event = TypeName::new(&name)?;
    if let Some(hash) = S::EVENT_TYPE_HASH {
        return Ok(event.with_hash(hash));
    }
    let described = if service.hash.is_some() { S::DESCRIPTION } else { None };
    match described.and_then(|description| describe(description, &name)) {
        Some((_, hash)) => Ok(event.with_hash(hash)),
        None => Ok(event),
    }
}

/// Decoder of requests whose type is a Rust type.
pub(crate) struct RustDecoder<T>(PhantomData<fn() -> T>);

impl<T> Clone for RustDecoder<T> {
    fn clone(&self) -> Self {
        Self(PhantomData)
    }
}

impl<T: DeserializeOwned + Clone + Send + Sync + 'static> Decode for RustDecoder<T> {
    type Message = T;

    fn decode(&self, payload: &Bytes) -> Result<T, PayloadError> {
        from_shared_payload(payload)
    }
}
