//! Wakers of other code, and their panics.

use std::fmt;
use std::task::Waker;

use crate::panics::contain_and_log;

/// Waker of other code. If it panics when it is woken or dropped, that panic ends here and is logged.
///
/// For code that keeps wakers and calls them on the threads of others: without it, a waker that panics keeps those
/// after it from being called, unwinds into whoever made the change that the wakers wait for, and ends the process if
/// that one unwinds already.
pub struct ForeignWaker(Option<Waker>);

impl ForeignWaker {
    /// Wakes the task.
    pub fn wake(self) {
        // By reference, and dropped afterwards: a waker that panics would otherwise be dropped while it unwinds.
        self.wake_by_ref();
    }

    /// Wakes the task, and keeps the waker.
    pub fn wake_by_ref(&self) {
        self.wake_for("a waker");
    }

    /// Wakes the task. `what` names the waker in the log.
    pub(crate) fn wake_for(&self, what: impl fmt::Display) {
        contain_and_log(what, || self.0.iter().for_each(Waker::wake_by_ref));
    }
}

impl From<Waker> for ForeignWaker {
    fn from(waker: Waker) -> Self {
        Self(Some(waker))
    }
}

impl Drop for ForeignWaker {
    fn drop(&mut self) {
        if let Some(waker) = self.0.take() {
            contain_and_log("a waker that was dropped", || drop(waker));
        }
    }
}

impl fmt::Debug for ForeignWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignWaker").finish_non_exhaustive()
    }
}
