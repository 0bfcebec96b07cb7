//! The changes that handles ask of an executor: entities and groups come, go and change.
//!
//! The executor's own thread makes a change between two callbacks. If nothing spins, the thread that asks makes it at
//! once. Changes are made in the order in which they were asked for. Two kinds are never made: a handle that is dropped
//! before its entity was added takes the addition back, and the last request to a timer replaces earlier ones. So
//! memory is bounded by the entities and the handles that are alive, however long a callback runs.
//!
//! A change is a closure, so the loop owns its state, and a callback may create and drop anything. Between two picks
//! only [`CHANGES_A_STEP`] changes are made, so an urgent callback does not wait for thousands of them. While some are
//! left, a pick checks that the activation it found still has its handle (`State::has_changes_left`).

use std::collections::BTreeMap;

use crate::sync::Mutex;

/// The most changes that are made between two picks, so that an urgent callback does not wait for more of them.
pub(crate) const CHANGES_A_STEP: usize = 32;

/// A change to an executor's state `S`. It runs no user code.
pub(crate) type Change<S> = Box<dyn FnOnce(&mut S) + Send>;

/// Number of a change that was asked for, by which the change can be taken back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Ticket(u64);

/// The changes to an executor that were asked for and are still to be made.
pub(crate) struct Changes<S>(Mutex<Waiting<S>>);

struct Waiting<S> {
    is_closed: bool,
    tickets: u64,
    /// The changes by their tickets, which is the order in which they were asked for.
    changes: BTreeMap<Ticket, Change<S>>,
}

impl<S> Changes<S> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Waiting { is_closed: false, tickets: 0, changes: BTreeMap::new() }))
    }

    /// Adds a change. If the executor is closed, returns the change instead.
    pub(crate) fn ask(&self, change: Change<S>) -> Result<Ticket, Change<S>> {
        let mut waiting = self.0.lock();
        if waiting.is_closed {
            return Err(change);
        }
        waiting.tickets += 1;
        let ticket = Ticket(waiting.tickets);
        waiting.changes.insert(ticket, change);
        Ok(ticket)
    }

    /// Takes out a change that has not been made, so that it never is. Returns `None` if its making has begun, or if
    /// the executor is closed.
    pub(crate) fn withdraw(&self, ticket: Ticket) -> Option<Change<S>> {
        self.0.lock().changes.remove(&ticket)
    }

    /// Removes and returns the change that must be made next. Returns `None` if no change waits.
    pub(crate) fn next(&self) -> Option<Change<S>> {
        self.0.lock().changes.pop_first().map(|(_, change)| change)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().changes.len()
    }

    /// Refuses changes from now on; returns those that will not be made.
    pub(crate) fn close(&self) -> impl Iterator<Item = Change<S>> + use<S> {
        let mut waiting = self.0.lock();
        waiting.is_closed = true;
        std::mem::take(&mut waiting.changes).into_values()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.lock().is_closed
    }
}
