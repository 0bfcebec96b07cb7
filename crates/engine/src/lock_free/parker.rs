//! Parking of idle executor threads on one futex.
//!
//! An eventcount: a thread that found no work announces itself ([`prepare`](Parker::prepare)), looks once more, and only
//! then sleeps ([`park`](Parker::park)). Whoever makes work publishes it first and unparks then. Both sides have a
//! sequentially consistent fence between their write and their read, so at least one of them sees the other: either the
//! sleeper finds the work, or the waker finds the sleeper.
//!
//! The fences order everything, so the counters themselves are relaxed. The epoch is read before the fence: whoever reads
//! one that an unpark has counted up already, also sees the work that was published before that, when looking once more.

use super::sync::{AtomicU32, Futex, Ordering, fence};

/// Until when a thread sleeps at most. Absolute, in nanoseconds of the named clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deadline {
    Never,
    Steady(u64),
    System(u64),
}

/// Where the threads of one executor sleep.
pub(crate) struct Parker {
    /// Counts unparks, so that one between `prepare` and `park` is not missed. That it wraps does no harm: a thread would
    /// have to be preempted in between for exactly 2^32 of them.
    epoch: Futex,
    /// Threads between `prepare` and the end of `park`.
    waiting: AtomicU32,
}

/// A thread's intention to park. Must be given to [`Parker::park`] or [`Parker::cancel`]: one that is lost, to a panic say,
/// makes every unpark from then on a system call.
#[must_use]
pub(crate) struct Ticket(u32);

impl Parker {
    pub(crate) fn new() -> Self {
        Self { epoch: Futex::new(), waiting: AtomicU32::new(0) }
    }

    /// Announces that the calling thread is about to park. It must look for work once more before it does.
    pub(crate) fn prepare(&self) -> Ticket {
        let epoch = self.epoch.0.load(Ordering::Relaxed);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        Ticket(epoch)
    }

    /// There is work after all.
    pub(crate) fn cancel(&self, _ticket: Ticket) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Sleeps until unparked, at most until `deadline`; may return early.
    pub(crate) fn park(&self, ticket: Ticket, deadline: Deadline) {
        self.epoch.wait(ticket.0, deadline);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Wakes one parked thread, if there is one. To be called after the work was published. Never blocks.
    pub(crate) fn unpark_one(&self) {
        self.unpark(1);
    }

    /// Wakes all parked threads.
    pub(crate) fn unpark_all(&self) {
        self.unpark(i32::MAX as u32);
    }

    /// Whether a thread is parked or about to be.
    pub(crate) fn has_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    fn unpark(&self, threads: u32) {
        fence(Ordering::SeqCst);
        if self.has_waiting() {
            self.epoch.0.fetch_add(1, Ordering::Relaxed);
            self.epoch.wake(threads);
        }
    }
}
