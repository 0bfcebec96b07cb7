//! Servers: requests as a source, and the ways of their responses.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rospin_engine::{Notifier, Pending, Source, TakeError};
use rospin_node::{Delivery, FullName, Inbox, Qos, Refused, ReplyEnd, TypeName};

use crate::cdr::{self, DecodeError, Header};
use crate::cyclone::{Guid, Handle, Reader, Receive, Sample, Writer};
use crate::ends::{endpoint_data, entity_qos, keeps_all, refused};
use crate::feed::{Feed, Peer};
use crate::gaps::Gaps;
use crate::matches::{Bond, Ear, End};
use crate::names;
use crate::nodes::{DdsNode, Listed};
use crate::user_data::Pair;
use crate::vendor::Vendor;

/// Largest number of responses that wait for their clients to be matched. Beyond that, the oldest one is lost. Only the first
/// few responses to a client wait.
const OWED_MAX: usize = 64;

/// Number of requests that are kept where the quality of service has no limit, so that memory is bounded.
const KEEP_ALL: usize = 8192;

/// Request with its client, which is looked up on arrival because it may have gone when the request is taken.
struct Asked {
    sample: Sample,
    requester: Handle,
    peer: Option<Arc<Peer>>,
}

/// The receiver of requests.
struct Requests {
    delivery: Delivery<Asked>,
    gaps: Mutex<Gaps>,
    feed: Arc<Feed>,
}

impl Receive for Requests {
    fn arrived(&self, sample: Sample, requester: Handle, _id: &Guid, _lifespan: Option<Duration>) {
        let missing = Gaps::before(&self.gaps, &sample, requester);
        self.delivery.push(Asked { sample, requester, peer: self.feed.peer(requester) }, missing);
    }
}

/// Writer of responses, with the responses that cannot be sent yet.
struct Responses {
    service: String,
    writer: Writer<Ear>,
    bond: Arc<Bond>,
    owed: Mutex<VecDeque<Owed>>,
}

/// Response whose client cannot be reached yet: discovery finds the client's two ends at different times.
struct Owed {
    requester: Handle,
    bytes: Vec<u8>,
}

impl Responses {
    /// Sends a response, or keeps it until the client's reader is matched. Does nothing if the client has gone.
    fn send(&self, requester: Handle, bytes: &mut Vec<u8>) -> Result<(), Refused> {
        // The response is queued under this lock: if the client's reader is matched meanwhile, it gets the response afterwards.
        let mut owed = self.owed.lock().unwrap_or_else(PoisonError::into_inner);
        match self.bond.reaches(requester) {
            // The client has gone.
            None => return Ok(()),
            Some(true) => {}
            Some(false) => {
                if owed.len() == OWED_MAX {
                    owed.pop_front();
                    let service = &self.service;
                    log::warn!(target: "rospin", "service `{service}`: the response to a client that is half there is lost");
                }
                owed.push_back(Owed { requester, bytes: std::mem::take(bytes) });
                return Ok(());
            }
        }
        drop(owed);
        self.writer.write(bytes).map_err(refused)
    }

    /// Sends the waiting responses whose clients can be reached now.
    fn pay(&self) {
        let mut owed = self.owed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut due = Vec::new();
        owed.retain_mut(|debt| match self.bond.reaches(debt.requester) {
            Some(false) => true,
            Some(true) => {
                due.push(std::mem::take(&mut debt.bytes));
                false
            }
            None => false,
        });
        drop(owed);
        for mut bytes in due {
            if let Err(error) = self.writer.write(&mut bytes) {
                let service = &self.service;
                log::warn!(target: "rospin", "service `{service}`: a response is lost: {error}");
            }
        }
    }
}

/// Source of a service's requests.
pub(crate) struct DdsRequests {
    // Dropped before reader and writer, so that the server leaves the graph first.
    _listed: Listed,
    _reader: Reader<Ear>,
    inbox: Inbox<Asked>,
    responses: Arc<Responses>,
}

