//! The middleware that needs none: topics and services of a [`Context`].

use std::any::TypeId;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, ready};

use rospin::{
    Closer, Context, EntityOptions, ExecutorHandle, Notifier, Pending, PublisherOptions, Queue, Reply, RequestQueue,
    Source, SubscriptionOptions, TakeError,
};

use crate::client::CallError;
use crate::dynamic::DynamicMessage;
use crate::graph::Graph;
use crate::message::{Decode, Encode, Service};
use crate::middleware::{ClientEnd, Matches, Middleware, PublisherEnd, Refused, ReplyEnd};
use crate::names::{FullName, NodeName, TypeName};
use crate::publisher::PublishError;
use crate::qos::{Durability, Qos};

/// Nodes of one process that talk through their [`Context`]: nothing is encoded, and a message with one subscription is not even
/// copied. Histories are kept as they are over DDS; everything is reliable. Whatever has the same name and type is matched,
/// also where the quality of service would keep a network from it: a latched subscription receives from all publishers.
///
/// As nothing is encoded, messages of a [dynamic type](crate::dynamic) are heard by dynamic subscriptions of that type only, and
/// not by those of a Rust type of the same name.
#[derive(Clone, Debug)]
pub struct InProcess(Context, Arc<Graph>);

impl InProcess {
    /// Through the topics and services of that context.
    #[must_use]
    pub fn new(context: &Context) -> Self {
        Self(context.clone(), context.shared())
    }
}

/// How much is kept where the quality of service has no limit: nothing grows without bound.
const KEEP_ALL: usize = 8192;

/// What a context calls a topic. Messages of all dynamic types are one Rust type: there, the name keeps them apart.
fn topic_of<M: 'static>(topic: &FullName, message_type: &TypeName) -> String {
    if TypeId::of::<M>() != TypeId::of::<DynamicMessage>() {
        return topic.to_string();
    }
    format!("{topic} of {message_type} {}", message_type.hash.as_deref().unwrap_or_default())
}

fn refused(error: impl std::fmt::Display) -> Refused {
    Refused(error.to_string())
}

impl Middleware for InProcess {
    type Node = ();
    type Publisher<M: Encode> = TopicPublisher<M>;
    type Messages<D: Decode> = Messages<D::Message>;
    type Matches = Publishers;
    type Requests<S: Service> = RequestQueue<S::Request, S::Response>;
    type Reply<S: Service> = Reply<S::Response>;
    type Client<S: Service> = ServiceClient<S>;

    fn graph(&self) -> &Arc<Graph> {
        &self.1
    }

    fn create_node(&self, _name: &NodeName) -> Result<(), Refused> {
        Ok(())
    }

    fn create_publisher<M: Encode>(
        &self,
        (): &(),
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
    ) -> Result<TopicPublisher<M>, Refused> {
        let mut options = PublisherOptions::new(topic_of::<M>(topic, message_type));
        if qos.durability == Durability::TransientLocal {
            options = options.transient_local(qos.depth().unwrap_or(KEEP_ALL));
        }
        self.0.create_publisher(options).map(TopicPublisher).map_err(refused)
    }

    fn create_subscription<D: Decode>(
        &self,
        (): &(),
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        _decode: D,
    ) -> Result<(Messages<D::Message>, Publishers), Refused> {
        let topic = topic_of::<D::Message>(topic, message_type);
        let mut options = SubscriptionOptions::new(topic).keep_last(qos.depth().unwrap_or(KEEP_ALL));
        if qos.durability == Durability::TransientLocal {
            options = options.transient_local();
        }
        let queue = self.0.create_queue::<D::Message>(options).map_err(refused)?;
        let publishers = Publishers(queue.ends());
        Ok((Messages(queue), publishers))
    }

    fn create_service<S: Service>(
        &self,
        (): &(),
        service: &FullName,
        _service_type: &TypeName,
        qos: &Qos,
    ) -> Result<Self::Requests<S>, Refused> {
        let options = rospin::ServiceOptions::new(service.as_str()).keep_last(qos.depth().unwrap_or(KEEP_ALL));
        self.0.create_request_queue(options).map_err(refused)
    }

