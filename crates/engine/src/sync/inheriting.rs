//! A lock with priority inheritance, on a futex.
//!
//! The futex's word is 0 while the lock is free. Otherwise it is the number of the thread that has the lock, with a bit
//! that the kernel sets while other threads wait. Without contention, locking and unlocking are one atomic instruction
//! each. A thread that has to wait calls the kernel, which has the owner run at the waiter's priority until it unlocks
//! (`FUTEX_LOCK_PI`, see `futex(2)`).
//!
//! Every lock that threads of different urgency take is of this kind. Only a few moves happen under it. No user code
//! runs and nothing is freed there, and allocation is avoided where possible: lists grow into room that was allocated
//! before. The threads of one executor are equally urgent, so `brief.rs` will do for them.
//!
//! [`kernel`](super::kernel) is the kernel's part. `tests/loom/inheriting.rs` has a model of it.

use super::kernel::{self, Refusal, Word};
use crate::lock_free::sync::Ordering;

/// The number of times that a thread looks at the lock before it calls the kernel. The critical sections here take less
/// time than going to sleep. The looks together take only microseconds, since on one core the owner cannot run
/// meanwhile.
const LOOKS: u32 = if cfg!(rospin_loom) { 1 } else { 100 };

/// The number of times that an ordinary thread yields before it calls the kernel. It has no priority to pass on. And a
/// lock that the kernel hands over to a sleeping thread stays taken until that thread runs, which makes other threads
/// sleep, too.
const YIELDS: u32 = if cfg!(rospin_loom) { 1 } else { 16 };

/// The kernel's bit for a lock that threads sleep for (`FUTEX_WAITERS`). The kernel hands such a lock over, so it is
/// never free.
const HAS_WAITERS: u32 = 1 << 31;

/// Lock without the data that it protects.
#[derive(Debug)]
pub struct Inheriting(pub(super) Word);

impl Inheriting {
    #[inline]
    pub(super) fn lock(&self) {
        if !self.try_lock() {
            self.wait();
        }
    }

