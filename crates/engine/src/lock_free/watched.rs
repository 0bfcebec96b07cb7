//! Flag that says if anybody watches a count. While nobody does, counting takes no lock.
//!
//! A watcher is added under a lock, sets the flag, then looks at the count. A thread that counts adds to the count,
//! then looks at the flag. Both have a fence in between, so at least one of them sees the other: either the watcher
//! sees the new count, or the thread takes the lock and wakes the watcher.

use super::sync::{AtomicBool, Ordering, fence, fence_after_read_modify_write};

/// True while there are watchers of a count.
#[derive(Debug)]
pub(crate) struct Watched(AtomicBool);

impl Watched {
    pub(crate) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Notes under the watchers' lock if there are any. A new one may look at the count afterwards.
    pub(crate) fn set(&self, are_any: bool) {
        self.0.store(are_any, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Returns true if there are watchers to wake. The caller has just added to the count by a read-modify-write.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        fence_after_read_modify_write();
        self.0.load(Ordering::Relaxed)
    }
}
