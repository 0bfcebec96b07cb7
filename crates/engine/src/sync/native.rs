//! The operating system's locks and threads.

use std::io;
use std::time::{Duration, Instant};

pub(crate) use std::sync::atomic;
pub(crate) use std::sync::{Condvar, Mutex as PlainMutex, MutexGuard as PlainMutexGuard};
pub(crate) use std::thread;
pub(crate) use std::thread_local;
pub(crate) use std::time::Instant as Stopwatch;

use super::inheriting::Inheriting;
use super::kernel::Word;
use crate::os::is_real_time;

/// A mutex with priority inheritance: on Linux, the thread that holds it runs at least at the priority of the most
/// urgent thread that waits for it. So an urgent thread waits for the critical section, and not for threads of a
/// priority in between.
///
/// A panic under the lock does not poison it. No user code runs under these locks, and the protected data is consistent
/// between any two statements.
pub type Mutex<T> = lock_api::Mutex<Inheriting, T>;
/// The guard of a [`Mutex`], which unlocks it when it is dropped.
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, Inheriting, T>;

// SAFETY: `lock` and `try_lock` return success only after the word changed from 0 to the caller's number, by the caller
// or by the kernel. The word becomes 0 again only in `unlock`, which the owner alone may call. Acquire and release
// order the accesses under the lock; the kernel's changes of the word are full barriers.
unsafe impl lock_api::RawMutex for Inheriting {
    // The kernel requires that the owner unlocks.
    type GuardMarker = lock_api::GuardNoSend;

    const INIT: Self = Self(Word::new());

    #[inline]
    fn lock(&self) {
        Self::lock(self);
    }

    #[inline]
    fn try_lock(&self) -> bool {
        Self::try_lock(self)
    }

    #[inline]
    unsafe fn unlock(&self) {
        Self::unlock(self);
    }
}

/// Backs off before the calling thread tries a lock again: spins at first, exponentially longer each time, then yields,
/// then sleeps. `looks` is the number of tries so far.
pub(crate) fn back_off(looks: u32) {
    /// The time of the first spin. It doubles with each spin, since the lock's data are in the caches of the threads
    /// that had the lock last: the work goes faster if these get it again.
    const FIRST: Duration = Duration::from_nanos(64);
    /// The number of spins, which take 8 us in all. They are few, because on one core the owner cannot run meanwhile.
    const SPINS: u32 = 7;
    /// The number of yields. Real-time threads do without: under `SCHED_DEADLINE` a yield gives away the rest of the
    /// period, and under the other classes it lets only threads of the same priority run.
    const YIELDS: u32 = 16;
    /// The time of each sleep.
    const NAP: Duration = Duration::from_micros(50);
    if looks < SPINS {
        let begin = Instant::now();
        let time = FIRST * (1 << looks);
        while begin.elapsed() < time {
            std::hint::spin_loop();
        }
    } else if looks < SPINS + YIELDS && !is_real_time() {
        thread::yield_now();
    } else {
        thread::sleep(NAP);
    }
}

/// Starts a thread of that name within a scope.
pub(crate) fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    name: &str,
    body: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<thread::ScopedJoinHandle<'scope, T>> {
    named(name).spawn_scoped(scope, body)
}

/// Starts a thread of that name.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<thread::JoinHandle<T>> {
    named(name).spawn(body)
}

/// Returns a builder of a thread of that name. A thread's name cannot contain zero bytes.
fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(name.replace('\0', ""))
}