    #[inline]
    pub(super) fn try_lock(&self) -> bool {
        self.0.word.compare_exchange(0, kernel::own_number(), Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Unlocks the lock, which the calling thread must have locked.
    #[inline]
    pub(super) fn unlock(&self) {
        if self.0.word.compare_exchange(kernel::own_number(), 0, Ordering::Release, Ordering::Relaxed).is_err() {
            self.hand_over();
        }
    }

    #[cold]
    fn wait(&self) {
        for _ in 0..LOOKS {
            std::hint::spin_loop();
            match self.0.word.load(Ordering::Relaxed) {
                0 if self.try_lock() => return,
                word if word & HAS_WAITERS != 0 => break,
                _ => {}
            }
        }
        for _ in 0..if kernel::is_real_time() { 0 } else { YIELDS } {
            kernel::yield_now();
            if self.try_lock() {
                return;
            }
        }
        loop {
            match self.0.lock() {
                Ok(()) => break,
                Err(Refusal::Again) => {}
                Err(Refusal::Deadlock) => {
                    panic!("a lock of the engine was locked twice by one thread; please report this")
                }
                // Nobody will ever unlock.
                Err(Refusal::OwnerHasEnded) => {
                    panic!("a lock of the engine was left locked by a thread that has ended")
                }
                Err(Refusal::Unknown) => kernel::nap(),
            }
            if self.try_lock() {
                return;
            }
        }
        // The kernel has ordered the accesses already. Thread sanitizers and the model of the kernel do not say so, but
        // they see this.
        self.0.word.load(Ordering::Acquire);
    }

    /// Has the kernel hand the lock to the most urgent thread that waits.
    #[cold]
    fn hand_over(&self) {
        // As in `wait`.
        self.0.word.fetch_or(0, Ordering::Release);
        loop {
            match self.0.unlock() {
                Ok(()) => return,
                Err(Refusal::Again) => {}
                // Either the lock was taken before a fork, under the thread's former number, or the kernel has no such
                // locks. In both cases nobody waits in the kernel.
                Err(_) => return self.0.word.store(0, Ordering::Release),
            }
        }
    }
}

#[cfg(all(test, target_os = "linux", not(rospin_loom), not(rospin_portable)))]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::Instant;

    use rustix::thread::Pid;

    use super::super::Mutex;
    use crate::os::{OsScheduling, ThreadOptions};

    /// Returns the fields of a thread's line in `/proc` from the third one on, which follows the name.
    fn stat(thread: Pid) -> Vec<String> {
        let line = std::fs::read_to_string(format!("/proc/self/task/{}/stat", thread.as_raw_nonzero())).unwrap();
        let (_, fields) = line.rsplit_once(") ").unwrap();
        fields.split(' ').map(str::to_owned).collect()
    }

    /// Returns the priority that the kernel uses at this moment: below zero for real-time priorities.
    fn priority(thread: Pid) -> i32 {
        stat(thread)[15].parse().unwrap()
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that could not be made says so")]
    fn the_owner_is_as_urgent_as_who_waits() {
        let lock = Mutex::new(());
        let (send_owner, owner) = mpsc::channel();
        let (release, is_released) = mpsc::channel::<()>();
        let (end, is_over) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let lock = &lock;
            scope.spawn(move || {
                let held = lock.lock();
                send_owner.send(rustix::thread::gettid()).unwrap();
                is_released.recv().unwrap_err();
                drop(held);
                is_over.recv().unwrap_err();
            });
            let owner = owner.recv().unwrap();
            assert!(priority(owner) >= 0);
            let (send_has, has) = mpsc::channel();
            let waiter = scope.spawn(move || {
                let report = ThreadOptions::new().scheduling(OsScheduling::Fifo { priority: 7 }).apply();
                send_has.send(report.shortfalls.is_empty()).unwrap();
                drop(lock.lock());
            });
            if has.recv().unwrap() {
                let start = Instant::now();
                while priority(owner) != -8 {
                    assert!(start.elapsed().as_secs() < 30, "it has {}", priority(owner));
                    std::thread::yield_now();
                }
                drop(release);
                waiter.join().unwrap();
                assert!(priority(owner) >= 0, "it has given it back");
            } else {
                eprintln!("SKIPPED for want of real-time priorities: whether the owner of a lock inherits them");
                drop(release);
            }
            drop(end);
        });
    }

    #[test]
    fn threads_take_turns() {
        let count = Mutex::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20_000).for_each(|_| *count.lock() += 1));
            }
        });
        assert_eq!(count.into_inner(), 80_000);
    }

    #[test]
    fn a_lock_that_is_held_is_not_had() {
        let lock = Mutex::new(());
        let held = lock.lock();
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(lock.try_lock().is_none()));
        });
        drop(held);
        assert!(lock.try_lock().is_some());
    }

    #[test]
    fn a_waiting_thread_gets_the_lock_when_it_is_unlocked() {
        let lock = Mutex::new(0);
        let (is_waiting, waiting) = mpsc::channel();
        std::thread::scope(|scope| {
            let mut held = lock.lock();
            scope.spawn(|| {
                is_waiting.send(rustix::thread::gettid()).unwrap();
                assert_eq!(*lock.lock(), 1);
            });
            let thread = waiting.recv().unwrap();
            // Wait until the kernel has the thread in its list of waiters.
            while stat(thread)[0] != "S" {
                std::thread::yield_now();
            }
            *held = 1;
        });
    }

    #[test]
    #[should_panic(expected = "a thread that has ended")]
    fn a_lock_that_nobody_will_unlock_is_told() {
        let lock = Arc::new(Mutex::new(()));
        let forgotten = Arc::clone(&lock);
        // Joined, not scoped: a scope ends a moment before the kernel has ended its threads, and a lock that is waited
        // for at that moment is handed over.
        std::thread::spawn(move || std::mem::forget(forgotten.lock())).join().unwrap();
        let _never = lock.lock();
    }

    #[test]
    #[should_panic(expected = "locked twice")]
    fn locking_twice_is_told() {
        let lock = Mutex::new(());
        let _held = lock.lock();
        let _again = lock.lock();
    }
}
