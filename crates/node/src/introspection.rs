//! Service introspection: the calls of a service as messages, which its clients and servers publish.
//!
//! The ends of a [service](crate::service) tell an [`Introspection`] of each request and response. It publishes them on
//! `SERVICE/_service_event`, as rcl does. While it is off, an end looks at one atomic number per call.

use rospin_engine::Mutex;

use crate::error::TopicError;
use crate::info::RequestId;
use crate::interfaces::builtin_interfaces::Time;
use crate::interfaces::service_msgs::ServiceEventInfo;
use crate::names::FullName;
use crate::node::Node;
use crate::options::PublisherOptions;
use crate::qos::Qos;
use crate::service_types::ServiceTypes;
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

/// The introspection of one client or server.
pub(crate) struct Introspection<T: ServiceTypes> {
    service: FullName,
    types: T,
    /// A state as number, which is [`OFF`] while there is no publisher.
    state: AtomicU8,
    publisher: Mutex<Option<T::Events>>,
    /// Held while the state is changed, which may take long. Ends that publish do not wait for it.
    changing: Mutex<()>,
}

/// Introspection of a service of any type.
pub(crate) trait Introspected: Send + Sync {
    /// Changes the state. A publisher keeps the quality of service that it was created with, as in rcl.
    fn configure(&self, node: &Node, qos: Qos, state: ServiceIntrospectionState) -> Result<(), TopicError>;
}

impl<T: ServiceTypes> Introspection<T> {
    /// Returns an introspection that is off.
    pub(crate) const fn new(service: FullName, types: T) -> Self {
        let state = AtomicU8::new(OFF);
        Self { service, types, state, publisher: Mutex::new(None), changing: Mutex::new(()) }
    }

    /// Returns the event of a request that is about to be sent or was received; `None` if introspection is off. It has
    /// a copy of the request only if contents are published.
    pub(crate) fn of_request(&self, request: &T::Request) -> Option<Draft<T>> {
        let (publisher, has_contents) = self.publisher()?;
        let request = has_contents.then(|| request.clone());
        Some(Draft::new(publisher, request, None))
    }

    /// Returns the event of a response, as [`of_request`](Self::of_request) does.
    pub(crate) fn of_response(&self, response: &T::Response) -> Option<Draft<T>> {
        let (publisher, has_contents) = self.publisher()?;
        let response = has_contents.then(|| response.clone());
        Some(Draft::new(publisher, None, response))
    }

    /// Returns the publisher, and true if contents are published; `None` if introspection is off.
    fn publisher(&self) -> Option<(T::Events, bool)> {
        let state = self.state.load(Ordering::Acquire);
        if state == OFF {
            return None;
        }
        let publisher = self.publisher.lock().clone()?;
        Some((publisher, state == CONTENTS))
    }
}

impl<T: ServiceTypes> Introspected for Introspection<T> {
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
            let created = self.types.create_events(node, PublisherOptions::new(topic).qos(qos))?;
            let earlier = self.publisher.lock().replace(created);
            drop(earlier);
        }
        self.state.store(number, Ordering::Release);
        Ok(())
    }
}

/// An event that is complete but for the id of its request. Its time is that of its creation.
pub(crate) struct Draft<T: ServiceTypes> {
    publisher: T::Events,
    stamp: Time,
    request: Option<T::Request>,
    response: Option<T::Response>,
}

impl<T: ServiceTypes> Draft<T> {
    fn new(publisher: T::Events, request: Option<T::Request>, response: Option<T::Response>) -> Self {
        let stamp = T::node(&publisher).now().into();
        Self { publisher, stamp, request, response }
    }

    /// Publishes the event. One that cannot be published is lost and logged. `event_type` is a constant of
    /// [`ServiceEventInfo`].
    pub(crate) fn publish(self, event_type: u8, id: RequestId) {
        let Self { publisher, stamp, request, response } = self;
        let info = ServiceEventInfo { event_type, stamp, client_gid: id.client.to_bytes(), sequence_number: id.number };
        if let Err(error) = T::publish(&publisher, info, request, response) {
            log::warn!(target: "rospin", "an event of service introspection is lost: {error}");
        }
    }
}