/// Errors of an invalid request.
#[derive(Debug, thiserror::Error)]
enum RequestError {
    #[error(
        "a request to service `{service}` came from {vendor}, which does not say in it which one it is and from whom, as Cyclone \
         DDS does; start that process with `RMW_IMPLEMENTATION=rmw_cyclonedds_cpp`"
    )]
    Foreign { service: String, vendor: Vendor },
    #[error("a request to service `{service}` came from a client that nobody knows")]
    Unknown { service: String },
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

impl DdsRequests {
    pub(crate) fn new(node: &DdsNode, service: &FullName, service_type: &TypeName, qos: &Qos) -> Result<Self, Refused> {
        let (domain, feed) = (&node.domain, node.domain.feed());
        let bond = Bond::of_service(format!("a server of service `{service}`"), feed, domain.watch());
        let user_data = endpoint_data(Some(&Pair::Server(domain.next_pair())), service_type);
        let (inbox, delivery) = Inbox::new(qos.depth().unwrap_or(KEEP_ALL));
        let qos = entity_qos(qos, &user_data);
        // The writer is created first, so that a client whose request arrives can be answered.
        let (name, dds_type) = (names::responses(service), names::dds_type(service_type, "_Response"));
        let ear = Ear::new(&bond, End::Second);
        let writer = Writer::create(domain.participant(), &name, &dds_type, &keeps_all(&qos), &ear).map_err(refused)?;
        let (name, dds_type) = (names::requests(service), names::dds_type(service_type, "_Request"));
        let ear = Ear::new(&bond, End::FirstReader);
        let requests = Requests { delivery, gaps: Mutex::default(), feed: Arc::clone(feed) };
        let reader = Reader::create(domain.participant(), &name, &dds_type, &qos, &ear, requests).map_err(refused)?;
        let listed = node.list(&[reader.guid()], &[writer.guid()]);
        let responses = Responses { service: service.to_string(), writer, bond, owed: Mutex::default() };
        let responses = Arc::new(responses);
        let pays = Arc::downgrade(&responses);
        responses.bond.on_change(move || pays.upgrade().iter().for_each(|responses| responses.pay()));
        Ok(Self { _listed: listed, _reader: reader, inbox, responses })
    }

    /// Returns the header and the content of a request.
    fn read(&self, asked: &Asked) -> Result<(Header, Bytes), RequestError> {
        let service = || self.responses.service.clone();
        let peer = asked.peer.as_ref().ok_or_else(|| RequestError::Unknown { service: service() })?;
        let header = cdr::header(asked.sample.bytes())?;
        // RustDDS identifies the client by another number than Cyclone DDS: half of the writer's id, as it is in memory.
        let half = u64::from_le_bytes(std::array::from_fn(|at| peer.guid[8 + at]));
        if !peer.has_headers() && header.client != half {
            return Err(RequestError::Foreign { service: service(), vendor: Vendor::of(&peer.guid) });
        }
        Ok((header, cdr::body(asked.sample.bytes())?.into()))
    }
}

impl Source for DdsRequests {
    type Item = (Bytes, Box<dyn ReplyEnd>);
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.inbox.attach(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Self::Item>, TakeError> {
        let Some(asked) = self.inbox.pop() else { return Ok(None) };
        let (header, request) = self.read(&asked).map_err(|error| TakeError::Failed(Box::new(error)))?;
        let (responses, requester) = (Arc::clone(&self.responses), asked.requester);
        Ok(Some((request, Box::new(DdsReply { responses, header, requester }))))
    }

    fn pending(&self) -> Pending {
        self.inbox.pending()
    }
}

/// Way of a response to the client that sent the request.
pub(crate) struct DdsReply {
    responses: Arc<Responses>,
    header: Header,
    /// Writer of the client.
    requester: Handle,
}

impl ReplyEnd for DdsReply {
    fn send(self: Box<Self>, mut payload: Vec<u8>) -> Result<(), Refused> {
        let Self { responses, header, requester } = *self;
        cdr::insert(&mut payload, header);
        responses.send(requester, &mut payload)
    }

    fn refuse(self: Box<Self>, _reason: &str) {
        // DDS has no message for a refusal, so the client waits as long as it likes.
    }
}
