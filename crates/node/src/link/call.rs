//! The client's end of a service.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{self, Poll, ready};

use bytes::Bytes;
use rospin_engine::Context;
use rospin_wire::cdr::{from_shared_payload, to_payload};
use serde::de::DeserializeOwned;

use super::refused;
use crate::error::CallError;
use crate::error::Refused;
use crate::matches::{Awaited, Matches};
use crate::message::ServiceInterface;
use crate::middleware::ClientEnd;
use crate::names::FullName;

/// The link of a client to the servers of its service.
pub(crate) struct ClientLink<S: ServiceInterface> {
    service: Arc<str>,
    end: End<S>,
}

enum End<S: ServiceInterface> {
    InProcess(rospin_engine::Client<S::Request, S::Response>),
    Network { end: Box<dyn ClientEnd>, undecodable: Arc<AtomicU64> },
}

impl<S: ServiceInterface> ClientLink<S> {
    pub(super) fn in_process(context: &Context, service: &FullName) -> Result<Self, Refused> {
        let client = context.create_local_client(service.as_str()).map_err(refused)?;
        Ok(Self { service: service.as_str().into(), end: End::InProcess(client) })
    }

    pub(super) fn network(service: &FullName, end: Box<dyn ClientEnd>) -> Self {
        Self { service: service.as_str().into(), end: End::Network { end, undecodable: Arc::default() } }
    }

    /// Sends a request, without waiting for the server.
    pub(crate) fn call(&self, request: S::Request) -> Call<S::Response> {
        let service = Arc::clone(&self.service);
        let state = match &self.end {
            End::InProcess(client) => CallState::InProcess(client.call(request)),
            End::Network { end, undecodable } => match to_payload(&request) {
                Ok(payload) => CallState::Network(end.call(payload), Arc::clone(undecodable)),
                Err(error) => {
                    let not_sent = CallError::NotSent { service: service.to_string(), reason: error.to_string() };
                    CallState::Network(Box::pin(async { Err(not_sent) }), Arc::clone(undecodable))
                }
            },
        };
        Call { service, state }
    }

    /// Returns the number of responses that were lost, because they could not be decoded or their calls not be
    /// identified.
    pub(crate) fn undecodable(&self) -> u64 {
        match &self.end {
            End::InProcess(_) => 0,
            End::Network { end, undecodable } => end.unreadable() + undecodable.load(Ordering::Relaxed),
        }
    }
}

impl<S: ServiceInterface> Matches for ClientLink<S> {
    fn count(&self) -> usize {
        match &self.end {
            End::InProcess(client) => client.service_is_ready().into(),
            End::Network { end, .. } => end.count(),
        }
    }

    fn wait(&self) -> Awaited<()> {
        match &self.end {
            End::InProcess(client) => {
                let client = client.clone();
                Box::pin(async move { client.wait_for_service().await })
            }
            End::Network { end, .. } => end.wait(),
        }
    }
}

/// A response that is awaited. Dropping it gives the call up.
pub(crate) struct Call<T> {
    service: Arc<str>,
    state: CallState<T>,
}

enum CallState<T> {
    InProcess(rospin_engine::Call<T>),
    Network(Awaited<Result<Bytes, CallError>>, Arc<AtomicU64>),
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
            CallState::InProcess(call) => ready!(Pin::new(call).poll(cx)).map_err(|error| called(error, &this.service)),
            CallState::Network(response, undecodable) => ready!(response.as_mut().poll(cx)).and_then(|payload| {
                from_shared_payload(&payload).map_err(|error| {
                    undecodable.fetch_add(1, Ordering::Relaxed);
                    log::error!(target: "rospin", "a response of service `{}` is lost: {error}", this.service);
                    unanswered(error.to_string())
                })
            }),
        })
    }
}
