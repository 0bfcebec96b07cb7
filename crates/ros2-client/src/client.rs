//! Clients of services: responses as entities of a callback group, calls that can be awaited.
//!
//! ros2-client's own client does not tell of responses without also throwing away those that it is not asked for, so this one
//! is made of a writer for requests and a subscription for responses.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, ready};

use futures_channel::oneshot;
use futures_core::Stream;
use ros2_client::dds::rustdds::no_key::DataWriterCdr;
use ros2_client::dds::rustdds::{GUID, QosPolicies, RTPSEntity, TopicKind, WriteOptionsBuilder};
use ros2_client::{CreateError, Gid, ReadError};
use rospin::{Entity, EntityKind, ExecutorHandle, GroupOptions, LossCause};
use serde::de::{Deserialize, DeserializeOwned, DeserializeSeed, Deserializer};
use serde::{Serialize, Serializer};

use crate::domain::ServiceMapping;
use crate::matches::Matched;
use crate::message::Service;
use crate::names;
use crate::node::{Node, Place};
use crate::options::ClientOptions;
use crate::participant::End;
use crate::reader::{Read, Reader};
use crate::service::ServiceError;

/// Why a call has no response.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No server is known at this moment.
    #[error("no server of service `{service}` is known; await `Client::wait_for_service` first")]
    Unavailable {
        /// The service.
        service: String,
    },
    /// The request could not be encoded, or there was no room for it.
    #[error("the request to service `{service}` was not sent: {reason}")]
    NotSent {
        /// The service.
        service: String,
        /// What the middleware says.
        reason: String,
    },
    /// The client or its executor was dropped before the response came.
    #[error("the client of service `{service}` ended before the response came")]
    ClientGone {
        /// The service.
        service: String,
    },
}

/// What Cyclone DDS's mapping puts before requests and responses: what identifies the request. Servers send it back as it is.
type Header = ([u8; 8], i64);

/// A request as it travels.
enum Request<T> {
    Bare(T),
    Headed(Header, T),
}

impl<T: Serialize> Serialize for Request<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bare(body) => body.serialize(serializer),
            Self::Headed(header, body) => (header, body).serialize(serializer),
        }
    }
}

/// A response as it travels.
struct Response<T> {
    header: Option<Header>,
    body: T,
}

/// How to decode a response.
struct ResponseSeed<T>(ServiceMapping, PhantomData<fn() -> T>);

impl<T> Clone for ResponseSeed<T> {
    fn clone(&self) -> Self {
        Self(self.0, PhantomData)
    }
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for ResponseSeed<T> {
    type Value = Response<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Response<T>, D::Error> {
        match self.0 {
            ServiceMapping::Enhanced => Ok(Response { header: None, body: T::deserialize(deserializer)? }),
            ServiceMapping::Cyclone => {
                let (header, body) = <(Header, T)>::deserialize(deserializer)?;
                Ok(Response { header: Some(header), body })
            }
        }
    }
}

/// The calls that wait for a response, by the number of their request.
struct Waiting<T>(Mutex<Calls<T>>);

struct Calls<T> {
    last: i64,
    senders: BTreeMap<i64, oneshot::Sender<T>>,
    closed: bool,
}

impl<T> Waiting<T> {
    const fn new() -> Self {
        Self(Mutex::new(Calls { last: 0, senders: BTreeMap::new(), closed: false }))
    }

    fn lock(&self) -> MutexGuard<'_, Calls<T>> {
        // What runs under the lock leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, number: i64, response: T) {
        let sender = self.lock().senders.remove(&number);
        if let Some(sender) = sender {
            // Who lost interest meanwhile does not mind.
            let _ = sender.send(response);
        }
    }

    /// There will be no more responses.
    fn close(&self) {
        let mut calls = self.lock();
        calls.closed = true;
        let senders = std::mem::take(&mut calls.senders);
        drop(calls);
        drop(senders);
    }
}

/// The responses to a client's requests.
struct Responses<T: DeserializeOwned + Send + 'static> {
    subscription: ros2_client::Subscription<Response<T>>,
    mapping: ServiceMapping,
    /// The writer of the requests.
    requester: GUID,
    waiting: Arc<Waiting<T>>,
}

