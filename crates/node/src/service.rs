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
use crate::message::ServiceInterface;
use crate::names::{FullName, TypeName};
use crate::node::Node;
use crate::options::ServiceOptions;
use crate::qos::Qos;

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
}

/// Sender of responses to the requests of a server, which tells introspection of both.
pub(crate) struct Answering<S: ServiceInterface> {
    responder: Responder,
    introspection: Arc<Introspection<S>>,
}

impl<S: ServiceInterface> Clone for Answering<S> {
    fn clone(&self) -> Self {
        Self { responder: self.responder.clone(), introspection: Arc::clone(&self.introspection) }
    }
}

impl<S: ServiceInterface> Convert<(S::Request, Reply<S::Response>), S::Request, Value<S::Response>> for Answering<S> {
    type Kept = Reply<S::Response>;

    fn open(&self, item: (S::Request, Reply<S::Response>)) -> (S::Request, Reply<S::Response>) {
        let (request, reply) = item;
        if let Some(event) = self.introspection.of_request(&request) {
            event.publish(ServiceEventInfo::REQUEST_RECEIVED, reply.request_id());
        }
        (request, reply)
    }

    fn close(&self, reply: Reply<S::Response>, response: S::Response) {
        let event = self.introspection.of_response(&response);
        let id = reply.request_id();
        self.responder.send(reply, response);
        if let Some(event) = event {
            event.publish(ServiceEventInfo::RESPONSE_SENT, id);
        }
    }
}

/// A server before it has its callback.
pub(crate) struct Draft<S: ServiceInterface> {
    options: EntityOptions,
    requests: Requests<S>,
    resolved: FullName,
    introspection: Arc<Introspection<S>>,
    registration: Registration,
}

impl<S: ServiceInterface> Draft<S> {
    pub(crate) fn on(node: &Node, group: &dyn Group, options: ServiceOptions) -> Result<Self, ServiceError> {
        let ServiceOptions { common, service, qos } = options;
        let resolved = node.resolve_service(&service)?;
        let service_type = TypeName::of_service::<S>()?;
        let name = common.name_in(group, &service);
        let (options, qos) = common.into_entity(name.clone(), qos, |name| group.deployed_depth(name));
        qos.check_depth(&name)?;
        let unsent = Arc::default();
        let created = node.link().create_service(&resolved, &service_type, &qos, &unsent);
        let requests = created.map_err(|reason| ServiceError::Refused { service: service.clone(), reason })?;
        let responder = Responder { service: service.into(), unsent };
        let presence = node.enter(EndpointKind::Server, &resolved, &service_type, &qos);
        let introspection = Arc::new(Introspection::new(resolved.clone()));
        let told: Arc<dyn Introspected> = Arc::<Introspection<S>>::clone(&introspection);
        let registration = Registration { responder, introspection: told, _presence: presence, node: node.clone() };
        Ok(Self { options, requests, resolved, introspection, registration })
    }

    /// Returns the sender of responses that tells introspection of them.
    pub(crate) fn answering(&self) -> Answering<S> {
        let responder = self.registration.responder.clone();
        Answering { responder, introspection: Arc::clone(&self.introspection) }
    }

    /// Creates the server: `create` creates its entity from the options, the source of requests and the sender of
    /// responses.
    pub(crate) fn finish(
        self,
        create: impl FnOnce(EntityOptions, Requests<S>, Responder) -> Result<Entity, SourceError>,
    ) -> Result<Service, ServiceError> {
        let Self { options, requests, resolved, registration, .. } = self;
        let entity = create(options, requests, registration.responder.clone())?;
        let node = &registration.node;
        node.link().recorder().declare(|| Declaration::Service {
            node: node.fully_qualified_name(),
            account: entity.account(),
            service: resolved.to_string(),
        });
        Ok(Service { entity, registration })
    }
}
