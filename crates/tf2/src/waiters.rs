//! Futures that wait for transforms, by what may help them.
//!
//! A look-up that fails knows the frame that stands in its way. So a future that waits is entered under that frame, or
//! under the structure of the tree, and a new transform wakes only those that it may help.

use std::collections::HashMap;

use rospin_engine::ForeignWaker;

use crate::tree::FrameId;

/// The change that a future waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Change {
    /// New data of a frame.
    Data(FrameId),
    /// A new frame, or a new parent of one.
    Structure,
    /// Any transform: the latest common time may be another one then.
    Any,
}

/// The futures that wait. They leave when they are woken, and come back if that was in vain.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    waiting: HashMap<Change, Vec<(u64, ForeignWaker)>>,
    tickets: u64,
}

impl Waiters {
    /// Adds a future, until the change or its [removal](Self::remove). Returns its place, by which it is removed.
    pub(crate) fn add(&mut self, change: Change, waker: ForeignWaker) -> (Change, u64) {
        self.tickets += 1;
        self.waiting.entry(change).or_default().push((self.tickets, waker));
        (change, self.tickets)
    }

    /// Removes the future at a place. Returns its waker, to be dropped without a lock.
    pub(crate) fn remove(&mut self, place: (Change, u64)) -> Option<ForeignWaker> {
        let (change, ticket) = place;
        let waiting = self.waiting.get_mut(&change)?;
        let at = waiting.iter().position(|(other, _)| *other == ticket)?;
        let (_, waker) = waiting.swap_remove(at);
        if waiting.is_empty() {
            self.waiting.remove(&change);
        }
        Some(waker)
    }

    /// Removes the futures that new data of a frame may help; if the structure has changed, all of them. They are in the
    /// order in which they began to wait. The caller wakes them without a lock.
    pub(crate) fn take(&mut self, frame: FrameId, is_structure: bool) -> Vec<(u64, ForeignWaker)> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        if is_structure {
            return self.take_all();
        }
        let mut taken = self.waiting.remove(&Change::Data(frame)).unwrap_or_default();
        taken.extend(self.waiting.remove(&Change::Any).unwrap_or_default());
        taken.sort_unstable_by_key(|(ticket, _)| *ticket);
        taken
    }

    /// Removes all futures, in the order in which they began to wait. The caller wakes them without a lock.
    pub(crate) fn take_all(&mut self) -> Vec<(u64, ForeignWaker)> {
        let mut taken: Vec<_> = self.waiting.drain().flat_map(|(_, waiting)| waiting).collect();
        taken.sort_unstable_by_key(|(ticket, _)| *ticket);
        taken
    }
}
