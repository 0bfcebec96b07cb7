//! Service introspection: the calls of a service as messages, which its clients and servers publish.
//!
//! The ends of a [service](crate::service) tell an [`Introspection`] of each request and response. It publishes them on
//! `SERVICE/_service_event`, as rcl does. While it is off, an end looks at one atomic number per call.

use std::fmt;

use rospin_engine::Mutex;
use rospin_wire::EVENT_SUFFIX;
use serde::{Deserialize, Serialize};

use crate::error::TopicError;
use crate::info::RequestId;
use crate::interfaces::builtin_interfaces::Time;
use crate::interfaces::service_msgs::ServiceEventInfo;
use crate::message::{Message, ServiceInterface};
use crate::names::FullName;
use crate::node::Node;
use crate::options::PublisherOptions;
use crate::publisher::Publisher;
use crate::qos::Qos;
use crate::sync::atomic::{AtomicU8, Ordering};

/// Last part of the topic's name, below the service's.
const TOPIC: &str = "_service_event";

/// The part of its calls that a client or server publishes, as rclcpp's `rcl_service_introspection_state_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ServiceIntrospectionState {
    /// Nothing.
    #[default]
    Off,
    /// The kind, the time and the number of each event, and the client's id.
    Metadata,
    /// Requests and responses as well.
    Contents,
}

const OFF: u8 = 0;
const METADATA: u8 = 1;
const CONTENTS: u8 = 2;

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

/// The introspection of one client or server.
pub(crate) struct Introspection<S: ServiceInterface> {
    service: FullName,
    /// A state as number, which is [`OFF`] while there is no publisher.
    state: AtomicU8,
    publisher: Mutex<Option<Publisher<ServiceEvent<S>>>>,
    /// Held while the state is changed, which may take long. Ends that publish do not wait for it.
    changing: Mutex<()>,
}

/// Introspection of a service of any type.
pub(crate) trait Introspected: Send + Sync {
    /// Changes the state. A publisher keeps the quality of service that it was created with, as in rcl.
    fn configure(&self, node: &Node, qos: Qos, state: ServiceIntrospectionState) -> Result<(), TopicError>;
}

impl<S: ServiceInterface> Introspection<S> {
    /// Returns an introspection that is off.
    pub(crate) const fn new(service: FullName) -> Self {
        Self { service, state: AtomicU8::new(OFF), publisher: Mutex::new(None), changing: Mutex::new(()) }
    }

    /// Returns the event of a request that is about to be sent or was received; `None` if introspection is off. It has
    /// a copy of the request only if contents are published.
    pub(crate) fn of_request(&self, request: &S::Request) -> Option<Draft<S>> {
        let (publisher, has_contents) = self.publisher()?;
        let request = if has_contents { vec![request.clone()] } else { Vec::new() };
        Some(Draft::new(publisher, request, Vec::new()))
    }

    /// Returns the event of a response, as [`of_request`](Self::of_request) does.
    pub(crate) fn of_response(&self, response: &S::Response) -> Option<Draft<S>> {
        let (publisher, has_contents) = self.publisher()?;
        let response = if has_contents { vec![response.clone()] } else { Vec::new() };
        Some(Draft::new(publisher, Vec::new(), response))
    }

    /// Returns the publisher, and true if contents are published; `None` if introspection is off.
    fn publisher(&self) -> Option<(Publisher<ServiceEvent<S>>, bool)> {
        let state = self.state.load(Ordering::Acquire);
        if state == OFF {
            return None;
        }
        let publisher = self.publisher.lock().clone()?;
        Some((publisher, state == CONTENTS))
    }
}

impl<S: ServiceInterface> Introspected for Introspection<S> {
    fn configure(&self, node: &Node, qos: Qos, state: ServiceIntrospectionState) -> Result<(), TopicError> {
        let _changing = self.changing.lock();
        let number = match state {
            ServiceIntrospectionState::Off => {
                self.state.store(OFF, Ordering::Release);
                // The publisher is dropped without the lock.
                let publisher = self.publisher.lock().take();
                drop(publisher);
                return Ok(());
            }
            ServiceIntrospectionState::Metadata => METADATA,
            ServiceIntrospectionState::Contents => CONTENTS,
        };
        let is_there = self.publisher.lock().is_some();
        if !is_there {
            let topic = format!("{}/{TOPIC}", self.service);
            let created = node.create_publisher(PublisherOptions::new(topic).qos(qos))?;
            let earlier = self.publisher.lock().replace(created);
            drop(earlier);
        }
        self.state.store(number, Ordering::Release);
        Ok(())
    }
}

/// An event that is complete but for the id of its request. Its time is that of its creation.
pub(crate) struct Draft<S: ServiceInterface> {
    publisher: Publisher<ServiceEvent<S>>,
    stamp: Time,
    request: Vec<S::Request>,
    response: Vec<S::Response>,
}

impl<S: ServiceInterface> Draft<S> {
    fn new(publisher: Publisher<ServiceEvent<S>>, request: Vec<S::Request>, response: Vec<S::Response>) -> Self {
        let stamp = publisher.node().now().into();
        Self { publisher, stamp, request, response }
    }

    /// Publishes the event. One that cannot be published is lost and logged. `event_type` is a constant of
    /// [`ServiceEventInfo`].
    pub(crate) fn publish(self, event_type: u8, id: RequestId) {
        let Self { publisher, stamp, request, response } = self;
        let info = ServiceEventInfo { event_type, stamp, client_gid: id.client.to_bytes(), sequence_number: id.number };
        if let Err(error) = publisher.publish(ServiceEvent { info, request, response }) {
            log::warn!(target: "rospin", "an event of service introspection is lost: {error}");
        }
    }
}
