//! Clients of services: calls that can be awaited.

use std::fmt;
use std::sync::Arc;

use rospin_engine::Declaration;

use crate::error::CallError;
use crate::error::ServiceError;
use crate::graph::{EndpointKind, Presence};
use crate::link::ClientLink;
use crate::matches::Matches;
use crate::message::ServiceInterface;
use crate::names::TypeName;
use crate::node::Node;
use crate::options::ClientOptions;

/// Client of a service. Cheap to clone; clones are the same client.
pub struct Client<S: ServiceInterface>(Arc<Inner<S>>);

struct Inner<S: ServiceInterface> {
    service: String,
    _presence: Presence,
    link: ClientLink<S>,
    _node: Node,
}

impl Node {
    /// Creates a client. A plain `&str` is the service's name.
    ///
    /// A response goes straight to the future that awaits it. So a callback can await a call while it holds its group,
    /// even on an executor with one thread that runs the server's callback, too.
    ///
    /// # Errors
    /// If the service's or the type's name is invalid, or the middleware refuses.
    pub fn create_client<S: ServiceInterface>(
        &self,
        options: impl Into<ClientOptions>,
    ) -> Result<Client<S>, ServiceError> {
        let ClientOptions { service, qos } = options.into();
        qos.check_depth(&service)?;
        let name = self.resolve_service(&service)?;
        let service_type = TypeName::of_service::<S>()?;
        let created = self.link().create_client(&name, &service_type, &qos);
        let link = created.map_err(|reason| ServiceError::Refused { service: service.clone(), reason })?;
        self.link()
            .recorder()
            .declare(|| Declaration::Client { node: self.fully_qualified_name(), service: name.to_string() });
        let presence = self.enter(EndpointKind::Client, &name, &service_type, &qos);
        Ok(Client(Arc::new(Inner { service, _presence: presence, link, _node: self.clone() })))
    }
}

impl<S: ServiceInterface> Client<S> {
    /// Returns the service's name as it was given.
    #[must_use]
    pub fn service(&self) -> &str {
        &self.0.service
    }

    /// Sends a request at once. The response can be awaited anywhere, also inside callbacks.
    ///
    /// If the request is encoded, that happens on the calling thread, which may also send it. Allocates, and locks for
    /// a moment. Does not wait for the server. A middleware may wait for room on a connection, for as long as its
    /// options say.
    ///
    /// Give calls a [timeout](Node::timeout): a response may be [lost](Self::undecodable), and not every middleware
    /// reports that a server has gone.
    ///
    /// Cancel safe: a future that is dropped early loses the response, and nothing else. The request is sent in any
    /// case.
    ///
    /// # Errors
    /// If no server is matched, the request cannot be sent, or there will be no response. The future returns the error.
    #[doc(alias = "call_async")]
    #[doc(alias = "async_send_request")]
    pub fn call(&self, request: S::Request) -> impl Future<Output = Result<S::Response, CallError>> + Send + use<S> {
        self.0.link.call(request)
    }

    /// Returns true if a server is matched, as far as discovery knows at this moment.
    #[must_use]
    pub fn service_is_ready(&self) -> bool {
        self.0.link.count() > 0
    }

    /// Returns a future that resolves once a server is matched.
    ///
    /// Cancel safe: a future that is dropped early has no effect.
    ///
    /// ```
    /// use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
    /// use rospin::{Context, ContextOptions, Node, Ros};
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node("calculator")?;
    /// let client = node.create_client::<AddTwoInts>("add")?;
    /// assert!(!client.service_is_ready());
    /// let add = |request: AddTwoIntsRequest| AddTwoIntsResponse { sum: request.a + request.b };
    /// let _server = node.create_service("add", add)?;
    /// let call = async {
    ///     client.wait_for_service().await;
    ///     client.call(AddTwoIntsRequest { a: 2, b: 3 }).await
    /// };
    /// assert_eq!(ros.spin_until(call)??.sum, 5);
    /// assert_eq!((client.service(), client.undecodable()), ("add", 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_for_service(&self) -> impl Future<Output = ()> + Send + 'static {
        self.0.link.wait()
    }

    /// Returns the number of responses that were lost, because they could not be decoded or because the middleware
    /// could not tell their calls. In the first case the call ends with [`CallError::Unanswered`], in the second one it
    /// may never end without a timeout.
    #[must_use]
    pub fn undecodable(&self) -> u64 {
        self.0.link.undecodable()
    }
}

impl<S: ServiceInterface> Clone for Client<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: ServiceInterface> fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("service", &self.0.service).finish_non_exhaustive()
    }
}
