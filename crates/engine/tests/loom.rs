//! Checks every interleaving of the six lock-free pieces and of the brief lock, in every order that the memory model
//! allows.
//!
//! `.ci/loom.sh` runs it. Each model was seen to fail for certain wrong versions of the code, which its text names.
//!
//! Loom derives further interleavings from the last access to an object before a write. A thread that reads and then
//! writes, as a push does, hides an earlier read of another thread. So in each model the thread that reads first is
//! spawned last: the first interleaving has the writes before that read, and loom finds the others from it.
#![cfg(rospin_loom)]

#[path = "../src/lock_free/mod.rs"]
#[allow(dead_code, reason = "no model needs all of it")]
mod lock_free;

/// Stand-in for the engine's module `sync`, from which the brief lock gets its backoff.
mod sync {
    pub(crate) fn back_off(_: u32) {
        loom::thread::yield_now();
    }
}

#[path = "../src/sync/brief.rs"]
mod brief;
#[path = "loom/brief_lock.rs"]
mod brief_lock;
#[path = "loom/dial.rs"]
mod dial;
#[path = "loom/inbox.rs"]
mod inbox;
#[path = "loom/log.rs"]
mod log;
#[path = "loom/mute.rs"]
mod mute;
#[path = "loom/parking.rs"]
mod parking;
#[path = "loom/ring.rs"]
mod ring;
#[path = "loom/shutdown.rs"]
mod shutdown;

use loom::cell::UnsafeCell;

/// A value that one thread writes once and another one reads. Loom fails if the read is not ordered after the write.
struct Written(UnsafeCell<u32>);

// SAFETY: loom checks every access. The models test that the accesses are ordered.
unsafe impl Sync for Written {}

impl Written {
    fn nothing() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn write(&self, value: u32) {
        // SAFETY: loom checks the access.
        self.0.with_mut(|cell| unsafe { *cell = value });
    }

    fn read(&self) -> u32 {
        // SAFETY: loom checks the access.
        self.0.with(|cell| unsafe { *cell })
    }
}
