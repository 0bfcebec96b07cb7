//! A model of the kernel's locks with priority inheritance, in place of `src/sync/kernel.rs`.

use std::cell::Cell;

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::{Condvar, Mutex};

/// The kernel's bit for a lock that threads sleep for.
const HAS_WAITERS: u32 = 1 << 31;

/// The word of a lock, with the threads that sleep for it in the order in which they came.
pub(super) struct Word {
    pub(super) word: AtomicU32,
    sleepers: Mutex<Vec<u32>>,
    handed_over: Condvar,
}

impl std::fmt::Debug for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Word")
    }
}

/// The reasons for which the kernel does not lock or unlock.
pub(super) enum Refusal {
    Again,
    Deadlock,
    OwnerHasEnded,
    Unknown,
}

impl Word {
    pub(super) fn new() -> Self {
        Self { word: AtomicU32::new(0), sleepers: Mutex::new(Vec::new()), handed_over: Condvar::new() }
    }

    pub(super) fn lock(&self) -> Result<(), Refusal> {
        let me = own_number();
        let mut sleepers = self.sleepers.lock().unwrap();
        let mut seen = 0;
        loop {
            // A free lock is the caller's, if it is quick. Otherwise the owner learns that somebody sleeps.
            let wanted = if seen == 0 { me } else { seen | HAS_WAITERS };
            match self.word.compare_exchange(seen, wanted, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(0) => return Ok(()),
                Ok(_) => break,
                Err(now) if now & !HAS_WAITERS == me => return Err(Refusal::Deadlock),
                Err(now) => seen = now,
            }
        }
        sleepers.push(me);
        while sleepers.contains(&me) {
            sleepers = self.handed_over.wait(sleepers).unwrap();
        }
        Ok(())
    }

    pub(super) fn unlock(&self) -> Result<(), Refusal> {
        let mut sleepers = self.sleepers.lock().unwrap();
        if self.word.load(Ordering::Relaxed) & !HAS_WAITERS != own_number() {
            return Err(Refusal::Unknown);
        }
        if sleepers.is_empty() {
            self.word.swap(0, Ordering::Relaxed);
        } else {
            let next = sleepers.remove(0);
            self.word.swap(if sleepers.is_empty() { next } else { next | HAS_WAITERS }, Ordering::Relaxed);
            self.handed_over.notify_all();
        }
        Ok(())
    }
}

loom::thread_local! {
    static OWN_NUMBER: Cell<u32> = Cell::new(0);
}

/// Gives the calling thread a number.
pub(super) fn be_number(number: u32) {
    OWN_NUMBER.with(|own| own.set(number));
}

pub(super) fn own_number() -> u32 {
    OWN_NUMBER.with(Cell::get)
}

pub(super) fn is_real_time() -> bool {
    true
}

pub(super) fn yield_now() {
    loom::thread::yield_now();
}

pub(super) fn nap() {
    loom::thread::yield_now();
}
