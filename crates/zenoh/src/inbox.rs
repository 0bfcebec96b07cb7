//! The queue between Zenoh's threads, which push what arrived, and an executor's thread, which pops it. They meet nowhere
//! else.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rospin_engine::{LossCause, Notifier, Pending};
use rospin_node::Qos;

/// The depth where the quality of service has no limit: nothing grows without bound.
pub(crate) const KEEP_ALL: usize = 8192;

/// A queue of the newest items: the end that takes them. Items that are left when it is dropped are counted as lost with
/// their entity.
pub(crate) struct Inbox<T>(Arc<Mutex<State<T>>>);

/// The end of an [`Inbox`] that items are pushed into.
pub(crate) struct Delivery<T>(Arc<Mutex<State<T>>>);

struct State<T> {
    items: VecDeque<T>,
    depth: usize,
    /// `None` until the entity is created.
    notifier: Option<Notifier>,
    /// The number of losses before there was a notifier to count them.
    untold: u64,
}

impl<T> State<T> {
    fn count_lost(&mut self, count: u64) {
        match &self.notifier {
            Some(notifier) if count > 0 => notifier.count_lost(LossCause::QueueFull, count),
            Some(_) => {}
            None => self.untold = self.untold.saturating_add(count),
        }
    }
}

fn lock<T>(state: &Mutex<State<T>>) -> MutexGuard<'_, State<T>> {
    // Every change under the lock is complete before anything can panic.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Inbox<T> {
    /// Creates a queue with the depth that the quality of service asks for.
    pub(crate) fn new(qos: &Qos) -> (Self, Delivery<T>) {
        let depth = qos.depth().unwrap_or(KEEP_ALL).max(1);
        let state = Arc::new(Mutex::new(State { items: VecDeque::new(), depth, notifier: None, untold: 0 }));
        (Self(Arc::clone(&state)), Delivery(state))
    }

    /// Has the notifier notify of each item from now on, and count the losses so far.
    pub(crate) fn attach(&self, notifier: Notifier) {
        let mut state = lock(&self.0);
        state.notifier = Some(notifier);
        let untold = std::mem::take(&mut state.untold);
        state.count_lost(untold);
    }

    /// Takes the oldest item.
    pub(crate) fn pop(&self) -> Option<T> {
        lock(&self.0).items.pop_front()
    }

    pub(crate) fn pending(&self) -> Pending {
        if lock(&self.0).items.is_empty() { Pending::Empty } else { Pending::Unknown }
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.0);
        let left = std::mem::take(&mut state.items);
        if let Some(notifier) = state.notifier.take().filter(|_| !left.is_empty()) {
            notifier.count_lost(LossCause::EntityDropped, left.len() as u64);
        }
        drop(state);
        // Requests that are dropped tell their clients, which may be of this process: not under the lock.
        drop(left);
    }
}

impl<T> Delivery<T> {
    /// Adds an item, on any thread. If the queue is full, the oldest item makes room and is counted as lost, and so are
    /// the `missing` items before this one.
    pub(crate) fn push(&self, item: T, missing: u64) {
        let mut state = lock(&self.0);
        let displaced = if state.items.len() == state.depth { state.items.pop_front() } else { None };
        state.items.push_back(item);
        state.count_lost(missing.saturating_add(displaced.is_some().into()));
        if let Some(notifier) = &state.notifier {
            notifier.notify();
        }
        drop(state);
        drop(displaced);
    }
}
