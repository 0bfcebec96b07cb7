//! Clients: calls that can be awaited.
//!
//! A response goes straight to the future that awaits it, and is decoded there, without an entity and without an
//! executor's thread.

use std::pin::Pin;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_channel::oneshot;
use rospin_node::{
    Awaited, CallError, Calls, ClientEnd, FullName, Gid, Matches, Qos, Refused, RequestId, SentRequest, TypeName,
};

use crate::cdr::{self, Header};
use crate::cyclone::{Guid, Handle, Identity, Reader, Receive, Sample, Writer};
use crate::ends::{endpoint_data, entity_qos, keeps_all, refused};
use crate::form::Form;
use crate::matches::{Bond, Ear, End};
use crate::names;
use crate::nodes::{DdsNode, Listed};
use crate::user_data::Pair;

/// State of a client: its calls, and the number by which it recognizes its responses.
#[derive(Default)]
struct State {
    calls: Calls<Sample>,
    /// Marks of this client's requests. Responses are ignored until they are known.
    marks: OnceLock<Marks>,
    /// Number of the newest call whose servers have all gone, as those of all earlier ones have. Zero once those calls
    /// have ended.
    orphan: AtomicI64,
    /// Number of responses that could not be decoded.
    unreadable: AtomicU64,
}

/// Marks by which a client recognizes responses to its requests, in each form.
#[derive(Clone, Copy)]
struct Marks {
    /// Number of the client in the headers of its requests.
    header: Handle,
    /// Reader of responses, which requests with an identity name.
    reader: Guid,
    /// Writer of requests, which servers name that do not know of the reader's name.
    writer: Guid,
}

impl Marks {
    /// Returns the number of the call that the response belongs to; `None` if it is for another client.
    fn call_of(&self, response: &Sample) -> Result<Option<i64>, cdr::DecodeError> {
        if let Some(Identity { guid, number }) = response.related() {
            let is_own = guid == self.reader || guid == self.writer;
            return if is_own { Ok(Some(number)) } else { Ok(None) };
        }
        let Header { client, number } = cdr::header(response.bytes())?;
        if client == self.header { Ok(Some(number)) } else { Ok(None) }
    }
}

impl State {
    /// Notes that a server came or went, by the id of its reader of requests. A request is sent to all that are there,
    /// and to nobody who comes later.
    fn server(&self, id: &Guid, came: bool) {
        if came {
            self.calls.server_came(id);
        } else if let Some(number) = self.calls.server_went(id) {
            self.orphan.fetch_max(number, Ordering::AcqRel);
        }
    }

    /// Ends the calls whose servers have all gone, which wakes the tasks that wait for them.
    fn end_orphans(&self) {
        let number = self.orphan.swap(0, Ordering::AcqRel);
        if number > 0 {
            self.calls.end_until(number);
        }
    }

    /// Returns the reason why a call that was sent will have no response.
    fn ended(&self, service: String) -> CallError {
        if self.calls.is_closed() {
            return CallError::ClientGone { service };
        }
        CallError::Unanswered { service, reason: "its servers have gone".to_owned() }
    }
}

/// Receiver of the responses to all clients of the service.
struct Responses(Arc<State>);

impl Receive for Responses {
    fn arrived(&self, sample: Sample, _writer: Handle, _id: &Guid, _lifespan: Option<Duration>) {
        let Some(marks) = self.0.marks.get() else { return };
        match marks.call_of(&sample) {
            Ok(Some(number)) => self.0.calls.respond(number, sample),
            Ok(None) => {}
            Err(_) => _ = self.0.unreadable.fetch_add(1, Ordering::Relaxed),
        }
    }
}

/// Client of a service over DDS.
pub(crate) struct DdsClient {
    service: String,
    // Dropped before reader and writer, so that the client leaves the graph first.
    _listed: Listed,
    writer: Writer<Ear>,
    _reader: Reader<Ear>,
    /// Held while a request is sent, because its call must begin before, under the number that the request will have.
    sending: Mutex<()>,
    marks: Marks,
    bond: Arc<Bond>,
    state: Arc<State>,
}

