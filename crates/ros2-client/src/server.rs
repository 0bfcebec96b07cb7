//! Servers of services: a subscription for requests, and a writer for responses.
//!
//! ros2-client's own servers have no names for the services of actions.

use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use bytes::Bytes;
use ros2_client::dds::rustdds::no_key::DataWriterCdr;
use ros2_client::dds::rustdds::rpc::SampleIdentity;
use ros2_client::dds::rustdds::{GUID, QosPolicies, RTPSEntity, SequenceNumber, WriteOptionsBuilder};
use ros2_client::request_id::RmwRequestId;
use ros2_client::{CreateError, MessageInfo, ReadError};
use rospin_node::{FullName, Qos, Refused, ReplyEnd, TypeName};

use crate::domain::ServiceMapping;
use crate::gaps::Gaps;
use crate::headed::{Headed, HeadedSeed, Header};
use crate::matches::Matched;
use crate::names;
use crate::node::{DdsNode, refused};
use crate::owed::{Debt, ServerEnds};
use crate::participant::End;
use crate::raw::Raw;
use crate::reader::{Read, Reader, poll_sample};

type Writer = DataWriterCdr<Headed<Raw>>;

/// Where responses go.
struct Responses {
    writer: Writer,
    /// Whom responses reach, and whose requests come.
    readers: Matched,
    writers: Matched,
}

impl Responses {
    fn send(&self, header: Option<Header>, body: Raw, request: RmwRequestId) -> Result<(), Refused> {
        let options = WriteOptionsBuilder::new().related_sample_identity(SampleIdentity::from(request)).build();
        let sent = self.writer.write_with_options(Headed { header, body }, options);
        sent.map(drop).map_err(|error| refused(error.forget_data()))
    }

    const fn ends(&self) -> ServerEnds {
        ServerEnds { requests: self.writers.local(), responses: self.readers.local() }
    }
}

/// The requests of a service.
pub(crate) struct DdsRequests {
    subscription: ros2_client::Subscription<Headed<Raw>>,
    mapping: ServiceMapping,
    responses: Arc<Responses>,
    gaps: Gaps,
}

/// What a response must name for its client to know it.
fn identity(info: &MessageInfo) -> RmwRequestId {
    let itself = RmwRequestId { writer_gid: info.publisher_gid(), sequence_number: info.sequence_number() };
    match info.related_request_id() {
        None => itself,
        // Fast DDS names the reader that waits for the response, and leaves the number out.
        Some(related) if related.sequence_number == i64::from(SequenceNumber::UNKNOWN) => {
            RmwRequestId { sequence_number: itself.sequence_number, ..related }
        }
        Some(related) => related,
    }
}

impl Read for DdsRequests {
    type Item = (Bytes, Box<dyn ReplyEnd>);

    fn poll_read(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<Option<Self::Item>, ReadError>> {
        let sample = ready!(poll_sample(&self.subscription, HeadedSeed::new(self.mapping), cx));
        self.gaps.note(&sample);
        Poll::Ready(sample.map(|(Headed { header, body }, info)| {
            let responses = Arc::clone(&self.responses);
            let requester = GUID::from(info.publisher_gid());
            let reply = DdsReply { responses, header, requester, request: identity(&info) };
            Some((body.0, Box::new(reply) as Box<dyn ReplyEnd>))
        }))
    }

    fn forget(&mut self) {
        self.gaps = Gaps::default();
    }

    fn missed(&mut self) -> u64 {
        self.gaps.take()
    }
}

/// Where the response to a request goes.
pub(crate) struct DdsReply {
    responses: Arc<Responses>,
    header: Option<Header>,
    /// The client's writer.
    requester: GUID,
    request: RmwRequestId,
}

impl ReplyEnd for DdsReply {
    fn send(self: Box<Self>, payload: Vec<u8>) -> Result<(), Refused> {
        let Self { responses, header, requester, request } = *self;
        let body = Raw::from(payload);
        let (matches, ends) = (responses.readers.all(), responses.ends());
        if !matches.know(ends, requester) {
            let (later, again) = (Arc::downgrade(&responses), body.clone());
            let pay = Box::new(move || {
                // Nobody can be told: the callback that answered has returned.
                let _ = later.upgrade().map(|responses| responses.send(header, again, request));
            });
            matches.owe(Debt { ends, requester, pay });
        }
        responses.send(header, body, request)
    }

    fn refuse(self: Box<Self>, _reason: &str) {
        // DDS has no word for it: the client waits for as long as it likes.
    }
}

/// Serves.
pub(crate) fn serve(
    node: &DdsNode,
    mapping: ServiceMapping,
    service: &FullName,
    service_type: &TypeName,
    qos: &Qos,
) -> Result<Reader<DdsRequests>, Refused> {
    let responses_name = names::responses(service);
    let (subscription, responses) = node.create(&responses_name, End::Writers, qos, |place| {
        let (dds, matches) = (place.participant.context.domain_participant(), &place.participant.matches);
        let requests = place.topic(names::requests(service), names::dds_type(service_type, "_Request"))?;
        let responses = place.topic(responses_name.clone(), names::dds_type(service_type, "_Response"))?;
        // The writer first: a client whose request comes can be answered.
        let publisher = dds.create_publisher(&QosPolicies::from(&place.qos))?;
        let write = || publisher.create_datawriter_no_key(&responses, None);
        let (writer, readers) = matches.register(write, |writer: &Writer| writer.guid())?;
        let subscribe = || place.node.create_subscription(&requests, Some(place.qos));
        let (subscription, writers) = matches.register(subscribe, |subscription| subscription.guid())?;
        Ok::<_, CreateError>((subscription, Responses { writer, readers, writers }))
    })?;
    // Requests to a predecessor are answered by nobody, rather than twice.
    let requests = DdsRequests { subscription, mapping, responses: Arc::new(responses), gaps: Gaps::default() };
    Ok(Reader::new(requests, qos.depth()).skip_old())
}
