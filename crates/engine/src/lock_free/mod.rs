//! The lock-free pieces:
//! - the [`inbox`] that notifiers raise flags in,
//! - the [`mute`] that tells publishers that they need not notify,
//! - the [`parker`] that idle threads sleep in,
//! - the [`ring`] that holds the messages of a subscription,
//! - the [`dial`] that shows ROS time,
//! - the [`log`] that a thread records events in,
//! - the [`news`] that others leave for an executor,
//! - the [`dues`] that sleepers wait for,
//! - the [`presence`] of an executor that has to be waited for,
//! - the flag that a count is [`watched`].
//!
//! They know nothing of entities or executors, so `tests/loom.rs` can check every interleaving of them.

pub(crate) mod depth;
pub(crate) mod dial;
pub(crate) mod dues;
pub(crate) mod inbox;
pub(crate) mod log;
pub(crate) mod mute;
pub(crate) mod news;
pub(crate) mod owning;
pub(crate) mod parker;
#[cfg(all(any(test, not(target_os = "linux"), rospin_portable), not(rospin_loom), not(rospin_shuttle)))]
mod portable_futex;
pub(crate) mod prefetch;
pub(crate) mod presence;
pub(crate) mod ring;
pub(crate) mod sync;
pub(crate) mod watched;

#[cfg(all(test, not(rospin_loom)))]
mod stress;
