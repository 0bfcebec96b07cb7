//! A word that threads can sleep on, for systems without futexes: under a lock, which is not free of waiting.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use super::parker::Deadline;

/// A word that threads can sleep on.
pub(crate) struct Futex(pub(crate) AtomicU32, Mutex<Sleepers>, Condvar);

/// The threads that sleep, by numbers that they draw. Whoever is woken is removed.
#[derive(Default)]
struct Sleepers {
    last: u64,
    asleep: VecDeque<u64>,
}

impl Futex {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0), Mutex::new(Sleepers { last: 0, asleep: VecDeque::new() }), Condvar::new())
    }

    /// Sleeps while the word is `expected`, at most until `deadline`; may return early. Returns true if this thread is
    /// among those that a [`wake`](Self::wake) has woken and counted.
    pub(crate) fn wait(&self, expected: u32, deadline: Deadline) -> bool {
        let mut sleepers = self.lock();
        // A thread that changes the word wakes afterwards, under the lock. So this thread sees the change or is woken.
        if self.0.load(Ordering::SeqCst) != expected {
            return false;
        }
        sleepers.last += 1;
        let own = sleepers.last;
        sleepers.asleep.push_back(own);
        loop {
            let left = left(deadline);
            sleepers = match left {
                None => self.2.wait(sleepers).unwrap_or_else(PoisonError::into_inner),
                Some(left) => self.2.wait_timeout(sleepers, left).unwrap_or_else(PoisonError::into_inner).0,
            };
            let Some(place) = sleepers.asleep.iter().position(|asleep| *asleep == own) else { return true };
            if left.is_some() {
                // Perhaps before the deadline, which callers expect.
                sleepers.asleep.remove(place);
                return false;
            }
        }
    }

    /// Wakes up to `threads` sleepers, those first that have slept longest, and returns the number of threads that it
    /// woke.
    pub(crate) fn wake(&self, threads: u32) -> u32 {
        let mut sleepers = self.lock();
        let woken = sleepers.asleep.len().min(threads as usize);
        sleepers.asleep.drain(..woken);
        if woken > 0 {
            // All look for themselves in the list: there are few.
            self.2.notify_all();
        }
        woken as u32
    }

    fn lock(&self) -> MutexGuard<'_, Sleepers> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the time until a deadline; `None` if it never comes.
fn left(deadline: Deadline) -> Option<Duration> {
    let (nanos, now) = match deadline {
        Deadline::Never => return None,
        Deadline::Steady(nanos) => {
            let now = clock_gettime(ClockId::Monotonic);
            (nanos, Duration::new(now.tv_sec.cast_unsigned(), now.tv_nsec as u32))
        }
        Deadline::System(nanos) => (nanos, SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()),
    };
    Some(Duration::from_nanos(nanos).saturating_sub(now))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    /// Starts a thread that sleeps, and returns when it does.
    fn sleeper(futex: &Arc<Futex>) -> thread::JoinHandle<bool> {
        let before = futex.lock().last;
        let of_thread = Arc::clone(futex);
        let thread = thread::spawn(move || of_thread.wait(0, Deadline::Never));
        while futex.lock().last == before {
            thread::yield_now();
        }
        thread
    }

    #[test]
    fn another_value_is_not_slept_on() {
        let futex = Futex::new();
        assert!(!futex.wait(1, Deadline::Never));
        assert_eq!(futex.wake(1), 0);
    }

    #[test]
    fn as_many_are_woken_as_are_counted() {
        let futex = Arc::new(Futex::new());
        let sleepers = [sleeper(&futex), sleeper(&futex), sleeper(&futex)];
        assert_eq!(futex.wake(2), 2);
        assert_eq!(futex.lock().asleep, [3]);
        assert_eq!(futex.wake(u32::MAX), 1);
        for sleeper in sleepers {
            assert!(sleeper.join().unwrap());
        }
    }

    #[test]
    fn a_deadline_that_has_passed_ends_it_at_once() {
        let futex = Futex::new();
        assert!(!futex.wait(0, Deadline::Steady(1)));
        assert!(!futex.wait(0, Deadline::System(1)));
        assert_eq!(futex.wake(1), 0);
    }
}
