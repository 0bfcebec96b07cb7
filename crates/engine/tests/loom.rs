//! Checks every interleaving of the lock-free pieces and of the locks, in every order that the memory model allows.
//!
//! `.ci/loom.sh` runs it. Each model was seen to fail for certain wrong versions of the code, which its text names.
//! `.ci/orderings.py` weakens each ordering and leaves out each fence, one at a time, and prints which model fails.
//!
//! | between | protocol | models |
//! | --- | --- | --- |
//! | notifiers and the executor | flags, marks and times in `inbox.rs` | `inbox`, with the parker `parking` |
//! | publishers and a subscription | `ring.rs`, `mute.rs`, and both with inbox and parker | `ring`, `mute`, `queue` |
//! | whoever makes work and idle threads | `parker.rs` | `parking` |
//! | whoever changes an executor and its loop | `news.rs`, with the lock of the state | `news` |
//! | sleepers and the executor's loop | `dues.rs`, with the news | `dues` |
//! | ROS time and executors | `dial.rs` and its watch; `presence.rs` at the end of a spin | `dial`, `presence` |
//! | whoever counts losses and watchers | `watched.rs` | `watched` |
//! | threads of a spin, and whoever halts it | flags of `shared.rs` and `spin_call.rs`, with the parker | `shutdown` |
//! | threads and the recording thread | `log.rs` | `log` |
//! | threads of an executor | `sync/brief.rs` | `brief_lock` |
//! | threads of different urgency | `sync/inheriting.rs`, with a model of the kernel | `inheriting_lock` |
//!
//! Other atomics of the engine are counts and flags that are written under a lock, or that nothing else depends on.
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
#[path = "loom/dues.rs"]
mod dues;
#[path = "loom/inbox.rs"]
mod inbox;
#[path = "../src/sync/inheriting.rs"]
mod inheriting;
#[path = "loom/inheriting_lock.rs"]
mod inheriting_lock;
#[path = "loom/kernel.rs"]
mod kernel;
#[path = "loom/log.rs"]
mod log;
#[path = "loom/mute.rs"]
mod mute;
#[path = "loom/news.rs"]
mod news;
#[path = "loom/parking.rs"]
mod parking;
#[path = "loom/presence.rs"]
mod presence;
#[path = "loom/queue.rs"]
mod queue;
#[path = "loom/ring.rs"]
mod ring;
#[path = "loom/shutdown.rs"]
mod shutdown;
#[path = "loom/watched.rs"]
mod watched;

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
