//! What handles ask of an executor: entities and groups come, go and change.
//!
//! A change is made by the executor's own thread between two callbacks, or by whoever asks for it if nothing spins. Changes are
//! made in the order in which they were asked for, but for two kinds that never are: whoever gives up a handle before what it
//! stands for was added takes that back, and the last request to a timer replaces those before. So memory is bounded by what
//! there is and by the handles that are alive, however long a callback runs meanwhile.

use std::collections::BTreeMap;

use crate::state::State;
use crate::sync::Mutex;

/// A change to an executor's state. It runs no user code.
pub(crate) type Change = Box<dyn FnOnce(&mut State) + Send>;

/// Names a change that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Ticket(u64);

/// The changes that are still to be made.
pub(crate) struct Changes(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    is_closed: bool,
    tickets: u64,
    /// By ticket, and so in order.
    changes: BTreeMap<Ticket, Change>,
}

impl Changes {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    /// Adds a change. If the executor is closed, returns it instead.
    pub(crate) fn ask(&self, change: Change) -> Result<Ticket, Change> {
        let mut waiting = self.0.lock();
        if waiting.is_closed {
            return Err(change);
        }
        waiting.tickets += 1;
        let ticket = Ticket(waiting.tickets);
        waiting.changes.insert(ticket, change);
        Ok(ticket)
    }

    /// Takes out a change that has not been made, and will not be.
    pub(crate) fn take_back(&self, ticket: Ticket) -> Option<Change> {
        self.0.lock().changes.remove(&ticket)
    }

    /// Takes out the change that is to be made next.
    pub(crate) fn next(&self) -> Option<Change> {
        self.0.lock().changes.pop_first().map(|(_, change)| change)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().changes.len()
    }

    /// Takes no more; returns those that will not be made.
    pub(crate) fn close(&self) -> impl Iterator<Item = Change> + use<> {
        let mut waiting = self.0.lock();
        waiting.is_closed = true;
        std::mem::take(&mut waiting.changes).into_values()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.lock().is_closed
    }
}
