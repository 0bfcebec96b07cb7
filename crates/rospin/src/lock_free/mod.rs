//! The three lock-free pieces: the inbox that notifiers push to, the parking of idle threads, and the ring behind
//! in-process topics.
//!
//! They know nothing of entities or executors, so that `tests/loom.rs` can check every interleaving of them.

pub(crate) mod inbox;
pub(crate) mod parker;
pub(crate) mod ring;
mod sync;

#[cfg(all(test, not(rospin_loom)))]
mod stress;
