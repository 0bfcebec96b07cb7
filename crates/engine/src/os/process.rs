//! The process that something was made in, for those who are copied by `fork`.
//!
//! A process that was forked off has the memory of its parent, but of the threads only the one that called `fork`. What the
//! others had locked stays locked in the copy, and what they were about to do is never done. So the copy of an executor can
//! neither spin nor be taken down in order: what is dropped there does nothing. New contexts are as good as anywhere.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often this process, and those that it comes from, were forked off since the first of them asked for it.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process that this value was made in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Process(u32);

impl Process {
    /// The calling thread's.
    pub(crate) fn this() -> Self {
        static REGISTER: Once = Once::new();
        REGISTER.call_once(|| super::kernel::in_forked_child(count_fork));
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// True if the caller is in a process that was forked off since.
    pub(crate) fn is_another(self) -> bool {
        // The process's only thread has counted before it came to anything else.
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
