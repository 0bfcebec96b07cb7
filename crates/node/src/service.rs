//! Servers of services, as entities of callback groups.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rospin_engine::{Declaration, Entity, EntityOptions, LossCause, SourceError};

use crate::callback::{Convert, Value};
use crate::error::{ServiceError, TopicError};
use crate::graph::{EndpointKind, Presence};
use crate::group::Group;
use crate::interfaces::service_msgs::ServiceEventInfo;
use crate::introspection::{Introspected, Introspection, ServiceIntrospectionState};
use crate::link::{Reply, Requests};
use crate::names::FullName;
use crate::node::Node;
use crate::options::ServiceOptions;
use crate::qos::Qos;
use crate::service_types::ServiceTypes;

use serde::Serialize;

/// Server of a service, which answers requests.
///
/// Dropping the handle removes the entity: its callback does not run again, from the executor's next pick on. A
/// callback that is running is not waited for.
#[must_use = "the service is removed when its handle is dropped, and answers nobody; keep it (`let _service = ..`, not `let _ = ..`)"]
pub struct Service {
    entity: Entity,
    registration: Registration,
}

/// The parts of a server besides its entity: its count of unsent responses and its entry in the graph, which is dropped
/// with it.
struct Registration {
    responder: Responder,
    introspection: Arc<dyn Introspected>,
    _presence: Presence,
    node: Node,
}

impl Service {
    /// Returns the entity's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.entity.name()
    }

    /// Returns the number of requests that were lost for that cause.
    #[must_use]
    pub fn lost(&self, cause: LossCause) -> u64 {
        self.entity.lost(cause)
    }

    /// Returns the number of runs of the callback that ended after their deadlines: the one that the options or a
    /// deployment file set. They are counted under every policy.
    #[must_use]
    pub fn missed_deadlines(&self) -> u64 {
        self.entity.missed_deadlines()
    }

    /// Returns the number of responses that could not be sent, because they could not be encoded, there was no room for
    /// them, or discovery did not find all of the client in time. Each one is logged.
    #[must_use]
    pub fn unsent_responses(&self) -> u64 {
        self.registration.responder.unsent.load(Ordering::Relaxed)
    }

    /// Publishes what this server receives and sends on the topic `_service_event` below the service's name, as
    /// [`Client::configure_introspection`](crate::Client::configure_introspection) does for a client.
    ///
    /// # Errors
    /// If the middleware refuses the publisher.
    pub fn configure_introspection(&self, qos: Qos, state: ServiceIntrospectionState) -> Result<(), TopicError> {
        self.registration.introspection.configure(&self.registration.node, qos, state)
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Sender of responses, which counts those that could not be sent.
#[derive(Clone)]
pub(crate) struct Responder {
    service: Arc<str>,
    unsent: Arc<AtomicU64>,
}

impl Responder {
    /// Sends a response. One that cannot be sent is logged and counted.
    pub(crate) fn send<T: Serialize + Send + 'static>(&self, reply: Reply<T>, response: T) {
        if let Err(reason) = reply.send(response) {
            self.unsent.fetch_add(1, Ordering::Relaxed);
            log::error!(target: "rospin", "a response of service `{}` was not sent: {reason}", self.service);
        }
    }

    /// Tells the client, where the middleware can do that, that there is no response. It is logged and counted.
    fn refuse<T: Serialize + Send + 'static>(&self, reply: Reply<T>, reason: &str) {
        self.unsent.fetch_add(1, Ordering::Relaxed);
        log::error!(target: "rospin", "a response of service `{}` was not sent: {reason}", self.service);
        reply.refuse(reason);
    }
}

/// Sender of responses to the requests of a server, which tells introspection of both.
pub(crate) struct Answering<T: ServiceTypes> {
    responder: Responder,
    introspection: Arc<Introspection<T>>,
    types: T,
}

