//! A middleware with the local path.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rospin_engine::{Context, ForeignThreads};
use rospin_node::{
    ClientEnd, EndEvents, FullName, Graph, Inlet, Middleware, NodeEnd, NodeName, PublisherEnd, Qos, Refused,
    RequestSource, Ros, SubscriptionEnd, TypeName,
};

use crate::error::LocalError;
use crate::options::LocalOptions;
use crate::publisher::LocalPublisher;
use crate::reader::{Ear, Reader};
use crate::shared::Shared;

/// A middleware whose large messages stay in shared memory if they are for processes of the same machine.
///
/// Everything else, such as discovery, services and messages to other machines, is that of the middleware.
pub struct Local<M> {
    inner: M,
    /// `None` if the middleware does not tell which network it is in, or there is no shared memory.
    shared: Option<Arc<Shared>>,
}

impl<M: Middleware> Local<M> {
    /// Adds the local path to a middleware, for nodes that are created through the result. Also cleans up after
    /// processes that died. Starts a thread.
    ///
    /// # Errors
    /// If the files of shared memory, in `/dev/shm` and `/tmp`, cannot be created.
    pub fn over(inner: M, options: LocalOptions) -> Result<Self, LocalError> {
        let shared = Self::shared_for(&inner, options)?;
        Ok(Self { inner, shared })
    }

    /// Returns the local path for a middleware; `None` if that does not tell which network it is in.
    fn shared_for(inner: &M, options: LocalOptions) -> Result<Option<Arc<Shared>>, LocalError> {
        let network = inner.network();
        if network.is_empty() {
            return Ok(None);
        }
        let shared = Shared::new(options, &network, inner.graph().matches_qos())?;
        Ok(Some(Arc::new(shared)))
    }

    /// Adds the local path as [`over`](Self::over) does. If there is no shared memory, as in some containers, logs why,
    /// and leaves all messages to the middleware.
    #[must_use]
    pub fn over_if_possible(inner: M, options: LocalOptions) -> Self {
        let shared = Self::shared_for(&inner, options).unwrap_or_else(|error| {
            log::warn!(target: "rospin", "large messages take the middleware: {error}");
            None
        });
        Self { inner, shared }
    }

    /// Returns a [`Ros`] that creates nodes of this middleware, whose callbacks run on executors of `context`.
    #[must_use]
    pub fn ros(self, context: &Context) -> Ros {
        Ros::over(context, self)
    }
}

impl<M> fmt::Debug for Local<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("is_shared", &self.shared.is_some()).finish_non_exhaustive()
    }
}

impl<M: Middleware> Middleware for Local<M> {
    fn graph(&self) -> &Arc<Graph> {
        self.inner.graph()
    }

    fn threads(&self) -> Option<ForeignThreads> {
        self.inner.threads()
    }

    fn network(&self) -> String {
        self.inner.network()
    }

    fn create_node(&self, name: &NodeName) -> Result<Box<dyn NodeEnd>, Refused> {
        let inner = self.inner.create_node(name)?;
        let Some(shared) = &self.shared else { return Ok(inner) };
        Ok(Box::new(LocalNode { inner, graph: Arc::clone(self.inner.graph()), shared: Arc::clone(shared) }))
    }
}

/// The local path's side of a node.
struct LocalNode {
    inner: Box<dyn NodeEnd>,
    graph: Arc<Graph>,
    shared: Arc<Shared>,
}

/// Subscription on both ways.
struct LocalSubscription {
    // Dropped before the middleware's, so that publishers do not take the subscription for one on the local path.
    _ear: Ear,
    _inner: Box<dyn Send>,
}

impl LocalNode {
    /// Creates the local path of a subscription. Without one, if it cannot be had, of which the log tells.
    fn reader(&self, topic: &FullName, message_type: &TypeName, qos: &Qos, inlet: &Inlet) -> Option<Arc<Reader>> {
        if !self.shared.options.takes(message_type, qos) {
            return None;
        }
        let type_key = self.graph.type_key(message_type);
        match Reader::new(&self.shared, &self.graph, topic, &type_key, qos, inlet.clone()) {
            Ok(reader) => Some(reader),
            Err(Refused(reason)) => {
                log::warn!(target: "rospin", "topic `{topic}` has a subscription without shared memory: {reason}");
                None
            }
        }
    }
}

impl NodeEnd for LocalNode {
    fn create_publisher(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        events: &EndEvents,
    ) -> Result<Box<dyn PublisherEnd>, Refused> {
        let inner = self.inner.create_publisher(topic, message_type, qos, events)?;
        if !self.shared.options.takes(message_type, qos) {
            return Ok(Box::new(LocalPublisher::plain(inner)));
        }
        let type_key = self.graph.type_key(message_type);
        Ok(Box::new(LocalPublisher::new(inner, &self.shared, topic, &type_key, qos)))
    }

    fn create_subscription(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        inlet: Inlet,
        events: &EndEvents,
    ) -> Result<SubscriptionEnd, Refused> {
        let Some(reader) = self.reader(topic, message_type, qos, &inlet) else {
            return self.inner.create_subscription(topic, message_type, qos, inlet, events);
        };
        let hears = Arc::clone(&reader);
        let others = inlet.except(move |publisher| hears.hears(publisher));
        let SubscriptionEnd { reader: inner, matches } =
            self.inner.create_subscription(topic, message_type, qos, others, events)?;
        let ear = Ear::new(&reader, matches.id())?;
        Ok(SubscriptionEnd { reader: Box::new(LocalSubscription { _ear: ear, _inner: inner }), matches })
    }

    fn create_service(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
        unsent: &Arc<AtomicU64>,
    ) -> Result<RequestSource, Refused> {
        self.inner.create_service(service, service_type, qos, unsent)
    }

    fn create_client(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<Box<dyn ClientEnd>, Refused> {
        self.inner.create_client(service, service_type, qos)
    }
}
