//! Servers of services as entities of callback groups.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context as TaskContext, Poll, ready};

use futures_core::Stream;
use ros2_client::ReadError;
use ros2_client::request_id::RmwRequestId;
use rospin::{CallbackGroup, Entity, EntityKind, EntityOptions, LossCause, Payload, ReentrantGroup, SourceError};

use crate::message::{Service, Wire};
use crate::names::{self, NameError};
use crate::node::{Node, Place};
use crate::options::{Common, ServiceOptions};
use crate::participant::End;
use crate::reader::{Read, Reader};

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
        reason: String,
    },
    /// The group was removed, or its executor dropped.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl ServiceError {
    pub(crate) fn refused(service: &str, reason: String) -> Self {
        Self::Refused { service: service.to_owned(), reason }
    }
}

/// Answers the requests of a service.
///
/// Dropping the handle removes the entity: from the executor's next pick on its callback does not run any more. One that is
/// running is not waited for.
#[must_use = "the server is removed when its handle is dropped"]
pub struct Server {
    entity: Entity,
    unsent: Arc<AtomicU64>,
    _node: Node,
}

impl Server {
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
        self.unsent.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The middleware's server for a service type.
type DdsServer<S> = ros2_client::Server<Wire<<S as Service>::Request>, Wire<<S as Service>::Response>>;

/// The requests of a service.
struct Requests<S: Service>(Arc<DdsServer<S>>);

impl<S: Service> Read for Requests<S> {
    type Item = (RmwRequestId, S::Request);

    fn poll_read(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<Option<Self::Item>, ReadError>> {
        // The stream has no state of its own: it is never dropped between a request and its decoding.
        let stream = pin!(self.0.receive_request_stream());
        Poll::Ready(match ready!(stream.poll_next(cx)) {
            Some(Ok((id, Wire(request)))) => Ok(Some((id, request))),
            Some(Err(error)) => Err(error),
            None => Err(ReadError::Closed),
        })
    }
}

/// Where responses go.
struct Responder<S: Service> {
    service: Arc<str>,
    server: Arc<DdsServer<S>>,
    unsent: Arc<AtomicU64>,
}

impl<S: Service> Responder<S> {
    fn send(&self, id: RmwRequestId, response: S::Response) {
        if let Err(error) = self.server.send_response(id, Wire(response)) {
            self.unsent.fetch_add(1, Ordering::Relaxed);
            log::error!(target: "rospin", "a response of service `{}` was not sent: {error}", self.service);
        }
    }
}

impl<S: Service> Clone for Responder<S> {
    fn clone(&self) -> Self {
        Self { service: Arc::clone(&self.service), server: Arc::clone(&self.server), unsent: Arc::clone(&self.unsent) }
    }
}

/// A server without its callback.
struct Draft<S: Service> {
    common: Common,
    responder: Responder<S>,
    node: Node,
}

impl<S: Service> Draft<S> {
    fn new(node: &Node, options: ServiceOptions) -> Result<Self, ServiceError> {
        let ServiceOptions { common, service, qos } = options;
        let (name, service_type) = (names::topic(&service, node.name())?, names::service_type(S::TYPE)?);
        let mapping = node.domain().mapping().into_dds();
        let created = node.create(&node.dds_name(&name, "rs", ""), End::Writers, |Place { node, .. }| {
            node.create_server(mapping, &name, &service_type, qos.clone(), qos)
        });
        let server = created.map_err(|reason| ServiceError::refused(&service, reason))?;
        let responder = Responder { service: service.into(), server: Arc::new(server), unsent: Arc::default() };
        Ok(Self { common, responder, node: node.clone() })
    }

    /// Finishes it with the entity that `create` makes of options, source and responder.
    fn finish(
        self,
        group: &str,
        create: impl FnOnce(EntityOptions, Reader<Requests<S>>, Responder<S>) -> Result<Entity, SourceError>,
    ) -> Result<Server, ServiceError> {
        let Self { common, responder, node } = self;
        let requests = Reader::new(Requests(Arc::clone(&responder.server)));
        let unsent = Arc::clone(&responder.unsent);
        let options = common.into_entity(|| format!("{group}/{}", responder.service));
        Ok(Server { entity: create(options, requests, responder)?, unsent, _node: node })
    }
}

impl Node {
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
    ) -> Result<Server, ServiceError>
    where
        S: Service,
        P: Send + 'static,
        F: FnMut(&mut P, S::Request) -> S::Response + Send + 'static,
    {
        Draft::<S>::new(self, options.into())?.finish(group.name(), |options, requests, responder| {
            group.create_source(EntityKind::Service, options, requests, move |payload, (id, request)| {
                responder.send(id, callback(payload, request));
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
    ) -> Result<Server, ServiceError>
    where
        S: Service,
        P: Send + 'static,
        F: FnMut(Payload<P>, S::Request) -> Fut + Send + 'static,
        Fut: Future<Output = S::Response> + Send + 'static,
    {
        Draft::<S>::new(self, options.into())?.finish(group.name(), |options, requests, responder| {
            group.create_source_async(EntityKind::Service, options, requests, move |payload, (id, request)| {
                let (responder, response) = (responder.clone(), callback(payload, request));
                async move { responder.send(id, response.await) }
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
    ) -> Result<Server, ServiceError>
    where
        S: Service,
        F: Fn(S::Request) -> S::Response + Send + Sync + 'static,
    {
        Draft::<S>::new(self, options.into())?.finish(group.name(), |options, requests, responder| {
            group.create_source(EntityKind::Service, options, requests, move |(id, request)| {
                responder.send(id, callback(request));
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
    ) -> Result<Server, ServiceError>
    where
        S: Service,
        F: Fn(S::Request) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = S::Response> + Send + 'static,
    {
        Draft::<S>::new(self, options.into())?.finish(group.name(), |options, requests, responder| {
            group.create_source_async(EntityKind::Service, options, requests, move |(id, request)| {
                let (responder, response) = (responder.clone(), callback(request));
                async move { responder.send(id, response.await) }
            })
        })
    }
}
