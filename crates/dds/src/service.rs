//! Servers: requests as a source, and the ways of their responses.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rospin_engine::{Notifier, Pending, Source, TakeError};
use rospin_node::{FullName, Gid, Qos, Refused, ReplyEnd, RequestId, RequestInbox, RequestInlet, TypeName};

use crate::cdr::{self, DecodeError, Header};
use crate::cyclone::{Guid, Handle, Identity, Reader, Receive, Sample, Writer};
use crate::ends::{endpoint_data, entity_qos, keeps_all, refused};
use crate::feed::Feed;
use crate::form::{self, Form};
use crate::gaps::Gaps;
use crate::matches::{Bond, Ear, End};
use crate::names;
use crate::nodes::{DdsNode, Listed};
use crate::user_data::Pair;

/// Largest number of responses that wait for their clients to be matched. Beyond that, the oldest one is lost. Only the
/// first few responses to a client wait.
const OWED_MAX: usize = 64;

/// Largest number of them for one client.
const OWED_OF_ONE_MAX: usize = 8;

/// Time for which a response waits for its client to be matched.
const OWED_TIME: Duration = Duration::from_secs(10);

/// Number of requests that are kept where the quality of service has no limit, so that memory is bounded.
const KEEP_ALL: usize = 8192;

/// Request with its client.
struct Asked {
    sample: Sample,
    /// Writer of the client.
    requester: Handle,
    writer: Guid,
    /// Form of the client's requests, unless the request has an identity beside it. It is looked up on arrival, because
    /// the client may have gone when the request is taken.
    form: Form,
}

/// The receiver of requests.
struct Requests {
    delivery: RequestInlet<Asked>,
    gaps: Mutex<Gaps>,
    feed: Arc<Feed>,
}

impl Receive for Requests {
    fn arrived(&self, sample: Sample, requester: Handle, id: &Guid, _lifespan: Option<Duration>) {
        let missing = Gaps::before(&self.gaps, &sample, requester);
        // A writer that discovery does not know yet has the form of its vendor.
        let form = self.feed.peer(requester).map_or_else(|| form::of_vendor(id), |peer| peer.form());
        self.delivery.push(Asked { sample, requester, writer: *id, form }, missing);
    }
}

/// Writer of responses, with the responses that cannot be sent yet.
struct Responses {
    service: String,
    writer: Writer<Ear>,
    bond: Arc<Bond>,
    owed: Mutex<VecDeque<Owed>>,
    /// Number of responses that were lost while they waited.
    unsent: Arc<AtomicU64>,
}

/// Response on its way.
struct Response {
    bytes: Vec<u8>,
    /// Identity beside it; `None` if it begins with a header.
    identity: Option<Identity>,
    /// Writer of the client.
    requester: Handle,
}

impl Response {
    /// Returns the reader of the client, if the request named it.
    fn reader(&self) -> Option<&Guid> {
        let identity = self.identity.as_ref()?;
        if form::is_reader(&identity.guid) { Some(&identity.guid) } else { None }
    }
}

/// Response whose client cannot be reached yet: discovery finds the client's two ends at different times.
struct Owed {
    response: Response,
    since: Instant,
}

/// Adds a response to those that wait. Returns how many are lost for that: those that waited too long, and the oldest
/// one if there is no room, of the same client or of all.
fn keep(owed: &mut VecDeque<Owed>, response: Response) -> usize {
    let waiting = owed.len();
    owed.retain(|debt| debt.since.elapsed() <= OWED_TIME);
    let mut lost = waiting - owed.len();
    // A client that never becomes whole must not displace the responses to others.
    let is_same = |debt: &Owed| debt.response.requester == response.requester;
    let oldest = match owed.iter().filter(|debt| is_same(debt)).count() {
        OWED_OF_ONE_MAX.. => owed.iter().position(is_same),
        _ if owed.len() == OWED_MAX => Some(0),
        _ => None,
    };
    if let Some(oldest) = oldest {
        owed.remove(oldest);
        lost += 1;
    }
    owed.push_back(Owed { response, since: Instant::now() });
    lost
}

impl Responses {
    /// Sends a response, or keeps it until the client's reader is matched. Does nothing if the client has gone.
    fn send(&self, response: Response) -> Result<(), Refused> {
        // The response is queued under this lock: if the client's reader is matched meanwhile, it gets the response
        // afterwards.
        let mut owed = self.owed.lock().unwrap_or_else(PoisonError::into_inner);
        match self.bond.reaches(response.requester, response.reader()) {
            // The client has gone.
            None => return Ok(()),
            Some(true) => {}
            Some(false) => {
                let lost = keep(&mut owed, response);
                drop(owed);
                self.lose(lost, "discovery did not find all of its client in time, or too many waited for that");
                return Ok(());
            }
        }
        drop(owed);
        self.write(response).map_err(refused)
    }

    fn write(&self, mut response: Response) -> Result<(), crate::cyclone::Code> {
        match response.identity {
            Some(identity) => self.writer.write_related(&mut response.bytes, identity),
            None => self.writer.write(&mut response.bytes),
        }
    }

    /// Sends the waiting responses whose clients can be reached now.
    fn pay(&self) {
        let mut owed = self.owed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut due = Vec::new();
        let mut expired = 0;
        for debt in std::mem::take(&mut *owed) {
            match self.bond.reaches(debt.response.requester, debt.response.reader()) {
                Some(true) => due.push(debt.response),
                Some(false) if debt.since.elapsed() > OWED_TIME => expired += 1,
                Some(false) => owed.push_back(debt),
                None => {}
            }
        }
        drop(owed);
        self.lose(expired, "discovery did not find all of its client within 10 seconds");
        for response in due {
            if let Err(error) = self.write(response) {
                self.lose(1, &error.to_string());
            }
        }
    }

