//! Every interleaving, and every order that the memory model allows, of the five lock-free pieces.
//!
//! `.ci/loom.sh` runs it. Each model was seen to fail for wrong versions of the code it is about; its text says which.
//!
//! Loom looks for interleavings by the last access to an object before a write: a thread that reads, then writes (as a push
//! does) hides an earlier read by another one. So the thread that reads first in a model is the one that is spawned last:
//! then the writes come before the read in the first interleaving that is tried, and the others follow from it.
#![cfg(rospin_loom)]

#[path = "../src/lock_free/mod.rs"]
#[allow(dead_code, reason = "no model needs all of it")]
mod lock_free;

#[path = "loom/dial.rs"]
mod dial;
#[path = "loom/inbox.rs"]
mod inbox;
#[path = "loom/mute.rs"]
mod mute;
#[path = "loom/parking.rs"]
mod parking;
#[path = "loom/ring.rs"]
mod ring;
#[path = "loom/shutdown.rs"]
mod shutdown;

use loom::cell::UnsafeCell;

/// A value that one thread writes once and another one reads. Loom fails if the read does not come after the write.
struct Written(UnsafeCell<u32>);

// SAFETY: the models are about whether this holds; loom checks every access.
unsafe impl Sync for Written {}

impl Written {
    fn nothing() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn write(&self, value: u32) {
        // SAFETY: see above.
        self.0.with_mut(|cell| unsafe { *cell = value });
    }

    fn read(&self) -> u32 {
        // SAFETY: see above.
        self.0.with(|cell| unsafe { *cell })
    }
}
