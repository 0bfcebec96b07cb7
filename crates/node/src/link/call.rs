//! The client's end of a service.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::task::{self, Poll, ready};

use bytes::Bytes;
use rospin_engine::Context;
use rospin_wire::cdr::{from_shared_payload, to_payload};
use serde::de::DeserializeOwned;

use super::doors::Doors;
use super::refused;
use super::service::Asked;
use crate::error::CallError;
use crate::error::Refused;
use crate::info::{Gid, RequestId};
use crate::matches::{Awaited, Matches};
use crate::message::ServiceInterface;
use crate::middleware::{ClientEnd, SentRequest};
use crate::names::FullName;

/// Ids of the requests of a client whose servers are in this process.
pub(super) struct Numbers {
    client: Gid,
    last: AtomicI64,
}

impl Numbers {
    pub(super) fn new() -> Self {
        Self { client: Gid::random(), last: AtomicI64::new(0) }
    }

    /// Returns the id of the next request.
    pub(super) fn next(&self) -> RequestId {
        RequestId { client: self.client, number: self.last.fetch_add(1, Ordering::Relaxed) + 1 }
    }
}

/// The link of a client to the servers of its service.
pub(crate) struct ClientLink<S: ServiceInterface> {
    service: Arc<str>,
    end: End<S>,
}

enum End<S: ServiceInterface> {
    InProcess {
        client: rospin_engine::Client<Asked<S::Request>, S::Response>,
        numbers: Numbers,
        /// The way to a dynamic server.
        doors: Arc<Doors>,
        undecodable: Arc<AtomicU64>,
    },
    Network {
        end: Box<dyn ClientEnd>,
        undecodable: Arc<AtomicU64>,
    },
}

impl<S: ServiceInterface> ClientLink<S> {
    pub(super) fn in_process(context: &Context, service: &FullName) -> Result<Self, Refused> {
        let client = context.create_local_client(service.as_str()).map_err(refused)?;
        let (numbers, doors, undecodable) = (Numbers::new(), context.shared(), Arc::default());
        let end = End::InProcess { client, numbers, doors, undecodable };
        Ok(Self { service: service.as_str().into(), end })
    }

    pub(super) fn network(service: &FullName, end: Box<dyn ClientEnd>) -> Self {
        Self { service: service.as_str().into(), end: End::Network { end, undecodable: Arc::default() } }
    }

    /// Sends a request, without waiting for the server.
    pub(crate) fn call(&self, request: S::Request) -> Call<S::Response> {
        let service = Arc::clone(&self.service);
        let encode = || {
            let not_sent = |reason: String| CallError::NotSent { service: self.service.to_string(), reason };
            to_payload(&request).map_err(|error| not_sent(error.to_string()))
        };
        match &self.end {
            End::InProcess { client, numbers, doors, undecodable } => {
                let id = numbers.next();
                let Some(door) = doors.of_dynamic(&self.service) else {
                    let state = CallState::InProcess(client.call(Asked { id, request }));
                    return Call { service, id: Some(id), state };
                };
                match encode() {
                    Ok(payload) => {
                        let state = CallState::Encoded(door(id, payload.into()), Arc::clone(undecodable));
                        Call { service, id: Some(id), state }
                    }
                    Err(error) => Call { service, id: None, state: CallState::Failed(Some(error)) },
                }
            }
            End::Network { end, undecodable } => match encode().and_then(|payload| end.call(payload)) {
                Ok(SentRequest { id, response }) => {
                    Call { service, id: Some(id), state: CallState::Encoded(response, Arc::clone(undecodable)) }
                }
                Err(error) => Call { service, id: None, state: CallState::Failed(Some(error)) },
            },
        }
    }

    /// Returns the number of responses that were lost, because they could not be decoded or their calls not be
    /// identified.
    pub(crate) fn undecodable(&self) -> u64 {
        match &self.end {
            End::InProcess { undecodable, .. } => undecodable.load(Ordering::Relaxed),
            End::Network { end, undecodable } => end.unreadable() + undecodable.load(Ordering::Relaxed),
        }
    }
}

impl<S: ServiceInterface> Matches for ClientLink<S> {
    fn count(&self) -> usize {
        match &self.end {
            End::InProcess { client, doors, .. } => {
                let is_ready = client.service_is_ready() || doors.of_dynamic(&self.service).is_some();
                is_ready.into()
            }
            End::Network { end, .. } => end.count(),
        }
    }

    fn wait(&self) -> Awaited<()> {
        match &self.end {
            End::InProcess { client, doors, .. } => {
                let client = client.clone();
                let mut dynamic = Box::pin(Arc::clone(doors).wait_for_dynamic(Arc::clone(&self.service)));
                Box::pin(async move {
                    let mut server = pin!(client.wait_for_service());
                    poll_fn(|cx| {
                        if dynamic.as_mut().poll(cx).is_ready() { Poll::Ready(()) } else { server.as_mut().poll(cx) }
                    })
                    .await;
                })
            }
            End::Network { end, .. } => end.wait(),
        }
    }
}

/// A response that is awaited. Dropping it gives the call up.
pub(crate) struct Call<T> {
    service: Arc<str>,
    /// Id of the request; `None` if a middleware did not send it.
    id: Option<RequestId>,
    state: CallState<T>,
}

impl<T> Call<T> {
    /// Returns the id of the request; `None` if a middleware did not send it.
    pub(crate) const fn request_id(&self) -> Option<RequestId> {
        self.id
    }
}

enum CallState<T> {
    InProcess(rospin_engine::Call<T>),
    Encoded(Awaited<Result<Bytes, CallError>>, Arc<AtomicU64>),
    /// The error is taken when it is returned.
    Failed(Option<CallError>),
}

// No field of it is ever pinned.
impl<T> Unpin for Call<T> {}

/// Returns the error of a call in this process as a node has it.
pub(super) fn called(error: rospin_engine::CallError, service: &str) -> CallError {
    let service = service.to_owned();
    match error {
        rospin_engine::CallError::Unavailable { .. } => CallError::Unavailable { service },
        error => CallError::Unanswered { service, reason: error.to_string() },
    }
}

impl<T: DeserializeOwned> Future for Call<T> {
    type Output = Result<T, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let unanswered = |reason: String| CallError::Unanswered { service: this.service.to_string(), reason };
        Poll::Ready(match &mut this.state {
            CallState::Failed(error) => match error.take() {
                Some(error) => Err(error),
                None => return Poll::Pending,
            },
            CallState::InProcess(call) => ready!(Pin::new(call).poll(cx)).map_err(|error| called(error, &this.service)),
            CallState::Encoded(response, undecodable) => ready!(response.as_mut().poll(cx)).and_then(|payload| {
                from_shared_payload(&payload).map_err(|error| {
                    undecodable.fetch_add(1, Ordering::Relaxed);
                    log::error!(target: "rospin", "a response of service `{}` is lost: {error}", this.service);
                    unanswered(error.to_string())
                })
            }),
        })
    }
}
