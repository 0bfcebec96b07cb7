//! Clients: calls that can be awaited.
//!
//! A response goes straight to the future that awaits it, and is decoded there: no entity takes it, and no executor's thread is in
//! between.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_channel::oneshot;
use rospin_node::{Awaited, CallError, ClientEnd, FullName, Matches, Qos, Refused, TypeName};

use crate::cdr::{self, Header};
use crate::cyclone::{Handle, Reader, Receive, Sample, Writer};
use crate::ends::{endpoint_data, entity_qos, keeps_all, refused};
use crate::matches::{Bond, Ear, End};
use crate::names;
use crate::nodes::{DdsNode, Listed};
use crate::user_data::Pair;

/// The calls that wait for a response, by the number of their request.
#[derive(Default)]
struct Calls {
    waiting: Mutex<Waiting>,
    /// The number that marks requests as this client's, which servers send back. Responses that come before it is set are
    /// ignored.
    client: AtomicU64,
    /// The number of responses that could not be decoded.
    unreadable: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    last: i64,
    senders: BTreeMap<i64, oneshot::Sender<Sample>>,
    /// True if a server was matched after the last change.
    is_served: bool,
    /// There will be no more responses.
    is_closed: bool,
}

impl Calls {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Code under this lock leaves nothing half done, so a panic there does no harm.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A server is there, or none: what waits for one that has gone ends.
    fn served(&self, is_served: bool) {
        let mut waiting = self.lock();
        let was_served = std::mem::replace(&mut waiting.is_served, is_served);
        let ended = if was_served && !is_served { std::mem::take(&mut waiting.senders) } else { BTreeMap::new() };
        drop(waiting);
        drop(ended);
    }
}

impl Calls {
    /// Returns the reason that a call that was sent will have no response.
    fn ended(&self, service: String) -> CallError {
        if self.lock().is_closed {
            return CallError::ClientGone { service };
        }
        CallError::Unanswered { service, reason: "its last server has gone".to_owned() }
    }
}

/// The responses to all clients of the service come here.
struct Responses(Arc<Calls>);

impl Receive for Responses {
    fn arrived(&self, sample: Sample, _writer: Handle) {
        let Ok(Header { client, number }) = cdr::header(sample.bytes()) else {
            self.0.unreadable.fetch_add(1, Ordering::Relaxed);
            return;
        };
        if client != self.0.client.load(Ordering::Acquire) {
            return;
        }
        let sender = self.0.lock().senders.remove(&number);
        // Sending fails if the call was dropped meanwhile.
        if let Some(sender) = sender {
            let _ = sender.send(sample);
        }
    }
}

/// A client of a service over DDS.
pub(crate) struct DdsClient {
    service: String,
    // First out of the graph, then gone.
    _listed: Listed,
    writer: Writer<Ear>,
    _reader: Reader<Ear>,
    bond: Arc<Bond>,
    calls: Arc<Calls>,
}

impl DdsClient {
    pub(crate) fn new(node: &DdsNode, service: &FullName, service_type: &TypeName, qos: &Qos) -> Result<Self, Refused> {
        let domain = &node.domain;
        let bond = Bond::of_service(format!("a client of service `{service}`"), domain.feed(), domain.watch());
        let calls = Arc::<Calls>::default();
        let (followed, served) = (Arc::downgrade(&bond), Arc::downgrade(&calls));
        bond.on_change(move || {
            if let (Some(bond), Some(calls)) = (followed.upgrade(), served.upgrade()) {
                calls.served(bond.count() > 0);
            }
        });
        let user_data = endpoint_data(Some(&Pair::Client(domain.next_pair())), service_type);
        let qos = entity_qos(qos, &user_data);
        // The reader first: when a server sees the writer, it may answer.
        let (name, dds_type) = (names::responses(service), names::dds_type(service_type, "_Response"));
        let (ear, responses) = (Ear::new(&bond, End::Second), Responses(Arc::clone(&calls)));
        let reader = Reader::create(domain.participant(), &name, &dds_type, &qos, &ear, responses).map_err(refused)?;
        let (name, dds_type) = (names::requests(service), names::dds_type(service_type, "_Request"));
        let ear = Ear::new(&bond, End::FirstWriter);
        let writer = Writer::create(domain.participant(), &name, &dds_type, &keeps_all(&qos), &ear).map_err(refused)?;
        bond.writes(writer.probe());
        calls.client.store(writer.handle(), Ordering::Release);
        let listed = node.list(&[reader.guid()], &[writer.guid()]);
        Ok(Self { service: service.to_string(), _listed: listed, writer, _reader: reader, bond, calls })
    }

