//! Clients of services: calls that can be awaited.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, ready};

use rospin_engine::Declaration;

use crate::error::CallError;
use crate::error::{ServiceError, TopicError};
use crate::graph::{EndpointKind, Presence};
use crate::interfaces::service_msgs::ServiceEventInfo;
use crate::introspection::{Introspected, Introspection, ServiceIntrospectionState};
use crate::link::{Call, ClientLink};
use crate::matches::Matches;
use crate::message::ServiceInterface;
use crate::names::TypeName;
use crate::node::Node;
use crate::options::ClientOptions;
use crate::qos::Qos;
use crate::service_types::RustTypes;

/// Client of a service. Cheap to clone; clones are the same client.
pub struct Client<S: ServiceInterface>(Arc<Inner<S>>);

struct Inner<S: ServiceInterface> {
    service: String,
    _presence: Presence,
    link: ClientLink<S>,
    introspection: Arc<Introspection<RustTypes<S>>>,
    node: Node,
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
        let introspection = Arc::new(Introspection::new(name, RustTypes::new()));
        Ok(Client(Arc::new(Inner { service, _presence: presence, link, introspection, node: self.clone() })))
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
        // Without a server nothing is sent.
        let event = self.0.introspection.of_request(&request).filter(|_| self.service_is_ready());
        let call = self.0.link.call(request);
        if let (Some(event), Some(id)) = (event, call.request_id()) {
            event.publish(ServiceEventInfo::REQUEST_SENT, id);
        }
        Told { call, introspection: Arc::clone(&self.0.introspection) }
    }

    /// Publishes this client's calls on the topic `_service_event` below the service's name, as rclcpp's method of this
    /// name does: a [`ServiceEvent`](crate::ServiceEvent) for each request that it sends, and one for each response
    /// that is awaited. It is off at first. Times are those of the node's clock.
    ///
    /// `qos` is that of the publisher, which is there until the state is [`Off`](ServiceIntrospectionState::Off).
    ///
    /// ```
    /// use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
    /// use rospin::monitoring::{ServiceEvent, ServiceIntrospectionState};
    /// use rospin::{Context, ContextOptions, Qos, Ros, SpinOptions};
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node("calculator")?;
    /// let add = |request: AddTwoIntsRequest| AddTwoIntsResponse { sum: request.a + request.b };
    /// let server = node.create_service("add", add)?;
    /// let client = node.create_client::<AddTwoInts>("add")?;
    /// client.configure_introspection(Qos::default(), ServiceIntrospectionState::Contents)?;
    /// server.configure_introspection(Qos::default(), ServiceIntrospectionState::Metadata)?;
    ///
    /// let seen = node.create_group("seen", Vec::new())?;
    /// let _subscription = seen.create_subscription(
    ///     "add/_service_event",
    ///     |seen: &mut Vec<_>, event: ServiceEvent<AddTwoInts>| {
    ///         seen.push((event.info.event_type, event.request.len()));
    ///     },
    /// )?;
    /// ros.spin_until(client.call(AddTwoIntsRequest { a: 2, b: 3 }))??;
    /// ros.executor().spin(SpinOptions::spin_all())?;
    /// assert_eq!(seen.into_payload().unwrap(), [(0, 1), (1, 0), (2, 0), (3, 0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the middleware refuses the publisher.
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

/// A response that is awaited, of which introspection is told. Dropping it gives the call up.
struct Told<S: ServiceInterface> {
    call: Call<S::Response>,
    introspection: Arc<Introspection<RustTypes<S>>>,
}

impl<S: ServiceInterface> Future for Told<S> {
    type Output = Result<S::Response, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let response = ready!(Pin::new(&mut self.call).poll(cx));
        if let (Ok(response), Some(id)) = (&response, self.call.request_id())
            && let Some(event) = self.introspection.of_response(response)
        {
            event.publish(ServiceEventInfo::RESPONSE_RECEIVED, id);
        }
        Poll::Ready(response)
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