impl DdsClient {
    pub(crate) fn new(node: &DdsNode, service: &FullName, service_type: &TypeName, qos: &Qos) -> Result<Self, Refused> {
        let domain = &node.domain;
        let bond = Bond::of_service(format!("a client of service `{service}`"), domain.feed(), domain.watch());
        let state = Arc::<State>::default();
        let followed = Arc::downgrade(&bond);
        let served = Arc::downgrade(&state);
        let feed = Arc::clone(domain.feed());
        let name = service.to_string();
        let noted = Arc::clone(&state);
        bond.on_pair(move |server, came| noted.server(server, came));
        bond.on_change(move || {
            if let (Some(bond), Some(state)) = (followed.upgrade(), served.upgrade()) {
                state.end_orphans();
                if bond.form() == Form::Both {
                    feed.tell(&format!("service `{name}` is not called: {BOTH_FORMS}"));
                }
            }
        });
        let user_data = endpoint_data(Some(&Pair::Client(domain.next_pair())), service_type);
        let qos = entity_qos(qos, &user_data);
        // The reader is created first, because a server may answer as soon as it sees the writer.
        let name = names::responses(service);
        let dds_type = names::dds_type(service_type, "_Response");
        let ear = Ear::new(&bond, End::SecondReader);
        let responses = Responses(Arc::clone(&state));
        let reader = Reader::create(domain.participant(), &name, &dds_type, &qos, &ear, responses).map_err(refused)?;
        let name = names::requests(service);
        let dds_type = names::dds_type(service_type, "_Request");
        let ear = Ear::new(&bond, End::FirstWriter);
        let writer = Writer::create(domain.participant(), &name, &dds_type, &keeps_all(&qos), &ear).map_err(refused)?;
        bond.reads(reader.probe());
        bond.writes(writer.probe());
        let marks = Marks { header: writer.handle(), reader: reader.guid(), writer: writer.guid() };
        let _ = state.marks.set(marks);
        let listed = node.list(&[reader.guid()], &[writer.guid()]);
        let sending = Mutex::default();
        Ok(Self { service: service.to_string(), _listed: listed, writer, _reader: reader, sending, marks, bond, state })
    }

    /// Sends a request. Returns its id, and the receiver of its response, which is dropped if none will come.
    fn send(&self, mut payload: Vec<u8>) -> Result<(RequestId, oneshot::Receiver<Sample>), CallError> {
        let unavailable = || CallError::Unavailable { service: self.service.clone() };
        if self.count() == 0 {
            return Err(unavailable());
        }
        let form = self.bond.form();
        if form == Form::Both {
            return Err(CallError::NotSent { service: self.service.clone(), reason: BOTH_FORMS.to_owned() });
        }
        // The library, too, sends one message of a writer at a time.
        let sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.writer.next_number();
        // From now on the end of the servers that are matched ends the call.
        let Some(receiver) = self.bond.if_matched(|| self.state.calls.begin_as(number)) else {
            return Err(unavailable());
        };
        let sent = if form == Form::Identity {
            self.writer.write_related(&mut payload, Identity { guid: self.marks.reader, number })
        } else {
            cdr::insert(&mut payload, Header { client: self.marks.header, number });
            self.writer.write(&mut payload)
        };
        if sent.is_err() {
            // Under the lock, because the next request has the same number.
            self.state.calls.forget(number);
        }
        drop(sending);
        if let Err(code) = sent {
            return Err(CallError::NotSent { service: self.service.clone(), reason: code.to_string() });
        }
        // Those who watch the service have the same id from a server: of the reader where the request names it, else of
        // the writer.
        let client = if form == Form::Identity { self.marks.reader } else { self.marks.writer };
        Ok((RequestId { client: Gid::new(client), number }, receiver))
    }
}

/// Reason for which a service is not called whose servers read requests of different forms.
const BOTH_FORMS: &str = "it has servers on Cyclone DDS and on another DDS, and each kind would execute a request of \
                          the other one's form as another request; stop one kind, or start both with the same \
                          `RMW_IMPLEMENTATION`";

impl ClientEnd for DdsClient {
    fn call(&self, payload: Vec<u8>) -> Result<SentRequest, CallError> {
        let (id, receiver) = self.send(payload)?;
        let (service, client) = (self.service.clone(), Arc::clone(&self.state));
        let response = Box::pin(DdsCall { service, number: id.number, receiver, client });
        Ok(SentRequest { id, response })
    }

    fn unreadable(&self) -> u64 {
        self.state.unreadable.load(Ordering::Relaxed)
    }
}

impl Matches for DdsClient {
    /// Returns the number of servers whose reader and writer are both matched.
    fn count(&self) -> usize {
        self.bond.count()
    }

    fn wait(&self) -> Awaited<()> {
        Box::pin(self.bond.wait())
    }
}

impl Drop for DdsClient {
    fn drop(&mut self) {
        self.state.calls.close();
    }
}

/// Call that waits for its response, which is decoded by the task that awaits it.
struct DdsCall {
    service: String,
    number: i64,
    receiver: oneshot::Receiver<Sample>,
    client: Arc<State>,
}

impl Future for DdsCall {
    type Output = Result<Bytes, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let received = ready!(Pin::new(&mut self.receiver).poll(cx));
        let service = self.service.clone();
        let Ok(sample) = received else { return Poll::Ready(Err(self.client.ended(service))) };
        if sample.related().is_some() {
            return Poll::Ready(Ok(Bytes::from_owner(sample)));
        }
        Poll::Ready(match cdr::body(sample.bytes()) {
            Ok(body) => Ok(body.into()),
            Err(error) => Err(CallError::Unanswered { service, reason: error.to_string() }),
        })
    }
}

impl Drop for DdsCall {
    fn drop(&mut self) {
        self.client.calls.forget(self.number);
    }
}