impl<T: DeserializeOwned + Send + 'static> Responses<T> {
    /// The number of the request that is answered, if it is one of ours.
    fn number(&self, header: Option<Header>, info: &ros2_client::MessageInfo) -> Option<i64> {
        if self.mapping == ServiceMapping::Cyclone {
            return header.filter(|(half, _)| *half == half_of(self.requester)).map(|(_, number)| number);
        }
        let id = info.related_request_id().filter(|id| id.writer_gid == Gid::from(self.requester));
        id.map(|id| id.sequence_number)
    }
}

/// The half of a writer's id that Cyclone DDS's mapping sends.
fn half_of(guid: GUID) -> [u8; 8] {
    let bytes = guid.to_bytes();
    std::array::from_fn(|at| bytes[8 + at])
}

impl<T: DeserializeOwned + Send + 'static> Read for Responses<T> {
    type Item = (i64, T);

    fn poll_read(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<Option<Self::Item>, ReadError>> {
        let seed = ResponseSeed(self.mapping, PhantomData);
        // The stream has no state of its own.
        let stream = pin!(self.subscription.async_stream_seed(seed));
        Poll::Ready(match ready!(stream.poll_next(cx)) {
            // DDS brings the responses to all clients of the service.
            Some(Ok((Response { header, body }, info))) => Ok(self.number(header, &info).map(|number| (number, body))),
            Some(Err(error)) => Err(error),
            None => Err(ReadError::Closed),
        })
    }
}

impl<T: DeserializeOwned + Send + 'static> Drop for Responses<T> {
    fn drop(&mut self) {
        self.waiting.close();
    }
}

/// Calls a service. Cheap to clone; clones are the same client.
pub struct Client<S: Service>(Arc<Inner<S>>);

struct Inner<S: Service> {
    service: String,
    writer: DataWriterCdr<Request<S::Request>>,
    mapping: ServiceMapping,
    waiting: Arc<Waiting<S::Response>>,
    requests: Matched,
    responses: Matched,
    entity: Entity,
    _node: Node,
}

impl Node {
    /// Creates a client; a plain `&str` is the service's name.
    ///
    /// Responses are an entity of `executor`, in a group called `client/` and the service's name: in none of its callbacks'
    /// groups, so that a callback can await a call while it holds its group. That works in every executor, also if it has one
    /// thread and runs the callback itself.
    ///
    /// # Errors
    /// If the service's or the type's name is none, the middleware refuses, or the executor is gone.
    pub fn create_client<S: Service>(
        &self,
        executor: &ExecutorHandle,
        options: impl Into<ClientOptions>,
    ) -> Result<Client<S>, ServiceError> {
        let ClientOptions { common, service, qos } = options.into();
        let name = names::topic(&service, self.name())?;
        let (request_type, response_type) = names::service_dds_types(S::TYPE)?;
        let dds_qos = QosPolicies::from(&qos);
        let created = self.create(&self.dds_name(&name, "rs", ""), End::Readers, |Place { node, participant }| {
            let dds = participant.context.domain_participant();
            let topic = |dds_name, dds_type| dds.create_topic(dds_name, dds_type, &dds_qos, TopicKind::NoKey);
            let response_topic = topic(self.dds_name(&name, "rr", "Reply"), response_type)?;
            let request_topic = topic(self.dds_name(&name, "rq", "Request"), request_type)?;
            // The reader first: when a server sees the writer, it may answer.
            let reader = participant.matches.register(|| {
                let subscription = node.create_subscription::<Response<S::Response>>(&response_topic, Some(qos))?;
                let guid = subscription.guid();
                Ok::<_, CreateError>((subscription, guid))
            })?;
            let writer = participant.matches.register(|| {
                let publisher = dds.create_publisher(&dds_qos)?;
                let writer: DataWriterCdr<Request<S::Request>> =
                    publisher.create_datawriter_no_key(&request_topic, None)?;
                let guid = writer.guid();
                Ok::<_, CreateError>((writer, guid))
            })?;
            Ok((reader, writer))
        });
        let ((subscription, responses), (writer, requests)) =
            created.map_err(|reason| ServiceError::refused(&service, reason))?;

        let (mapping, requester) = (self.domain().mapping(), requests.local());
        let waiting = Arc::new(Waiting::new());
        let reader = Responses { subscription, mapping, requester, waiting: Arc::clone(&waiting) };
        let group = GroupOptions::new(format!("client/{service}")).node(self.fully_qualified_name());
        let group = executor.create_reentrant_group(group);
        let finish = {
            let waiting = Arc::clone(&waiting);
            move |(number, response)| waiting.finish(number, response)
        };
        let options = common.into_entity(|| group.name().to_owned());
        let entity = group.create_source(EntityKind::Client, options, Reader::new(reader), finish)?;
        let node = self.clone();
        Ok(Client(Arc::new(Inner { service, writer, mapping, waiting, requests, responses, entity, _node: node })))
    }
}