    fn create_client<S: Service>(
        &self,
        (): &(),
        _executor: &ExecutorHandle,
        service: &FullName,
        _service_type: &TypeName,
        _qos: &Qos,
        _options: EntityOptions,
    ) -> Result<ServiceClient<S>, Refused> {
        let client = self.0.create_client(service.as_str()).map_err(refused)?;
        Ok(ServiceClient { service: service.to_string(), client })
    }
}

/// A publisher of an in-process topic.
#[derive(Debug)]
pub struct TopicPublisher<M: Encode>(rospin::Publisher<M>);

impl<M: Encode> Matches for TopicPublisher<M> {
    fn count(&self) -> usize {
        self.0.subscription_count()
    }

    fn wait(&self) -> impl Future<Output = ()> + Send + 'static {
        self.0.ends().wait_for_subscription()
    }
}

impl<M: Encode> PublisherEnd<M> for TopicPublisher<M> {
    fn publish(&self, message: M) -> Result<(), PublishError> {
        // What it displaces is counted where it was.
        self.0.publish(message);
        Ok(())
    }
}

/// The publishers of a topic, as its subscription sees them.
#[derive(Debug)]
pub struct Publishers(rospin::TopicEnds);

impl Matches for Publishers {
    fn count(&self) -> usize {
        self.0.publisher_count()
    }

    fn wait(&self) -> impl Future<Output = ()> + Send + 'static {
        self.0.wait_for_publisher()
    }
}

/// The messages of an in-process topic, each of one's own.
#[derive(Debug)]
pub struct Messages<M: Clone + Send + Sync + 'static>(Queue<M>);

impl<M: Clone + Send + Sync + 'static> Source for Messages<M> {
    type Item = M;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.0.attach(notifier)
    }

    fn try_take(&mut self) -> Result<Option<M>, TakeError> {
        Ok(Source::try_take(&mut self.0)?.map(Arc::unwrap_or_clone))
    }

    fn pending(&self) -> Pending {
        self.0.pending()
    }

    fn closer(&self) -> Option<Closer> {
        self.0.closer()
    }
}

impl<T: Send + 'static> ReplyEnd<T> for Reply<T> {
    fn send(self, response: T) -> Result<(), Refused> {
        self.send(response);
        Ok(())
    }
}

/// A client of an in-process service.
pub struct ServiceClient<S: Service> {
    service: String,
    client: rospin::Client<S::Request, S::Response>,
}

impl<S: Service> Matches for ServiceClient<S> {
    fn count(&self) -> usize {
        self.client.service_is_ready().into()
    }

    fn wait(&self) -> impl Future<Output = ()> + Send + 'static {
        let client = self.client.clone();
        async move { client.wait_for_service().await }
    }
}

impl<S: Service> ClientEnd<S> for ServiceClient<S> {
    type Call = Call<S::Response>;

    fn call(&self, request: S::Request) -> Call<S::Response> {
        Call { service: self.service.clone(), call: self.client.call(request) }
    }

    fn undecodable(&self) -> u64 {
        0
    }
}

impl<S: Service> fmt::Debug for ServiceClient<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceClient").field("service", &self.service).finish_non_exhaustive()
    }
}

/// A call of an in-process service.
#[derive(Debug)]
pub struct Call<T> {
    service: String,
    call: rospin::Call<T>,
}

impl<T> Future for Call<T> {
    type Output = Result<T, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let outcome = ready!(Pin::new(&mut self.call).poll(cx));
        Poll::Ready(outcome.map_err(|error| {
            let service = std::mem::take(&mut self.service);
            match error {
                rospin::CallError::Unavailable { .. } => CallError::Unavailable { service },
                error => CallError::Unanswered { service, reason: error.to_string() },
            }
        }))
    }
}
