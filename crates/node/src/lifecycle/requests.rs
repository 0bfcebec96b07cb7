//! Transitions that the program itself asks for, waiting for the node's group.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_channel::oneshot;
use rospin_engine::{Notifier, Pending, Source, TakeError};

use super::TransitionError;
use super::machine::{Ask, State};

/// How many transitions wait at most: who asks for more goes in circles.
const WAITING_MAX: usize = 16;

/// A transition that somebody asked for.
pub(super) struct Request {
    pub(super) ask: Ask,
    pub(super) answer: oneshot::Sender<Result<State, TransitionError>>,
}

/// Why a request does not wait.
pub(super) enum NotQueued {
    Full,
    Closed,
}

/// The requests that wait, for those who ask. Cheap to clone.
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

    /// The end that an executor takes from; there is one.
    pub(super) fn source(&self) -> RequestSource {
        RequestSource(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // The queue is whole between any two operations.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The requests as the source of an entity. Its end is theirs: nobody else would answer them.
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
        // Wakes those who wait, which must not happen under the lock.
        drop(waiting);
    }
}
