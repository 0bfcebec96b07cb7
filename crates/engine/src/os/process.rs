//! The process that a value was created in: tells copies in forked processes from originals.
//!
//! A forked process has its parent's memory, but only the thread that called `fork`. Locks that other threads held stay
//! held in the copy, and what those threads were about to do is never done. So the copy of an executor can neither spin
//! nor be dropped in order, and dropping a copy does nothing. New contexts work as anywhere.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of forks that led to this process, counted from the first call of [`Process::this`].
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Number of the process that the value was created in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Process(u32);

impl Process {
    /// Returns the process of the calling thread.
    pub(crate) fn this() -> Self {
        static REGISTER: Once = Once::new();
        REGISTER.call_once(|| super::posix::in_forked_child(count_fork));
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Returns true if the caller is in a process that was forked off since.
    pub(crate) fn is_another(self) -> bool {
        // The only thread of a forked process has counted the fork before it ran anything else.
        self.0 != FORKS.load(Ordering::Relaxed)
    }
}

impl Default for Process {
    fn default() -> Self {
        Self::this()
    }
}

extern "C" fn count_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}
