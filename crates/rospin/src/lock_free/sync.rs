//! The standard library's atomics, or loom's in its own test.

#[cfg(all(rospin_loom, test))]
pub(crate) use self::model::*;
#[cfg(not(all(rospin_loom, test)))]
pub(crate) use self::native::*;

#[cfg(not(all(rospin_loom, test)))]
mod native {
    pub(crate) use std::sync::Arc;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

    use std::num::NonZeroU32;

    use rustix::thread::futex::{self, Flags, Timespec};

    use super::super::parker::Deadline;

    /// A word that threads can sleep on.
    pub(crate) struct Futex(pub(crate) AtomicU32);

    impl Futex {
        pub(crate) const fn new() -> Self {
            Self(AtomicU32::new(0))
        }

        /// Sleeps while the word is `expected`, at most until `deadline`; may return early.
        pub(crate) fn wait(&self, expected: u32, deadline: Deadline) {
            let (flags, nanos) = match deadline {
                Deadline::Never => (Flags::PRIVATE, None),
                Deadline::Steady(nanos) => (Flags::PRIVATE, Some(nanos)),
                Deadline::System(nanos) => (Flags::PRIVATE | Flags::CLOCK_REALTIME, Some(nanos)),
            };
            let until = nanos.map(|nanos| Timespec {
                tv_sec: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
                tv_nsec: (nanos % 1_000_000_000) as _,
            });
            // Woken, changed meanwhile, interrupted or timed out: the caller looks for itself.
            let _ = futex::wait_bitset(&self.0, flags, expected, until.as_ref(), NonZeroU32::MAX);
        }

        /// Wakes up to `threads` sleepers.
        pub(crate) fn wake(&self, threads: u32) {
            // Fails for a bad address only.
            let _ = futex::wake(&self.0, Flags::PRIVATE, threads);
        }
    }
}

#[cfg(all(rospin_loom, test))]
mod model {
    pub(crate) use loom::sync::Arc;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

    use loom::sync::{Condvar, Mutex};

    use super::super::parker::Deadline;

    /// What the kernel does for a futex: compares and goes to sleep in one step.
    pub(crate) struct Futex(pub(crate) AtomicU32, Mutex<()>, Condvar);

    impl Futex {
        pub(crate) fn new() -> Self {
            Self(AtomicU32::new(0), Mutex::new(()), Condvar::new())
        }

        /// Deadlines never pass in the model: what only a timeout could end, loom reports as a deadlock.
        pub(crate) fn wait(&self, expected: u32, _: Deadline) {
            let guard = self.1.lock().unwrap();
            if self.0.load(Ordering::SeqCst) == expected {
                drop(self.2.wait(guard).unwrap());
            }
        }

        pub(crate) fn wake(&self, threads: u32) {
            let _guard = self.1.lock().unwrap();
            if threads == 1 {
                self.2.notify_one();
            } else {
                self.2.notify_all();
            }
        }
    }
}
