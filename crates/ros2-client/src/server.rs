//! Servers of services: a subscription for requests, and a writer for responses.
//!
//! ros2-client's own servers have no names for the services of actions.

use std::fmt;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use ros2_client::dds::rustdds::no_key::DataWriterCdr;
use ros2_client::dds::rustdds::rpc::SampleIdentity;
use ros2_client::dds::rustdds::{QosPolicies, SequenceNumber, WriteOptionsBuilder};
use ros2_client::request_id::RmwRequestId;
use ros2_client::{CreateError, MessageInfo, ReadError};
use rospin_node::{FullName, Qos, Refused, ReplyEnd, Service, TypeName};

use crate::domain::ServiceMapping;
use crate::gaps::Gaps;
use crate::headed::{Headed, HeadedSeed, Header};
use crate::names;
use crate::node::{DdsNode, refused};
use crate::participant::End;
use crate::reader::{Read, Reader, poll_sample};

type Responses<S> = DataWriterCdr<Headed<<S as Service>::Response>>;

/// The requests of a service.
pub struct DdsRequests<S: Service> {
    subscription: ros2_client::Subscription<Headed<S::Request>>,
    mapping: ServiceMapping,
    responses: Arc<Responses<S>>,
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

impl<S: Service> Read for DdsRequests<S> {
    type Item = (S::Request, DdsReply<S>);

    fn poll_read(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<Option<Self::Item>, ReadError>> {
        let sample = ready!(poll_sample(&self.subscription, HeadedSeed::new(self.mapping), cx));
        self.gaps.note(&sample);
        Poll::Ready(sample.map(|(Headed { header, body }, info)| {
            let responses = Arc::clone(&self.responses);
            Some((body, DdsReply { responses, header, request: identity(&info) }))
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
pub struct DdsReply<S: Service> {
    responses: Arc<Responses<S>>,
    header: Option<Header>,
    request: RmwRequestId,
}

impl<S: Service> ReplyEnd<S::Response> for DdsReply<S> {
    fn send(self, body: S::Response) -> Result<(), Refused> {
        let Self { responses, header, request } = self;
        let options = WriteOptionsBuilder::new().related_sample_identity(SampleIdentity::from(request)).build();
        let sent = responses.write_with_options(Headed { header, body }, options);
        sent.map(drop).map_err(|error| refused(error.forget_data()))
    }
}

impl<S: Service> fmt::Debug for DdsReply<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DdsReply").field("request", &self.request).finish_non_exhaustive()
    }
}

/// Serves.
pub(crate) fn serve<S: Service>(
    node: &DdsNode,
    mapping: ServiceMapping,
    service: &FullName,
    service_type: &TypeName,
    qos: &Qos,
) -> Result<Reader<DdsRequests<S>>, Refused> {
    let responses_name = names::responses(service);
    let (subscription, responses) = node.create(&responses_name, End::Writers, qos, |place| {
        let dds = place.participant.context.domain_participant();
        let requests = place.topic(names::requests(service), names::dds_type(service_type, "_Request"))?;
        let responses = place.topic(responses_name.clone(), names::dds_type(service_type, "_Response"))?;
        // The writer first: a client whose request comes can be answered.
        let publisher = dds.create_publisher(&QosPolicies::from(&place.qos))?;
        let writer = publisher.create_datawriter_no_key(&responses, None)?;
        let subscription = place.node.create_subscription(&requests, Some(place.qos))?;
        Ok::<_, CreateError>((subscription, writer))
    })?;
    // Requests to a predecessor are answered by nobody, rather than twice.
    let requests = DdsRequests { subscription, mapping, responses: Arc::new(responses), gaps: Gaps::default() };
    Ok(Reader::new(requests, qos.depth()).skip_old())
}