impl<T: ServiceTypes> Clone for Answering<T> {
    fn clone(&self) -> Self {
        let introspection = Arc::clone(&self.introspection);
        Self { responder: self.responder.clone(), introspection, types: self.types.clone() }
    }
}

impl<T: ServiceTypes> Answering<T> {
    /// Tells introspection of a request that was taken.
    pub(crate) fn received(&self, request: &T::Request, reply: &Reply<T::Response>) {
        if let Some(event) = self.introspection.of_request(request) {
            event.publish(ServiceEventInfo::REQUEST_RECEIVED, reply.request_id());
        }
    }

    /// Sends a response, and tells introspection of it. One that cannot be sent is logged and counted.
    pub(crate) fn send(&self, reply: Reply<T::Response>, response: T::Response) {
        if let Err(reason) = self.types.check_response(&response) {
            self.responder.refuse(reply, &reason);
            return;
        }
        let event = self.introspection.of_response(&response);
        let id = reply.request_id();
        self.responder.send(reply, response);
        if let Some(event) = event {
            event.publish(ServiceEventInfo::RESPONSE_SENT, id);
        }
    }
}

impl<T: ServiceTypes> Convert<(T::Request, Reply<T::Response>), T::Request, Value<T::Response>> for Answering<T> {
    type Kept = Reply<T::Response>;

    fn open(&self, item: (T::Request, Reply<T::Response>)) -> (T::Request, Reply<T::Response>) {
        let (request, reply) = item;
        self.received(&request, &reply);
        (request, reply)
    }

    fn close(&self, reply: Reply<T::Response>, response: T::Response) {
        self.send(reply, response);
    }
}

/// A server before it has its callback.
pub(crate) struct Draft<T: ServiceTypes> {
    options: EntityOptions,
    requests: Requests<T::Decoder, T::Response>,
    resolved: FullName,
    answering: Answering<T>,
    registration: Registration,
}

impl<T: ServiceTypes> Draft<T> {
    pub(crate) fn on(node: &Node, group: &dyn Group, options: ServiceOptions, types: T) -> Result<Self, ServiceError> {
        let ServiceOptions { common, service, qos } = options;
        let resolved = node.resolve_service(&service)?;
        let service_type = types.type_name()?;
        let name = common.name_in(group, &service);
        let (options, qos) = common.into_entity(name.clone(), qos, |name| group.deployed_depth(name));
        qos.check_depth(&name)?;
        let unsent = Arc::default();
        let decoder = (types.decoder(), T::ARE_DYNAMIC);
        let created = node.link().create_service(&resolved, &service_type, &qos, &unsent, decoder);
        let requests = created.map_err(|reason| ServiceError::Refused { service: service.clone(), reason })?;
        let responder = Responder { service: service.into(), unsent };
        let presence = node.enter(EndpointKind::Server, &resolved, &service_type, &qos);
        let introspection = Arc::new(Introspection::new(resolved.clone(), types.clone()));
        let told: Arc<dyn Introspected> = Arc::<Introspection<T>>::clone(&introspection);
        let answering = Answering { responder: responder.clone(), introspection, types };
        let registration = Registration { responder, introspection: told, _presence: presence, node: node.clone() };
        Ok(Self { options, requests, resolved, answering, registration })
    }

    /// Returns the sender of responses, which tells introspection of requests and responses.
    pub(crate) fn answering(&self) -> Answering<T> {
        self.answering.clone()
    }

    /// Creates the server: `create` creates its entity from the options and the source of requests.
    pub(crate) fn finish(
        self,
        create: impl FnOnce(EntityOptions, Requests<T::Decoder, T::Response>) -> Result<Entity, SourceError>,
    ) -> Result<Service, ServiceError> {
        let Self { options, requests, resolved, registration, .. } = self;
        let entity = create(options, requests)?;
        let node = &registration.node;
        node.link().recorder().declare(|| Declaration::Service {
            node: node.fully_qualified_name(),
            account: entity.account(),
            service: resolved.to_string(),
        });
        Ok(Service { entity, registration })
    }
}
