//! A lock with priority inheritance, on a futex.
//!
//! The word is 0, or the number of the thread that has the lock, with a bit that the kernel sets while others wait. Taking
//! and giving back a lock that nobody else wants is one atomic instruction each. Whoever has to wait tells the kernel, which
//! has the owner run at the waiter's priority until it unlocks (`FUTEX_LOCK_PI`, see `futex(2)`).

use std::cell::Cell;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};

use crate::os::{in_forked_child, is_real_time};

/// How often a thread looks whether the lock is free before it asks the kernel: what is done under these locks takes less
/// time than going to sleep. Few enough to be a matter of microseconds where the owner cannot run meanwhile, on one core.
const LOOKS: u32 = 100;

/// How often an ordinary thread lets others run before it asks the kernel. It has no urgency to pass on; and a lock that was
/// handed over to a sleeping thread stays taken until that runs, which makes others sleep in their turn.
const YIELDS: u32 = 16;

/// The kernel's bit for a lock that threads sleep for (`FUTEX_WAITERS`). Such a lock is handed over, and never free between.
const HAS_WAITERS: u32 = 1 << 31;

/// The lock without what it protects.
#[derive(Debug)]
pub struct Inheriting(AtomicU32);

// SAFETY: `lock` and `try_lock` return success only after changing the word from 0 to the caller's number, or after the kernel
// did so for it; the word is 0 again only after `unlock`, which the owner alone may call. Acquire and release order what is
// done under the lock; the kernel's changes of the word are full barriers.
unsafe impl lock_api::RawMutex for Inheriting {
    // The kernel wants the unlocking thread to be the owner.
    type GuardMarker = lock_api::GuardNoSend;

    const INIT: Self = Self(AtomicU32::new(0));

    #[inline]
    fn lock(&self) {
        if !self.try_lock() {
            self.wait();
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.0.compare_exchange(0, own_number(), Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline]
    unsafe fn unlock(&self) {
        if self.0.compare_exchange(own_number(), 0, Ordering::Release, Ordering::Relaxed).is_err() {
            self.hand_over();
        }
    }
}

impl Inheriting {
    #[cold]
    fn wait(&self) {
        for _ in 0..LOOKS {
            std::hint::spin_loop();
            match self.0.load(Ordering::Relaxed) {
                0 if lock_api::RawMutex::try_lock(self) => return,
                word if word & HAS_WAITERS != 0 => break,
                _ => {}
            }
        }
        for _ in 0..if is_real_time() { 0 } else { YIELDS } {
            std::thread::yield_now();
            if lock_api::RawMutex::try_lock(self) {
                return;
            }
        }
        loop {
            match futex::lock_pi(&self.0, Flags::PRIVATE, None) {
                Ok(()) => break,
                // A signal came, or the owner is just ending.
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(Errno::DEADLK) => panic!("a lock of the engine was locked twice by one thread; please report this"),
                // Nobody will ever unlock it.
                Err(Errno::SRCH) => panic!("a lock of the engine was left locked by a thread that has ended"),
                // A kernel without priority inheritance (`CONFIG_FUTEX_PI`), or one that is emulated.
                Err(_) => std::thread::sleep(Duration::from_micros(50)),
            }
            if lock_api::RawMutex::try_lock(self) {
                return;
            }
        }
        // The kernel has ordered it already. With this, thread sanitizers see so, too.
        self.0.load(Ordering::Acquire);
    }

    /// Gives the lock to the most urgent of those who wait.
    #[cold]
    fn hand_over(&self) {
        // As above.
        self.0.fetch_or(0, Ordering::Release);
        loop {
            match futex::unlock_pi(&self.0, Flags::PRIVATE) {
                Ok(()) => return,
                Err(Errno::INTR | Errno::AGAIN) => {}
                // Locked before a fork, by the thread that this one was then: nobody waits in the kernel. Nor where that knows
                // of no such locks.
                Err(_) => return self.0.store(0, Ordering::Release),
            }
        }
    }
}

thread_local! {
    /// The calling thread's number in the kernel; 0 if it was not asked for yet.
    static OWN_NUMBER: Cell<u32> = const { Cell::new(0) };
}

#[inline]
fn own_number() -> u32 {
    match OWN_NUMBER.get() {
        0 => ask_for_number(),
        number => number,
    }
}

#[cold]
fn ask_for_number() -> u32 {
    /// The only thread of a process that was forked off has another number.
    extern "C" fn forget_number() {
        OWN_NUMBER.set(0);
    }
    static REGISTER: Once = Once::new();
    REGISTER.call_once(|| in_forked_child(forget_number));
    let number = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
    OWN_NUMBER.set(number);
    number
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use rustix::thread::Pid;

    use super::super::Mutex;
    use crate::os::{OsScheduling, ThreadOptions};

    /// The fields of a thread's line in `/proc` behind its name, from the third one on.
    fn stat(thread: Pid) -> Vec<String> {
        let line = std::fs::read_to_string(format!("/proc/self/task/{}/stat", thread.as_raw_nonzero())).unwrap();
        let (_, fields) = line.rsplit_once(") ").unwrap();
        fields.split(' ').map(str::to_owned).collect()
    }

    /// What the kernel schedules it by at this moment: below zero for real-time priorities.
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
    fn who_waits_gets_the_lock_when_it_is_given_back() {
        let lock = Mutex::new(0);
        let (is_waiting, waiting) = mpsc::channel();
        std::thread::scope(|scope| {
            let mut held = lock.lock();
            scope.spawn(|| {
                is_waiting.send(rustix::thread::gettid()).unwrap();
                assert_eq!(*lock.lock(), 1);
            });
            let thread = waiting.recv().unwrap();
            // Until the kernel has it in its list of waiters.
            while stat(thread)[0] != "S" {
                std::thread::yield_now();
            }
            *held = 1;
        });
    }

    #[test]
    #[should_panic(expected = "a thread that has ended")]
    fn a_lock_that_nobody_will_unlock_is_told() {
        let lock = Mutex::new(());
        std::thread::scope(|scope| {
            scope.spawn(|| std::mem::forget(lock.lock()));
        });
        // The scope is over a moment before the kernel's thread is.
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
