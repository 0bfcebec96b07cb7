//! Servers of services as entities of callback groups.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rospin::{CallbackGroup, Entity, EntityKind, EntityOptions, LossCause, Payload, ReentrantGroup, SourceError};

use crate::graph::{EndpointKind, Presence};
use crate::message::Service;
use crate::middleware::{Middleware, Refused, ReplyEnd};
use crate::names::{NameError, TypeName};
use crate::node::Node;
use crate::options::ServiceOptions;

/// Why a server or a client could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The service's or the type's name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The middleware refused.
    #[error("could not create an entity of service `{service}`: {reason}")]
    Refused {
        /// The service.
        service: String,
        /// What the middleware says.
        #[source]
        reason: Refused,
    },
    /// The group was removed, or its executor dropped.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Answers the requests of a service.
///
/// Dropping the handle removes the entity: from the executor's next pick on its callback does not run any more. One that is
/// running is not waited for.
#[must_use = "the server is removed when its handle is dropped"]
pub struct Server<X: Middleware> {
    entity: Entity,
    responder: Responder,
    _presence: Presence,
    _node: Node<X>,
}

impl<X: Middleware> Server<X> {
    /// The entity's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.entity.name()
    }

    /// How many requests were lost for that cause.
    #[must_use]
    pub fn lost(&self, cause: LossCause) -> u64 {
        self.entity.lost(cause)
    }

    /// How many responses could not be sent: they could not be encoded, or there was no room for them. Each is logged.
    #[must_use]
    pub fn unsent_responses(&self) -> u64 {
        self.responder.unsent.load(Ordering::Relaxed)
    }
}

impl<X: Middleware> fmt::Debug for Server<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Sends responses, and counts those that it could not send.
#[derive(Clone)]
pub(crate) struct Responder {
    service: Arc<str>,
    unsent: Arc<AtomicU64>,
}

impl Responder {
    pub(crate) fn send<T>(&self, reply: impl ReplyEnd<T>, response: T) {
        if let Err(reason) = reply.send(response) {
            self.unsent.fetch_add(1, Ordering::Relaxed);
            log::error!(target: "rospin", "a response of service `{}` was not sent: {reason}", self.service);
        }
    }
}

/// A server without its callback.
pub(crate) struct Draft<S: Service, X: Middleware> {
    options: EntityOptions,
    requests: X::Requests<S>,
    responder: Responder,
    presence: Presence,
    node: Node<X>,
}

impl<S: Service, X: Middleware> Draft<S, X> {
    pub(crate) fn new(
        node: &Node<X>,
        group: &str,
        options: ServiceOptions,
        deployed_depth: impl FnOnce(&str) -> Option<usize>,
    ) -> Result<Self, ServiceError> {
        let ServiceOptions { common, service, qos } = options;
        let (name, service_type) = (node.resolve(&service)?, TypeName::of_service::<S>()?);
        let (options, qos) = common.into_entity(|| format!("{group}/{service}"), qos, deployed_depth);
        let created = node.middleware().create_service(node.raw(), &name, &service_type, &qos);
        let requests = created.map_err(|reason| ServiceError::Refused { service: service.clone(), reason })?;
        let responder = Responder { service: service.into(), unsent: Arc::default() };
        let presence = node.enter(EndpointKind::Server, &name, &service_type, &qos);
        Ok(Self { options, requests, responder, presence, node: node.clone() })
    }

    /// Finishes it with the entity that `create` makes of options, source and responder.
    pub(crate) fn finish(
        self,
        create: impl FnOnce(EntityOptions, X::Requests<S>, Responder) -> Result<Entity, SourceError>,
    ) -> Result<Server<X>, ServiceError> {
        let Self { options, requests, responder, presence, node } = self;
        let entity = create(options, requests, responder.clone())?;
        Ok(Server { entity, responder, _presence: presence, _node: node })
    }
}

impl<X: Middleware> Node<X> {
    /// Creates a server on a group, which answers requests with what the callback returns; a plain `&str` is the service's
    /// name. If the callback panics, its client gets no answer.
    ///
    /// # Errors
    /// If the service's or the type's name is none, the middleware refuses, or the group is gone.
    pub fn create_service<S, P, F>(
        &self,
        group: &CallbackGroup<P>,
        options: impl Into<ServiceOptions>,
        mut callback: F,
    ) -> Result<Server<X>, ServiceError>
    where
        S: Service,
        P: Send + 'static,
        F: FnMut(&mut P, S::Request) -> S::Response + Send + 'static,
    {
        let draft = Draft::<S, X>::new(self, group.name(), options.into(), |name| group.deployed_depth(name))?;
        draft.finish(|options, requests, responder| {
            group.create_source(EntityKind::Service, options, requests, move |payload, (request, reply)| {
                responder.send(reply, callback(payload, request));
            })
        })
    }

    /// As [`create_service`](Self::create_service), with an asynchronous callback.
    ///
    /// # Errors
    /// If the service's or the type's name is none, the middleware refuses, or the group is gone.
    pub fn create_service_async<S, P, F, Fut>(
        &self,
        group: &CallbackGroup<P>,
        options: impl Into<ServiceOptions>,
        mut callback: F,
    ) -> Result<Server<X>, ServiceError>
    where
        S: Service,
        P: Send + 'static,
        F: FnMut(Payload<P>, S::Request) -> Fut + Send + 'static,
        Fut: Future<Output = S::Response> + Send + 'static,
    {
        let draft = Draft::<S, X>::new(self, group.name(), options.into(), |name| group.deployed_depth(name))?;
        draft.finish(|options, requests, responder| {
            group.create_source_async(EntityKind::Service, options, requests, move |payload, (request, reply)| {
                let (responder, response) = (responder.clone(), callback(payload, request));
                async move { responder.send(reply, response.await) }
            })
        })
    }

    /// As [`create_service`](Self::create_service), on a reentrant group.
    ///
    /// # Errors
    /// If the service's or the type's name is none, the middleware refuses, or the group is gone.
    pub fn create_reentrant_service<S, F>(
        &self,
        group: &ReentrantGroup,
        options: impl Into<ServiceOptions>,
        callback: F,
    ) -> Result<Server<X>, ServiceError>
    where
        S: Service,
        F: Fn(S::Request) -> S::Response + Send + Sync + 'static,
    {
        let draft = Draft::<S, X>::new(self, group.name(), options.into(), |name| group.deployed_depth(name))?;
        draft.finish(|options, requests, responder| {
            group.create_source(EntityKind::Service, options, requests, move |(request, reply)| {
                responder.send(reply, callback(request));
            })
        })
    }

    /// As [`create_service`](Self::create_service), with an asynchronous callback on a reentrant group.
    ///
    /// # Errors
    /// If the service's or the type's name is none, the middleware refuses, or the group is gone.
    pub fn create_reentrant_service_async<S, F, Fut>(
        &self,
        group: &ReentrantGroup,
        options: impl Into<ServiceOptions>,
        callback: F,
    ) -> Result<Server<X>, ServiceError>
    where
        S: Service,
        F: Fn(S::Request) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = S::Response> + Send + 'static,
    {
        let draft = Draft::<S, X>::new(self, group.name(), options.into(), |name| group.deployed_depth(name))?;
        draft.finish(|options, requests, responder| {
            group.create_source_async(EntityKind::Service, options, requests, move |(request, reply)| {
                let (responder, response) = (responder.clone(), callback(request));
                async move { responder.send(reply, response.await) }
            })
        })
    }
}
