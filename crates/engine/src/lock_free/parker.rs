//! Parking of idle executor threads on one futex: an eventcount.
//!
//! A thread that found no work announces itself ([`prepare`](Parker::prepare)), looks once more, and only then sleeps
//! ([`park`](Parker::park)). A thread that makes work publishes it first, and then unparks. Both have a sequentially
//! consistent fence between their write and their read, so at least one of them sees the other: either the sleeper
//! finds the work, or the waker finds the sleeper.
//!
//! The fences order everything, so the counters themselves are relaxed. The epoch is read before the fence. If that
//! reads an epoch that an unpark has already counted up, the second look also sees the work that was published before
//! that unpark.
//!
//! A woken thread may need a while until it gets a core, and a middleware may notify a hundred times meanwhile. So a
//! thread counts as waiting only until it was woken: whoever wakes it counts it down, after the system call, by the
//! number of threads that the kernel has woken. A waker that is preempted in between leaves the count too high, which
//! costs others a system call each. The count is never too low.

use super::sync::{AtomicU32, Futex, Ordering, fence, fence_after_read_modify_write};

/// The latest time at which a sleeping thread wakes: absolute, in nanoseconds of the named clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deadline {
    Never,
    Steady(u64),
    System(u64),
}

/// The place where the idle threads of one executor sleep.
pub(crate) struct Parker {
    /// Counts unparks, so that an unpark between `prepare` and `park` is not missed. It may wrap: an unpark would be
    /// missed only if a thread were preempted there for exactly 2^32 unparks.
    epoch: Futex,
    /// The number of threads that are between `prepare` and the end of `park` and were not woken. It may be too high
    /// for a moment.
    waiting: AtomicU32,
}

/// A thread's announcement that it is about to park. Must be given to [`Parker::park`] or [`Parker::cancel`]. If it is
/// lost, to a panic say, every later unpark is a system call.
#[must_use]
pub(crate) struct Ticket(u32);

impl Parker {
    pub(crate) fn new() -> Self {
        Self { epoch: Futex::new(), waiting: AtomicU32::new(0) }
    }

    /// Announces that the calling thread is about to park. The thread must look for work once more before it parks.
    pub(crate) fn prepare(&self) -> Ticket {
        let epoch = self.epoch.0.load(Ordering::Relaxed);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        Ticket(epoch)
    }

    /// Withdraws the announcement, because there is work.
    pub(crate) fn cancel(&self, _ticket: Ticket) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Sleeps until an unpark, at most until `deadline`. May return early.
    pub(crate) fn park(&self, ticket: Ticket, deadline: Deadline) {
        let is_woken = self.epoch.wait(ticket.0, deadline);
        if !is_woken {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Wakes one parked thread, if there is one. Call it after the work was published. Never blocks.
    pub(crate) fn unpark_one(&self) {
        self.unpark(1);
    }

    /// Wakes all parked threads.
    pub(crate) fn unpark_all(&self) {
        self.unpark(i32::MAX as u32);
    }

    /// Returns true if a thread is parked, or about to park, and was not woken yet.
    pub(crate) fn has_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Returns the number of sleeping threads.
    #[cfg(all(rospin_loom, test))]
    pub(crate) fn sleeping(&self) -> u32 {
        self.epoch.sleepers()
    }

    /// Returns true if a thread must be unparked for the work that was published before.
    #[inline]
    pub(crate) fn needs_unpark(&self) -> bool {
        fence(Ordering::SeqCst);
        self.has_waiting()
    }

    /// Does what [`needs_unpark`](Self::needs_unpark) does, if the calling thread has published the work by a
    /// read-modify-write, or has done one since.
    #[inline]
    pub(crate) fn needs_unpark_after_read_modify_write(&self) -> bool {
        fence_after_read_modify_write();
        self.has_waiting()
    }

    fn unpark(&self, threads: u32) {
        if self.needs_unpark() {
            self.epoch.0.fetch_add(1, Ordering::Relaxed);
            let woken = self.epoch.wake(threads);
            if woken > 0 {
                self.waiting.fetch_sub(woken, Ordering::Relaxed);
            }
        }
    }
}