    /// Counts and logs so many responses that were lost while they waited.
    fn lose(&self, count: usize, reason: &str) {
        self.unsent.fetch_add(count as u64, Ordering::Relaxed);
        for _ in 0..count {
            log::warn!(target: "rospin", "service `{}`: a response is lost: {reason}", self.service);
        }
    }
}

/// Source of a service's requests.
pub(crate) struct DdsRequests {
    // Dropped before reader and writer, so that the server leaves the graph first.
    _listed: Listed,
    _reader: Reader<Ear>,
    inbox: RequestInbox<Asked>,
    responses: Arc<Responses>,
}

impl DdsRequests {
    pub(crate) fn new(
        node: &DdsNode,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
        unsent: &Arc<AtomicU64>,
    ) -> Result<Self, Refused> {
        let domain = &node.domain;
        let feed = node.domain.feed();
        let bond = Bond::of_service(format!("a server of service `{service}`"), feed, domain.watch());
        let user_data = endpoint_data(Some(&Pair::Server(domain.next_pair())), service_type);
        let (inbox, delivery) = RequestInbox::new(qos.depth().unwrap_or(KEEP_ALL));
        let qos = entity_qos(qos, &user_data);
        // The writer is created first, so that a client whose request arrives can be answered.
        let name = names::responses(service);
        let dds_type = names::dds_type(service_type, "_Response");
        let ear = Ear::new(&bond, End::SecondWriter);
        let writer = Writer::create(domain.participant(), &name, &dds_type, &keeps_all(&qos), &ear).map_err(refused)?;
        let name = names::requests(service);
        let dds_type = names::dds_type(service_type, "_Request");
        let ear = Ear::new(&bond, End::FirstReader);
        let requests = Requests { delivery, gaps: Mutex::default(), feed: Arc::clone(feed) };
        let reader = Reader::create(domain.participant(), &name, &dds_type, &qos, &ear, requests).map_err(refused)?;
        let listed = node.list(&[reader.guid()], &[writer.guid()]);
        let responses = Arc::new(Responses {
            service: service.to_string(),
            writer,
            bond,
            owed: Mutex::default(),
            unsent: Arc::clone(unsent),
        });
        let pays = Arc::downgrade(&responses);
        let watch = domain.watch();
        responses.bond.on_change(move || {
            if let Some(responses) = pays.upgrade() {
                responses.pay();
                watch.let_go(responses);
            }
        });
        Ok(Self { _listed: listed, _reader: reader, inbox, responses })
    }

    /// Returns the content of a request, and the way of its response.
    fn read(&self, asked: Asked) -> Result<(Bytes, DdsReply), DecodeError> {
        let Asked { sample, requester, writer, form } = asked;
        let responses = Arc::clone(&self.responses);
        if let Some(to) = identity_of(&sample, writer, form)? {
            let reply = DdsReply { responses, requester, writer, to: To::Identity(to) };
            return Ok((Bytes::from_owner(sample), reply));
        }
        let header = cdr::header(sample.bytes())?;
        let body = cdr::body(sample.bytes())?;
        Ok((body.into(), DdsReply { responses, requester, writer, to: To::Header(header) }))
    }
}

/// Returns the identity of the response to a request; `None` if the request begins with a header.
fn identity_of(request: &Sample, writer: Guid, form: Form) -> Result<Option<Identity>, DecodeError> {
    let beside = request.related();
    if beside.is_none() {
        if form != Form::Identity {
            return Ok(None);
        }
        // RustDDS can use headers without being Cyclone DDS. Its clients' number is half of the writer's id, as it is
        // in memory.
        let half = u64::from_le_bytes(std::array::from_fn(|at| writer[8 + at]));
        if cdr::header(request.bytes()).is_ok_and(|header| header.client == half) {
            return Ok(None);
        }
    }
    cdr::check(request.bytes())?;
    let number = request.number().and_then(|number| i64::try_from(number).ok());
    // A request within the process has no number of the network. Our clients write it beside the request.
    let number = number.or_else(|| beside.map(|identity| identity.number)).unwrap_or_default();
    Ok(Some(form::of_response(beside, writer, number)))
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
        let (request, reply) = self.read(asked).map_err(|error| TakeError::Failed(Box::new(error)))?;
        Ok(Some((request, Box::new(reply))))
    }

    fn pending(&self) -> Pending {
        self.inbox.pending()
    }
}

/// Way of a response to the client that sent the request.
pub(crate) struct DdsReply {
    responses: Arc<Responses>,
    /// Writer of the client.
    requester: Handle,
    /// Id of that writer.
    writer: Guid,
    to: To,
}

/// Mark by which the client recognizes the response.
enum To {
    Header(Header),
    Identity(Identity),
}

impl ReplyEnd for DdsReply {
    fn request_id(&self) -> RequestId {
        match &self.to {
            To::Identity(identity) => RequestId { client: Gid::new(identity.guid), number: identity.number },
            To::Header(header) => RequestId { client: Gid::new(self.writer), number: header.number },
        }
    }

    fn send(self: Box<Self>, mut payload: Vec<u8>) -> Result<(), Refused> {
        let Self { responses, requester, to, .. } = *self;
        let identity = match to {
            To::Identity(identity) => Some(identity),
            To::Header(header) => {
                cdr::insert(&mut payload, header);
                None
            }
        };
        responses.send(Response { bytes: payload, identity, requester })
    }

    fn refuse(self: Box<Self>, _reason: &str) {
        // DDS has no message for a refusal, so the client waits as long as it likes.
    }
}
