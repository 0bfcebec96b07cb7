//! Futures of requests to a server, and how they end.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rospin_engine::{ForeignWaker, Mutex};

use crate::socket::Socket;
use crate::wire::{Answer, ToServer};

/// The times of a request whose segments have all run. They are the device's, without the way to the server and back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RemoteOutcome {
    /// The time from the request's arrival at the server to the start of its first segment.
    pub waiting: Duration,
    /// The time from the request's arrival at the server to the end of its last segment.
    pub response: Duration,
    /// The time for which the request kept the device busy.
    pub busy: Duration,
}

/// Reasons for which a request to a server ends without a [`RemoteOutcome`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The server did not accept it.
    #[error("the server refused the request: {reason}")]
    Refused {
        /// The server's words.
        reason: String,
    },
    /// It was accepted, and ended with an error.
    #[error("the request failed: {reason}")]
    Failed {
        /// The server's words.
        reason: String,
    },
    /// The server is gone, or has closed the connection.
    #[error("the server of the accelerator is gone")]
    ServerGone,
}

/// Requests of a client that wait for their answers.
#[derive(Default)]
pub(crate) struct Waiting {
    pub(crate) requests: HashMap<u64, Slot>,
    /// True once no more answers come.
    pub(crate) is_gone: bool,
}

#[derive(Default)]
pub(crate) struct Slot {
    pub(crate) answer: Option<Answer>,
    pub(crate) waker: Option<ForeignWaker>,
}

/// The future of a request. Dropping it cancels the segments that have not started.
#[must_use = "a request is cancelled when its future is dropped"]
pub struct RemoteCompletion {
    number: u64,
    waiting: Arc<Mutex<Waiting>>,
    socket: Arc<Socket>,
    is_over: bool,
}

impl RemoteCompletion {
    pub(crate) const fn new(number: u64, waiting: Arc<Mutex<Waiting>>, socket: Arc<Socket>) -> Self {
        Self { number, waiting, socket, is_over: false }
    }
}

impl Future for RemoteCompletion {
    type Output = Result<RemoteOutcome, RemoteError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Cloned and dropped outside the lock, because wakers are foreign code.
        let waker = ForeignWaker::from(context.waker().clone());
        let former;
        let result = {
            let mut waiting = self.waiting.lock();
            let is_gone = waiting.is_gone;
            let slot = waiting.requests.entry(self.number).or_default();
            match slot.answer.take() {
                Some(Answer::Done { started, finished, busy }) => Ok(RemoteOutcome {
                    waiting: Duration::from_nanos(started),
                    response: Duration::from_nanos(finished),
                    busy: Duration::from_nanos(busy),
                }),
                Some(Answer::Refused(reason)) => Err(RemoteError::Refused { reason }),
                Some(Answer::Failed(reason)) => Err(RemoteError::Failed { reason }),
                None if is_gone => Err(RemoteError::ServerGone),
                None => {
                    former = slot.waker.replace(waker);
                    drop(waiting);
                    drop(former);
                    return Poll::Pending;
                }
            }
        };
        self.is_over = true;
        Poll::Ready(result)
    }
}

impl Drop for RemoteCompletion {
    fn drop(&mut self) {
        let slot = self.waiting.lock().requests.remove(&self.number);
        if !self.is_over && slot.is_some_and(|slot| slot.answer.is_none()) {
            // If there is no room, the server is so far behind that it loses the connection soon, or is gone.
            let _ = self.socket.send(&ToServer::Cancel { number: self.number }.encode(), None);
        }
    }
}

impl fmt::Debug for RemoteCompletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteCompletion").field("number", &self.number).finish_non_exhaustive()
    }
}
