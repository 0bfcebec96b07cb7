//! Clients of services: responses as entities of a callback group, calls that can be awaited.
//!
//! ros2-client's own client does not tell of responses without also throwing away those that it is not asked for, so this one
//! is made of a writer for requests and a subscription for responses.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, ready};

use bytes::Bytes;
use futures_channel::oneshot;
use ros2_client::dds::rustdds::no_key::DataWriterCdr;
use ros2_client::dds::rustdds::{GUID, QosPolicies, RTPSEntity, WriteOptionsBuilder};
use ros2_client::{Gid, ReadError};
use rospin_engine::{Entity, EntityKind, EntityOptions, LossCause, ReentrantGroup};
use rospin_node::{Awaited, CallError, ClientEnd, FullName, Matches, Qos, Refused, TypeName};

use crate::domain::ServiceMapping;
use crate::headed::{Headed, HeadedSeed, Header, half_of};
use crate::matches::Matched;
use crate::names;
use crate::node::{DdsNode, Place, refused};
use crate::participant::End;
use crate::raw::Raw;
use crate::reader::{Read, Reader, poll_sample};

/// The calls that wait for a response, by the number of their request.
struct Waiting(Mutex<Calls>);

struct Calls {
    last: i64,
    senders: BTreeMap<i64, oneshot::Sender<Bytes>>,
    closed: bool,
}

impl Waiting {
    const fn new() -> Self {
        Self(Mutex::new(Calls { last: 0, senders: BTreeMap::new(), closed: false }))
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        // What runs under the lock leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, number: i64, response: Bytes) {
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
struct Responses {
    subscription: ros2_client::Subscription<Headed<Raw>>,
    mapping: ServiceMapping,
    /// The writer of the requests.
    requester: GUID,
    waiting: Arc<Waiting>,
}

impl Responses {
    /// The number of the request that is answered, if it is one of ours.
    fn number(&self, header: Option<Header>, info: &ros2_client::MessageInfo) -> Option<i64> {
        if self.mapping == ServiceMapping::Cyclone {
            return header.filter(|(half, _)| *half == half_of(self.requester)).map(|(_, number)| number);
        }
        let id = info.related_request_id().filter(|id| id.writer_gid == Gid::from(self.requester));
        id.map(|id| id.sequence_number)
    }
}

impl Read for Responses {
    type Item = (i64, Bytes);

    fn poll_read(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<Option<Self::Item>, ReadError>> {
        let sample = ready!(poll_sample(&self.subscription, HeadedSeed::new(self.mapping), cx));
        // DDS brings the responses to all clients of the service.
        Poll::Ready(
            sample.map(|(Headed { header, body }, info)| self.number(header, &info).map(|number| (number, body.0))),
        )
    }
}

impl Drop for Responses {
    fn drop(&mut self) {
        self.waiting.close();
    }
}

/// A client of a service over DDS.
pub(crate) struct DdsClient {
    service: String,
    writer: DataWriterCdr<Headed<Raw>>,
    mapping: ServiceMapping,
    waiting: Arc<Waiting>,
    requests: Matched,
    responses: Matched,
    entity: Entity,
}

impl DdsClient {
    /// With responses that are an entity of a reentrant group of its own: no callback can hold it.
    pub(crate) fn new(
        node: &DdsNode,
        mapping: ServiceMapping,
        group: &ReentrantGroup,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
        options: EntityOptions,
    ) -> Result<Self, Refused> {
        let responses_name = names::responses(service);
        let created = node.create(&responses_name, End::Readers, qos, |place| {
            let responses = place.topic(responses_name.clone(), names::dds_type(service_type, "_Response"))?;
            let requests = place.topic(names::requests(service), names::dds_type(service_type, "_Request"))?;
            let Place { node, participant, qos } = place;
            let dds_qos = QosPolicies::from(&qos);
            // The reader first: when a server sees the writer, it may answer.
            let matches = &participant.matches;
            let subscribe = || node.create_subscription(&responses, Some(qos));
            let reader = matches.register(subscribe, |subscription| subscription.guid())?;
            let publisher = participant.context.domain_participant().create_publisher(&dds_qos)?;
            let write = || publisher.create_datawriter_no_key(&requests, None);
            let writer = matches.register(write, |writer: &DataWriterCdr<_>| writer.guid())?;
            Ok((reader, writer))
        })?;
        let ((subscription, responses), (writer, requests)) = created;

        let waiting = Arc::new(Waiting::new());
        let reader = Responses { subscription, mapping, requester: requests.local(), waiting: Arc::clone(&waiting) };
        let finish = {
            let waiting = Arc::clone(&waiting);
            move |(number, response)| waiting.finish(number, response)
        };
        let source = Reader::new(reader, None);
        let entity = group.create_source(EntityKind::Client, options, source, finish).map_err(refused)?;
        Ok(Self { service: service.to_string(), writer, mapping, waiting, requests, responses, entity })
    }
}

impl DdsClient {
    fn send(&self, body: Raw) -> Call {
        let Self { service, writer, mapping, waiting, .. } = self;
        if self.count() == 0 {
            return Call::failed(CallError::Unavailable { service: service.clone() });
        }
        // The response must not come before its call is known.
        let mut calls = waiting.lock();
        if calls.closed {
            return Call::failed(CallError::ClientGone { service: service.clone() });
        }
        calls.last += 1;
        let header = match mapping {
            ServiceMapping::Enhanced => None,
            ServiceMapping::Cyclone => Some((half_of(self.requests.local()), calls.last)),
        };
        let sent = match writer.write_with_options(Headed { header, body }, WriteOptionsBuilder::new().build()) {
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
}

impl ClientEnd for DdsClient {
    fn call(&self, payload: Vec<u8>) -> Awaited<Result<Bytes, CallError>> {
        Box::pin(self.send(payload.into()))
    }

    fn unreadable(&self) -> u64 {
        self.entity.lost(LossCause::TakeFailed)
    }
}

impl Matches for DdsClient {
    /// Whether a server is matched both ways.
    fn count(&self) -> usize {
        self.requests.count().min(self.responses.count())
    }

    fn wait(&self) -> Awaited<()> {
        let (requests, responses) = (self.requests.wait(), self.responses.wait());
        Box::pin(async move {
            requests.await;
            responses.await;
        })
    }
}

impl Drop for DdsClient {
    fn drop(&mut self) {
        self.waiting.close();
    }
}

/// A call that was sent: a future of its response.
#[must_use = "the response is lost unless the call is awaited"]
struct Call(Outcome);

enum Outcome {
    Failed(CallError),
    Waiting { service: String, receiver: oneshot::Receiver<Bytes>, number: i64, waiting: Arc<Waiting> },
}

impl Call {
    const fn failed(error: CallError) -> Self {
        Self(Outcome::Failed(error))
    }
}

impl Future for Call {
    type Output = Result<Bytes, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Outcome::Failed(error) => Poll::Ready(Err(error.clone())),
            Outcome::Waiting { service, receiver, .. } => Pin::new(receiver)
                .poll(cx)
                .map_err(|oneshot::Canceled| CallError::ClientGone { service: service.clone() }),
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Outcome::Waiting { number, waiting, .. } = &self.0 {
            let forgotten = waiting.lock().senders.remove(number);
            drop(forgotten);
        }
    }
}
