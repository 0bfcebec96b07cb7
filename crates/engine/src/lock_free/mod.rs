//! The five lock-free pieces: the inbox that notifiers push to, the muting of those that need not, the parking of idle
//! threads, the ring behind in-process topics, and the dial that shows ROS time.
//!
//! They know nothing of entities or executors, so that `tests/loom.rs` can check every interleaving of them.

pub(crate) mod dial;
pub(crate) mod inbox;
pub(crate) mod mute;
pub(crate) mod parker;
pub(crate) mod ring;
mod sync;

#[cfg(all(test, not(rospin_loom)))]
mod stress;
