//! Atomics and futexes: the standard library's, loom's in `tests/loom.rs`, or shuttle's in `tests/explore.rs`.

#[cfg(any(all(rospin_loom, test), rospin_shuttle))]
pub(crate) use self::model::*;
#[cfg(not(any(all(rospin_loom, test), rospin_shuttle)))]
pub(crate) use self::native::*;

/// Orders a read-modify-write of the calling thread before what the thread reads afterwards, as a sequentially
/// consistent fence does.
#[inline(always)]
pub(crate) fn fence_after_read_modify_write() {
    // There the instruction is a fence, too, so that only the compiler must be told.
    if cfg!(all(target_arch = "x86_64", not(rospin_loom), not(rospin_shuttle))) {
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

#[cfg(not(any(all(rospin_loom, test), rospin_shuttle)))]
mod native {
    pub(crate) use std::sync::Arc;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

    #[cfg(all(target_os = "linux", not(rospin_portable)))]
    pub(crate) use super::linux_futex::Futex;
    #[cfg(any(not(target_os = "linux"), rospin_portable))]
    pub(crate) use crate::lock_free::portable_futex::Futex;
}

#[cfg(all(target_os = "linux", not(any(all(rospin_loom, test), rospin_shuttle, rospin_portable))))]
mod linux_futex {
    use std::num::NonZeroU32;
    use std::sync::atomic::AtomicU32;

    use rustix::thread::futex::{self, Flags, Timespec};

    use super::super::parker::Deadline;

    /// A word that threads can sleep on.
    pub(crate) struct Futex(pub(crate) AtomicU32);

    impl Futex {
        pub(crate) const fn new() -> Self {
            Self(AtomicU32::new(0))
        }

        /// Sleeps while the word is `expected`, at most until `deadline`; may return early. Returns true if this thread
        /// is among those that a [`wake`](Self::wake) has woken and counted.
        pub(crate) fn wait(&self, expected: u32, deadline: Deadline) -> bool {
            let (flags, nanos) = match deadline {
                Deadline::Never => (Flags::PRIVATE, None),
                Deadline::Steady(nanos) => (Flags::PRIVATE, Some(nanos)),
                Deadline::System(nanos) => (Flags::PRIVATE | Flags::CLOCK_REALTIME, Some(nanos)),
            };
            let until = nanos.map(|nanos| Timespec {
                tv_sec: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
                tv_nsec: (nanos % 1_000_000_000) as _,
            });
            // The kernel reports a wake-up even if the deadline passes or a signal comes at the same moment. It reports
            // an error if the thread was interrupted or timed out, or found another value.
            futex::wait_bitset(&self.0, flags, expected, until.as_ref(), NonZeroU32::MAX).is_ok()
        }

        /// Wakes up to `threads` sleepers, and returns the number of threads that it woke.
        pub(crate) fn wake(&self, threads: u32) -> u32 {
            // The call fails only for an invalid address.
            futex::wake(&self.0, Flags::PRIVATE, threads).map_or(0, |woken| woken as u32)
        }
    }
}

#[cfg(any(all(rospin_loom, test), rospin_shuttle))]
mod model {
    #[cfg(not(rospin_shuttle))]
    use loom as checker;
    #[cfg(rospin_shuttle)]
    use shuttle as checker;

    pub(crate) use checker::sync::Arc;
    pub(crate) use checker::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

    #[cfg(not(rospin_shuttle))]
    pub(crate) use super::loom_futex::Futex;
    #[cfg(rospin_shuttle)]
    pub(crate) use super::shuttle_futex::Futex;
}

#[cfg(all(rospin_loom, test, not(rospin_shuttle)))]
mod loom_futex {
    use loom::sync::atomic::{AtomicU32, Ordering};
    use loom::sync::{Condvar, Mutex};

    use super::super::parker::Deadline;

    /// A model of the kernel's futex, which compares and goes to sleep in one step. The mutex has the number of
    /// sleepers.
    pub(crate) struct Futex(pub(crate) AtomicU32, Mutex<u32>, Condvar);

    impl Futex {
        pub(crate) fn new() -> Self {
            Self(AtomicU32::new(0), Mutex::new(0), Condvar::new())
        }

        /// Sleeps while the word is `expected`. Deadlines never pass in the model, so a sleep that only a timeout could
        /// end is reported as a deadlock.
        pub(crate) fn wait(&self, expected: u32, _: Deadline) -> bool {
            let mut sleepers = self.1.lock().unwrap();
            let sleeps = self.0.load(Ordering::SeqCst) == expected;
            if sleeps {
                *sleepers += 1;
                drop(self.2.wait(sleepers).unwrap());
            }
            sleeps
        }

        pub(crate) fn wake(&self, threads: u32) -> u32 {
            let mut sleepers = self.1.lock().unwrap();
            let woken = threads.min(*sleepers);
            *sleepers -= woken;
            for _ in 0..woken {
                self.2.notify_one();
            }
            woken
        }

        /// Returns the number of sleeping threads.
        pub(crate) fn sleepers(&self) -> u32 {
            *self.1.lock().unwrap()
        }
    }
}

#[cfg(rospin_shuttle)]
mod shuttle_futex {
    use std::sync::atomic::AtomicBool as PlainBool;
    use std::sync::{Arc, Mutex, PoisonError};
    use std::task::{Poll, Waker};

    use shuttle::sync::atomic::{AtomicU32, Ordering};

    use super::super::parker::Deadline;

    /// A thread that sleeps, or is about to sleep.
    struct Sleeper {
        is_woken: PlainBool,
        waker: Mutex<Option<Waker>>,
    }

    /// A model of the kernel's futex. The lock is the standard library's, so the model makes no step under it.
    pub(crate) struct Futex(pub(crate) AtomicU32, Mutex<Vec<Arc<Sleeper>>>);

    impl Futex {
        pub(crate) fn new() -> Self {
            Self(AtomicU32::new(0), Mutex::default())
        }

        /// Sleeps while the word is `expected`. Deadlines never pass in the model, so a sleep that only a timeout could
        /// end is reported as a deadlock.
        pub(crate) fn wait(&self, expected: u32, _: Deadline) -> bool {
            let me = Arc::new(Sleeper { is_woken: PlainBool::new(false), waker: Mutex::default() });
            lock(&self.1).push(Arc::clone(&me));
            if self.0.load(Ordering::SeqCst) == expected {
                shuttle::future::block_on(std::future::poll_fn(|cx| {
                    *lock(&me.waker) = Some(cx.waker().clone());
                    if me.is_woken.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
                }));
                return true;
            }
            lock(&self.1).retain(|sleeper| !Arc::ptr_eq(sleeper, &me));
            // Another thread counted this one as woken, although this one does not sleep. The kernel would have woken
            // another sleeper, so this does.
            me.is_woken.load(Ordering::Relaxed) && self.wake_sleepers(1) == 0
        }

        pub(crate) fn wake(&self, threads: u32) -> u32 {
            // This load is a step of the model.
            self.0.load(Ordering::Relaxed);
            self.wake_sleepers(threads)
        }

        /// Wakes up to `threads` sleepers, and returns how many it has woken.
        fn wake_sleepers(&self, threads: u32) -> u32 {
            let mut sleepers = lock(&self.1);
            let count = sleepers.len().min(threads as usize);
            let woken: Vec<_> = sleepers.drain(..count).collect();
            drop(sleepers);
            for sleeper in woken {
                sleeper.is_woken.store(true, Ordering::Relaxed);
                let waker = lock(&sleeper.waker).take();
                waker.iter().for_each(Waker::wake_by_ref);
            }
            count as u32
        }
    }

    fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
