//! Where Zenoh's threads leave what arrived, and an executor's thread finds it: the only place where they meet.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rospin_engine::{LossCause, Notifier, Pending};
use rospin_node::Qos;

/// How much is kept where the quality of service has no limit: nothing grows without bound.
pub(crate) const KEEP_ALL: usize = 8192;

/// A queue of the newest items, for whoever takes them. What is there when it is dropped is lost with its entity.
pub(crate) struct Inbox<T>(Arc<Mutex<State<T>>>);

/// The other end of an [`Inbox`].
pub(crate) struct Delivery<T>(Arc<Mutex<State<T>>>);

struct State<T> {
    items: VecDeque<T>,
    depth: usize,
    /// There is none until the entity is there.
    notifier: Option<Notifier>,
    /// What was lost before there was somebody to tell.
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
    // What runs under the lock leaves nothing half done.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Inbox<T> {
    /// A queue as deep as the quality of service says, and its other end.
    pub(crate) fn new(qos: &Qos) -> (Self, Delivery<T>) {
        let depth = qos.depth().unwrap_or(KEEP_ALL).max(1);
        let state = Arc::new(Mutex::new(State { items: VecDeque::new(), depth, notifier: None, untold: 0 }));
        (Self(Arc::clone(&state)), Delivery(state))
    }

    /// From now on the notifier is told of what arrives, and of what was lost so far.
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
        // Requests among it tell their clients, which may be ours: not under the lock.
        drop(left);
    }
}

impl<T> Delivery<T> {
    /// Adds an item, on any thread. The oldest one makes room for it, and is counted with the `missing` ones before it.
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
