//! Presence: whether somebody is there who would have to be waited for, and whether it is to tell when it leaves.
//!
//! A jump of ROS time waits for the jump callbacks of executors that spin. The thread that jumps notes under a lock
//! that it waits, if the executor is there. An executor that stops takes the lock and withdraws that. Most executors
//! never have a jump callback, and take no lock when they stop.
//!
//! The executor leaves, then looks if it is awaited. The other side has it awaited, then looks if it is there. Both
//! have a sequentially consistent fence in between, so at least one of them sees the other.

use super::sync::{AtomicBool, Ordering, fence};

/// Two flags of an executor: it spins, and somebody may wait for it to stop.
pub(crate) struct Presence {
    is_there: AtomicBool,
    is_awaited: AtomicBool,
}

impl Presence {
    pub(crate) fn new() -> Self {
        Self { is_there: AtomicBool::new(false), is_awaited: AtomicBool::new(false) }
    }

    /// Comes, unless it is there already. Returns true if it was not there.
    pub(crate) fn come(&self) -> bool {
        !self.is_there.swap(true, Ordering::Relaxed)
    }

    /// Leaves. Returns true if it is awaited, so that those who might wait must be told.
    pub(crate) fn leave(&self) -> bool {
        self.is_there.store(false, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.is_awaited.load(Ordering::Relaxed)
    }

    /// Has whoever leaves from now on tell of it.
    pub(crate) fn be_awaited(&self) {
        self.is_awaited.store(true, Ordering::Relaxed);
    }

    /// Returns true if it is there. Of two threads one sees the other, if one of them leaves and the other one asks
    /// after [`be_awaited`](Self::be_awaited).
    pub(crate) fn is_there(&self) -> bool {
        fence(Ordering::SeqCst);
        self.is_there.load(Ordering::Relaxed)
    }
}
