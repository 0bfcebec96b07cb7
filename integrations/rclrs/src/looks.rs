//! State that all cells of an executor share: the guard condition of looks, and the count of changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rclrs::GuardCondition;
use rospin_engine::Mutex;

use super::guard::Guard;

/// The guard condition of looks, and the count of changes.
pub(super) struct Looks {
    guard: Mutex<Arc<Guard>>,
    changes: AtomicUsize,
}

/// A state of a worker's entities. If it is the same as before, the user has dropped none since.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Census {
    changes: usize,
    /// Each entity of rclrs holds its worker's guard condition until it is dropped.
    holders: usize,
}

impl Looks {
    pub(super) const fn new(guard: Arc<Guard>) -> Self {
        Self { guard: Mutex::new(guard), changes: AtomicUsize::new(0) }
    }

    /// Calls `look` with the guard condition for looks. Waits until other threads have looked.
    pub(super) fn with_guard<R>(&self, look: impl FnOnce(&Arc<Guard>) -> R) -> R {
        look(&self.guard.lock())
    }

    /// Notes that entities were created, or that a worker's guard condition was triggered.
    ///
    /// An entity that is created hides one that is dropped from the number of holders, which is why it is noted.
    pub(super) fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Returns the state of the entities of the worker with that guard condition.
    pub(super) fn census(&self, guard: &Arc<GuardCondition>) -> Census {
        Census { changes: self.changes.load(Ordering::Acquire), holders: Arc::strong_count(guard) }
    }
}
