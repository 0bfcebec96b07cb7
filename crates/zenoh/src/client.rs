//! Clients: calls that can be awaited.

use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_channel::oneshot;
use hiroz_protocol::EndpointKind;
use rospin_node::{Awaited, CallError, ClientEnd, FullName, Matches, Qos, Refused, TypeKind, TypeName};
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::liveliness::LivelinessToken;
use zenoh::query::{ConsolidationMode, QueryTarget, Reply};

use crate::attachment::Attachment;
use crate::matches::Matched;
use crate::names::{Endpoint, ZenohNode};
use crate::payload::contiguous;
use crate::session::Session;

/// What stands for no timeout, here as in rmw_zenoh_cpp.
const FOREVER: Duration = Duration::from_millis(u64::MAX);

/// A client of a service.
pub(crate) struct ZenohClient {
    service: String,
    session: Session,
    endpoint: Endpoint,
    timeout: Duration,
    last: AtomicI64,
    _token: LivelinessToken,
    matched: Matched,
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
        let matched = Matched::follow(&session, &endpoint)?;
        let token = endpoint.announce(&session)?;
        // The result of an action may take any time, and there is one a goal: what Zenoh remembers of it is little.
        let timeout = if service_type.kind == TypeKind::Action { FOREVER } else { session.call_timeout() };
        Ok(Self {
            service: service.to_string(),
            session,
            endpoint,
            timeout,
            last: AtomicI64::new(0),
            _token: token,
            matched,
        })
    }

    fn send(&self, payload: Vec<u8>) -> Result<oneshot::Receiver<Outcome>, CallError> {
        if self.matched.count() == 0 {
            return Err(CallError::Unavailable { service: self.service.clone() });
        }
        let not_sent = |reason| CallError::NotSent { service: self.service.clone(), reason };
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, receiver) = oneshot::channel();
        let awaited = Answer(Mutex::new(Some(sender)), Mutex::new(None));
        let get = self.session.zenoh().get(&self.endpoint.key).payload(payload);
        let get = get.attachment(Attachment::now(number, self.endpoint.gid).encode()).timeout(self.timeout);
        let get = get.target(QueryTarget::AllComplete).consolidation(ConsolidationMode::None);
        get.callback(move |reply| awaited.hear(reply)).wait().map_err(|error| not_sent(error.to_string()))?;
        Ok(receiver)
    }
}

/// The payload of the response, or why there is none.
type Outcome = Result<ZBytes, String>;

/// A call on Zenoh's side: it lives until its query has ended.
struct Answer(Mutex<Option<oneshot::Sender<Outcome>>>, Mutex<Option<String>>);

impl Answer {
    /// A server has answered. The first one is heard; of a service there should be one.
    fn hear(&self, reply: Reply) {
        match reply.into_result() {
            Ok(sample) => self.end(Ok(sample.payload().clone())),
            Err(error) => {
                // Another server may still answer.
                let reason = error.payload().try_to_string().map_or_else(|_| "an error".to_owned(), Into::into);
                *self.1.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
            }
        }
    }

    fn end(&self, outcome: Outcome) {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Whoever called may have given it up.
        sender.into_iter().for_each(|sender| _ = sender.send(outcome.clone()));
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let reason = self.1.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let silence = || "it ended, its callback panicked, or newer requests displaced this one".to_owned();
        self.end(Err(reason.unwrap_or_else(silence)));
    }
}

impl ClientEnd for ZenohClient {
    fn call(&self, payload: Vec<u8>) -> Awaited<Result<Bytes, CallError>> {
        let state = match self.send(payload) {
            Ok(receiver) => CallState::Sent(receiver),
            Err(error) => CallState::Failed(Some(error)),
        };
        Box::pin(ZenohCall { service: self.service.clone(), state })
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

/// A call under way. The response is decoded where it is awaited.
struct ZenohCall {
    service: String,
    state: CallState,
}

enum CallState {
    Sent(oneshot::Receiver<Outcome>),
    Failed(Option<CallError>),
}

impl Future for ZenohCall {
    type Output = Result<Bytes, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = match &mut self.state {
            CallState::Failed(error) => {
                return error.take().map_or(Poll::Pending, |error| Poll::Ready(Err(error)));
            }
            CallState::Sent(receiver) => ready!(Pin::new(receiver).poll(cx)),
        };
        let unanswered = |reason| CallError::Unanswered { service: self.service.clone(), reason };
        let payload = outcome.unwrap_or_else(|_| Err("the session ended".to_owned())).map_err(unanswered)?;
        Poll::Ready(Ok(contiguous(payload)))
    }
}
