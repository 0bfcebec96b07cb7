//! Transitions that the program itself requests, in a queue for the node's group.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, PoisonError};

use futures_channel::oneshot;
use rospin_engine::{Notifier, Pending, Source, TakeError};

use super::TransitionError;
use super::machine::{Ask, State};
use crate::sync::{Mutex, MutexGuard};

/// Number of transitions that wait at most. A program that requests more is in a loop.
const WAITING_MAX: usize = 16;

/// Requested transition, and the way of its outcome to the caller.
pub(super) struct Request {
    pub(super) ask: Ask,
    pub(super) answer: oneshot::Sender<Result<State, TransitionError>>,
}

/// Reasons for which a request was not queued.
pub(super) enum NotQueued {
    /// As many requests wait as the queue has room for.
    Full,
    /// The entity that takes the requests was dropped.
    Closed,
}

/// The queue of requests. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Requests(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Request>,
    notifier: Option<Notifier>,
    is_closed: bool,
}

impl Requests {
    pub(super) fn push(&self, request: Request) -> Result<(), NotQueued> {
        let mut queue = self.lock();
        if queue.is_closed {
            return Err(NotQueued::Closed);
        }
        if queue.waiting.len() >= WAITING_MAX {
            return Err(NotQueued::Full);
        }
        queue.waiting.push_back(request);
        if let Some(notifier) = &queue.notifier {
            notifier.notify();
        }
        Ok(())
    }

    /// Returns the end that an executor takes from. There must be only one.
    pub(super) fn source(&self) -> RequestSource {
        RequestSource(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No operation under the lock can leave the queue half changed, so its poison is ignored.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The queue as the source of an entity. Dropping it closes the queue, because nobody else would answer.
pub(super) struct RequestSource(Requests);

impl Source for RequestSource {
    type Item = Request;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.0.lock().notifier = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Request>, TakeError> {
        Ok(self.0.lock().waiting.pop_front())
    }

    fn pending(&self) -> Pending {
        if self.0.lock().waiting.is_empty() { Pending::Empty } else { Pending::Unknown }
    }
}

impl Drop for RequestSource {
    fn drop(&mut self) {
        let waiting = {
            let mut queue = self.0.lock();
            queue.is_closed = true;
            queue.notifier = None;
            mem::take(&mut queue.waiting)
        };
        // Dropping the senders wakes the waiting tasks, which must not happen under the lock.
        drop(waiting);
    }
}