    fn send(&self, mut payload: Vec<u8>) -> Result<(i64, oneshot::Receiver<Sample>), CallError> {
        if self.count() == 0 {
            return Err(CallError::Unavailable { service: self.service.clone() });
        }
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.calls.lock();
        waiting.last += 1;
        let number = waiting.last;
        // The response must not come before its call is known.
        waiting.senders.insert(number, sender);
        drop(waiting);
        let header = Header { client: self.writer.handle(), number };
        cdr::insert(&mut payload, header);
        if let Err(code) = self.writer.write(&mut payload) {
            self.calls.lock().senders.remove(&number);
            return Err(CallError::NotSent { service: self.service.clone(), reason: code.to_string() });
        }
        if self.count() == 0 {
            // The last server went meanwhile, and whoever ended the calls may not have seen this one.
            self.calls.lock().senders.remove(&number);
        }
        Ok((number, receiver))
    }
}

impl ClientEnd for DdsClient {
    fn call(&self, payload: Vec<u8>) -> Awaited<Result<Bytes, CallError>> {
        let state = match self.send(payload) {
            Ok((number, receiver)) => CallState::Sent { number, receiver },
            Err(error) => CallState::Failed(Some(error)),
        };
        Box::pin(DdsCall { service: self.service.clone(), state, calls: Arc::clone(&self.calls) })
    }

    fn unreadable(&self) -> u64 {
        self.calls.unreadable.load(Ordering::Relaxed)
    }
}

impl Matches for DdsClient {
    /// Returns the number of servers that are matched both ways.
    fn count(&self) -> usize {
        self.bond.count()
    }

    fn wait(&self) -> Awaited<()> {
        Box::pin(self.bond.wait())
    }
}

impl Drop for DdsClient {
    fn drop(&mut self) {
        let mut waiting = self.calls.lock();
        waiting.is_closed = true;
        let ended = std::mem::take(&mut waiting.senders);
        drop(waiting);
        drop(ended);
    }
}

/// A call under way. The response is decoded where it is awaited.
struct DdsCall {
    service: String,
    state: CallState,
    calls: Arc<Calls>,
}

enum CallState {
    Sent { number: i64, receiver: oneshot::Receiver<Sample> },
    Failed(Option<CallError>),
}

impl Future for DdsCall {
    type Output = Result<Bytes, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let received = match &mut self.state {
            CallState::Failed(error) => {
                return error.take().map_or(Poll::Pending, |error| Poll::Ready(Err(error)));
            }
            CallState::Sent { receiver, .. } => ready!(Pin::new(receiver).poll(cx)),
        };
        let service = self.service.clone();
        let Ok(sample) = received else { return Poll::Ready(Err(self.calls.ended(service))) };
        Poll::Ready(match cdr::body(sample.bytes()) {
            Ok(body) => Ok(body.into()),
            Err(error) => Err(CallError::Unanswered { service, reason: error.to_string() }),
        })
    }
}

impl Drop for DdsCall {
    fn drop(&mut self) {
        if let CallState::Sent { number, .. } = &self.state {
            let forgotten = self.calls.lock().senders.remove(number);
            drop(forgotten);
        }
    }
}
