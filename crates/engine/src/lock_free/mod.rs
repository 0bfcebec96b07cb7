//! The six lock-free pieces:
//! - the [`inbox`] that notifiers raise flags in,
//! - the [`mute`] that tells publishers that they need not notify,
//! - the [`parker`] that idle threads sleep in,
//! - the [`ring`] that holds the messages of a subscription,
//! - the [`dial`] that shows ROS time,
//! - the [`log`] that a thread records events in.
//!
//! They know nothing of entities or executors, so `tests/loom.rs` can check every interleaving of them.

pub(crate) mod depth;
pub(crate) mod dial;
pub(crate) mod inbox;
pub(crate) mod log;
pub(crate) mod mute;
pub(crate) mod owning;
pub(crate) mod parker;
pub(crate) mod prefetch;
pub(crate) mod ring;
pub(crate) mod sync;

#[cfg(all(test, not(rospin_loom)))]
mod stress;
