//! Clients of services whose types are known only at run time.

use std::fmt;
use std::sync::Arc;

use rospin_dynamic::{DynamicMessage, DynamicSeed, ServiceType};
use rospin_engine::Declaration;
use rospin_wire::cdr::{from_payload_with, to_payload};

use crate::error::{CallError, ServiceError, TopicError};
use crate::graph::{EndpointKind, Presence};
use crate::interfaces::service_msgs::ServiceEventInfo;
use crate::introspection::{Introspected, Introspection, ServiceIntrospectionState};
use crate::link::EncodedClientLink;
use crate::matches::Matches;
use crate::middleware::SentRequest;
use crate::node::Node;
use crate::options::ClientOptions;
use crate::qos::Qos;

/// Client of a service whose types are known only at run time. Cheap to clone; clones are the same client.
///
/// [`Node::create_dynamic_client`] creates it. Requests and responses are encoded also where client and server are in
/// one process without a middleware.
#[derive(Clone)]
pub struct DynamicClient(Arc<Inner>);

struct Inner {
    service: String,
    service_type: ServiceType,
    link: EncodedClientLink,
    introspection: Introspection<ServiceType>,
    _presence: Presence,
    node: Node,
}

impl Node {
    /// Creates a client of a service of that type, as rclcpp's `create_generic_client` does. A plain `&str` is the
    /// service's name. [`service_type_of`](Self::service_type_of) learns the type from the server.
    ///
    /// ```
    /// use rospin::dynamic::DynamicMessage;
    /// use rospin::msgs::example_interfaces::srv::{AddTwoIntsRequest, AddTwoIntsResponse};
    /// use rospin::{Context, ContextOptions, Node, Ros};
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let server = ros.create_node("calculator")?;
    /// let add = |request: AddTwoIntsRequest| AddTwoIntsResponse { sum: request.a + request.b };
    /// let _service = server.create_service("add", add)?;
    ///
    /// let node = ros.create_node("asker")?;
    /// let add = ros.spin_until(node.service_type_of(&ros.executor().handle(), "add"))??;
    /// let client = node.create_dynamic_client("add", &add)?;
    /// ros.spin_until(client.wait_for_service())?;
    /// assert!(client.service_is_ready() && client.service() == "add");
    /// let mut request = DynamicMessage::new(client.service_type().request());
    /// request.set("a", 2_i64)?;
    /// request.set("b", 3_i64)?;
    /// let response = ros.spin_until(client.call(&request))??;
    /// assert_eq!(response.get::<i64>("sum")?, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the service's name is invalid, or the middleware refuses.
    pub fn create_dynamic_client(
        &self,
        options: impl Into<ClientOptions>,
        service_type: &ServiceType,
    ) -> Result<DynamicClient, ServiceError> {
        let ClientOptions { service, qos } = options.into();
        qos.check_depth(&service)?;
        let name = self.resolve_service(&service)?;
        let type_name = service_type.type_name();
        let created = self.link().create_encoded_client(&name, &type_name, &qos);
        let link = created.map_err(|reason| ServiceError::Refused { service: service.clone(), reason })?;
        let declaration = || Declaration::Client { node: self.fully_qualified_name(), service: name.to_string() };
        self.link().recorder().declare(declaration);
        let presence = self.enter(EndpointKind::Client, &name, &type_name, &qos);
        let introspection = Introspection::new(name, service_type.clone());
        let service_type = service_type.clone();
        let node = self.clone();
        Ok(DynamicClient(Arc::new(Inner { service, service_type, link, introspection, _presence: presence, node })))
    }
}

impl DynamicClient {
    /// Returns the service's name as it was given.
    #[must_use]
    pub fn service(&self) -> &str {
        &self.0.service
    }

    /// Returns the service's type.
    #[must_use]
    pub fn service_type(&self) -> &ServiceType {
        &self.0.service_type
    }

    /// Encodes and sends a request at once. The response can be awaited anywhere, also inside callbacks. What
    /// [`Client::call`](crate::Client::call) says of time limits counts here, too.
    ///
    /// Cancel safe: a future that is dropped early loses the response, and nothing else. The request is sent in any
    /// case.
    ///
    /// # Errors
    /// If the request is of another type than the service's requests, no server is matched, the request cannot be sent,
    /// or there will be no response. The future returns the error.
    pub fn call(
        &self,
        request: &DynamicMessage,
    ) -> impl Future<Output = Result<DynamicMessage, CallError>> + Send + use<> {
        let service = self.0.service.clone();
        let not_sent = |reason: String| CallError::NotSent { service: service.clone(), reason };
        let wanted = self.0.service_type.request();
        let sent = if request.message_type() == wanted {
            self.send(request, not_sent)
        } else {
            let given = request.message_type().name();
            Err(not_sent(format!("it is of type {given}, and the service takes {}", wanted.name())))
        };
        let seed = DynamicSeed::new(self.0.service_type.response());
        // The future keeps the client alive until it resolves.
        let client = self.clone();
        async move {
            let SentRequest { id, response } = sent?;
            let payload = response.await?;
            let decoded = from_payload_with(&payload, seed);
            let response = decoded.map_err(|error| CallError::Unanswered { service, reason: error.to_string() })?;
            if let Some(event) = client.0.introspection.of_response(&response) {
                event.publish(ServiceEventInfo::RESPONSE_RECEIVED, id);
            }
            Ok(response)
        }
    }

    /// Encodes and sends a request of the service's type, and tells introspection of it.
    fn send(
        &self,
        request: &DynamicMessage,
        not_sent: impl FnOnce(String) -> CallError,
    ) -> Result<SentRequest, CallError> {
        let payload = to_payload(request).map_err(|error| not_sent(error.to_string()))?;
        // Without a server nothing is sent.
        let event = self.0.introspection.of_request(request).filter(|_| self.service_is_ready());
        let sent = self.0.link.call(payload)?;
        if let Some(event) = event {
            event.publish(ServiceEventInfo::REQUEST_SENT, sent.id);
        }
        Ok(sent)
    }

    /// Publishes this client's calls on the topic `_service_event` below the service's name, as
    /// [`Client::configure_introspection`](crate::Client::configure_introspection) does.
    ///
    /// # Errors
    /// If the middleware refuses the publisher, or the type has no description of its [events](ServiceType::event).
    pub fn configure_introspection(&self, qos: Qos, state: ServiceIntrospectionState) -> Result<(), TopicError> {
        self.0.introspection.configure(&self.0.node, qos, state)
    }

    /// Returns true if a server is matched, as far as discovery knows at this moment.
    #[must_use]
    pub fn service_is_ready(&self) -> bool {
        self.0.link.count() > 0
    }

    /// Returns a future that resolves once a server is matched.
    ///
    /// Cancel safe: a future that is dropped early has no effect.
    pub fn wait_for_service(&self) -> impl Future<Output = ()> + Send + 'static {
        self.0.link.wait()
    }
}

impl fmt::Debug for DynamicClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("DynamicClient");
        shown.field("service", &self.service()).field("type", &self.0.service_type.name()).finish_non_exhaustive()
    }
}
