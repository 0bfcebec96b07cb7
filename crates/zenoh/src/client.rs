//! Clients: calls that can be awaited.
//!
//! Zenoh gives every call a query of its own, and reports its end. Its response needs neither a queue nor a filter: it
//! goes to the future that awaits it, and is decoded there.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_channel::oneshot;
use rospin_node::{
    Awaited, CallError, Calls, ClientEnd, EndpointKind, FullName, Gid, Matches, Qos, Refused, RequestId, SentRequest,
    TypeKind, TypeName,
};
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::liveliness::LivelinessToken;
use zenoh::query::{ConsolidationMode, QueryTarget, Reply};

use crate::attachment::Attachment;
use crate::grace::Grace;
use crate::matches::Matched;
use crate::names::{Endpoint, ZenohNode};
use crate::payload::contiguous;
use crate::session::Session;

/// Timeout that never passes, the same as in rmw_zenoh_cpp.
const FOREVER: Duration = Duration::from_millis(u64::MAX);

/// Payload of a response, or the reason for which there is none.
type Outcome = Result<ZBytes, String>;

/// Client of a service.
pub(crate) struct ZenohClient {
    service: String,
    session: Session,
    endpoint: Endpoint,
    timeout: Duration,
    calls: Arc<Calls<Outcome>>,
    _token: LivelinessToken,
    matched: Arc<Matched>,
}

impl ZenohClient {
    pub(crate) fn new(
        node: &ZenohNode,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<Self, Refused> {
        let session = node.session.clone();
        let endpoint = Endpoint::new(node, EndpointKind::Client, service, service_type, qos)?;
        let calls = Arc::<Calls<Outcome>>::default();
        let followed = Arc::downgrade(&calls);
        let grace = Arc::clone(session.grace());
        let matched = Matched::observe(&session, &endpoint, move |key, came| note(&followed, &grace, key, came));
        let token = endpoint.announce(&session)?;
        // The result of an action may take any time. There is one such call for each goal, and Zenoh keeps little
        // memory for each.
        let timeout = if service_type.kind == TypeKind::Action { FOREVER } else { session.call_timeout() };
        let service = service.to_string();
        let matched = Arc::new(matched);
        Ok(Self { service, session, endpoint, timeout, calls, _token: token, matched })
    }

    /// Sends a request. Returns its number, and a receiver of its response.
    fn send(&self, payload: Vec<u8>) -> Result<(i64, oneshot::Receiver<Outcome>), CallError> {
        let (number, receiver) = self.calls.begin();
        if self.calls.server_count() == 0 {
            self.calls.forget(number);
            return Err(CallError::Unavailable { service: self.service.clone() });
        }
        let query = Query { calls: Arc::clone(&self.calls), number, refusal: Mutex::default() };
        let get = self.session.zenoh().get(&self.endpoint.key).payload(payload);
        let get = get.attachment(Attachment::now(number, self.endpoint.gid).encode()).timeout(self.timeout);
        let get = get.target(QueryTarget::AllComplete).consolidation(ConsolidationMode::None);
        get.callback(move |reply| query.hear(reply))
            .wait()
            .map_err(|error| CallError::NotSent { service: self.service.clone(), reason: error.to_string() })?;
        Ok((number, receiver))
    }
}

/// Notes that a server's token appeared or disappeared. Zenoh's threads call it, or the one that creates the client.
fn note(calls: &Weak<Calls<Outcome>>, grace: &Arc<Grace>, key: &str, came: bool) {
    let Some(live) = calls.upgrade() else { return };
    let id = key.as_bytes();
    if came {
        live.server_came(id);
        return;
    }
    // Zenoh 1.10 ends the queries that a session has received when the session dies, except for a query that is routed
    // to it at that very moment. That one would wait for its timeout.
    if let Some(number) = live.server_went(id) {
        let calls = Weak::clone(calls);
        grace.then(move || _ = calls.upgrade().map(|calls| calls.end_until(number)));
    }
}

/// Zenoh's side of a call, which lives until Zenoh has ended its query.
struct Query {
    calls: Arc<Calls<Outcome>>,
    number: i64,
    /// Reason that the last refusing server gave.
    refusal: Mutex<Option<String>>,
}

impl Query {
    /// Handles the answer of a server. The first response counts; a service should have one server.
    fn hear(&self, reply: Reply) {
        match reply.into_result() {
            Ok(sample) => self.calls.respond(self.number, Ok(sample.payload().clone())),
            Err(error) => {
                // Another server may still answer the call.
                let reason = error.payload().try_to_string().map_or_else(|_| "an error".to_owned(), Into::into);
                *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
            }
        }
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        let refusal = self.refusal.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let silence = || "it ended, its callback panicked, or newer requests displaced this one".to_owned();
        self.calls.respond(self.number, Err(refusal.unwrap_or_else(silence)));
    }
}

impl ClientEnd for ZenohClient {
    fn call(&self, payload: Vec<u8>) -> Result<SentRequest, CallError> {
        let (number, receiver) = self.send(payload)?;
        let service = self.service.clone();
        let calls = Arc::clone(&self.calls);
        let matched = Arc::clone(&self.matched);
        let response = Box::pin(ZenohCall { service, number, receiver, calls, _matched: matched });
        Ok(SentRequest { id: RequestId { client: Gid::new(self.endpoint.gid), number }, response })
    }

    fn unreadable(&self) -> u64 {
        0
    }
}

impl Matches for ZenohClient {
    fn count(&self) -> usize {
        self.matched.count()
    }

    fn wait(&self) -> Awaited<()> {
        self.matched.wait()
    }
}

/// Call that waits for its response.
struct ZenohCall {
    service: String,
    number: i64,
    receiver: oneshot::Receiver<Outcome>,
    calls: Arc<Calls<Outcome>>,
    /// Matches, which report the end of the servers even if the client was dropped meanwhile.
    _matched: Arc<Matched>,
}

impl Future for ZenohCall {
    type Output = Result<Bytes, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = ready!(Pin::new(&mut self.receiver).poll(cx));
        let outcome = outcome.unwrap_or_else(|_| Err("its servers have gone".to_owned()));
        Poll::Ready(match outcome {
            Ok(payload) => Ok(contiguous(payload)),
            Err(reason) => Err(CallError::Unanswered { service: self.service.clone(), reason }),
        })
    }
}

impl Drop for ZenohCall {
    fn drop(&mut self) {
        self.calls.forget(self.number);
    }
}