impl<S: Service> Client<S> {
    /// Sends a request now; the response can be awaited anywhere, inside callbacks, too.
    ///
    /// Encodes it on the calling thread and leaves sending to the middleware's. Allocates, and locks for a moment; does not
    /// wait for the network or the server.
    ///
    /// Give calls a timeout. As everywhere in DDS, a server may not know a client yet that knows the server; what it answers
    /// then, some middlewares lose. And a response that cannot be decoded never reaches its call: it is counted in
    /// [`lost`](Self::lost).
    pub fn call(&self, request: S::Request) -> Call<S::Response> {
        let Inner { service, writer, mapping, waiting, .. } = &*self.0;
        if !self.service_is_ready() {
            return Call::failed(CallError::Unavailable { service: service.clone() });
        }
        // The response must not come before its call is known.
        let mut calls = waiting.lock();
        if calls.closed {
            return Call::failed(CallError::ClientGone { service: service.clone() });
        }
        calls.last += 1;
        let request = match mapping {
            ServiceMapping::Enhanced => Request::Bare(request),
            ServiceMapping::Cyclone => Request::Headed((half_of(self.0.requests.local()), calls.last), request),
        };
        let sent = match writer.write_with_options(request, WriteOptionsBuilder::new().build()) {
            Ok(sent) => sent,
            Err(error) => {
                let reason = error.forget_data().to_string();
                return Call::failed(CallError::NotSent { service: service.clone(), reason });
            }
        };
        let number = match mapping {
            ServiceMapping::Enhanced => i64::from(sent.sequence_number),
            ServiceMapping::Cyclone => calls.last,
        };
        let (sender, receiver) = oneshot::channel();
        calls.senders.insert(number, sender);
        drop(calls);
        let waiting = Arc::clone(waiting);
        Call(Outcome::Waiting { service: service.clone(), receiver, number, waiting })
    }

    /// Whether a server is matched, as far as discovery was listened to: it is an entity of the executor that
    /// [`Domain::join`](crate::Domain::join) was given.
    #[must_use]
    pub fn service_is_ready(&self) -> bool {
        self.0.requests.count() > 0 && self.0.responses.count() > 0
    }

    /// Waits until a server is matched.
    pub fn wait_for_service(&self) -> impl Future<Output = ()> + Send + use<S> {
        let (requests, responses) = (self.0.requests.wait(), self.0.responses.wait());
        async move {
            requests.await;
            responses.await;
        }
    }

    /// How many responses were lost for that cause.
    #[must_use]
    pub fn lost(&self, cause: LossCause) -> u64 {
        self.0.entity.lost(cause)
    }
}

impl<S: Service> Clone for Client<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Service> fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("service", &self.0.service).finish_non_exhaustive()
    }
}

impl<S: Service> Drop for Inner<S> {
    fn drop(&mut self) {
        self.waiting.close();
    }
}

/// A call that was sent: a future of its response.
#[must_use = "the response is lost unless the call is awaited"]
pub struct Call<T>(Outcome<T>);

enum Outcome<T> {
    Failed(CallError),
    Waiting { service: String, receiver: oneshot::Receiver<T>, number: i64, waiting: Arc<Waiting<T>> },
}

impl<T> Call<T> {
    const fn failed(error: CallError) -> Self {
        Self(Outcome::Failed(error))
    }
}

impl<T> Future for Call<T> {
    type Output = Result<T, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Outcome::Failed(error) => Poll::Ready(Err(error.clone())),
            Outcome::Waiting { service, receiver, .. } => Pin::new(receiver)
                .poll(cx)
                .map_err(|oneshot::Canceled| CallError::ClientGone { service: service.clone() }),
        }
    }
}

impl<T> Drop for Call<T> {
    fn drop(&mut self) {
        if let Outcome::Waiting { number, waiting, .. } = &self.0 {
            let forgotten = waiting.lock().senders.remove(number);
            drop(forgotten);
        }
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}
