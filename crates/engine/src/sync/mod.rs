//! Locks, atomics and threads of the engine: the operating system's, or a model checker's.
//!
//! Everything in this crate that more than one thread touches comes from here or from [`lock_free`](crate::lock_free).
//! Built with `--cfg rospin_shuttle`, both use shuttle. It runs one thread at a time, and decides at every lock and
//! every atomic access which thread goes on. `tests/explore.rs` runs random programs under it.

pub(crate) mod brief;
#[cfg(not(rospin_shuttle))]
mod inheriting;
#[cfg(not(rospin_shuttle))]
mod kernel;
#[cfg(not(rospin_shuttle))]
mod native;
#[cfg(rospin_shuttle)]
mod shuttle;

#[cfg(rospin_shuttle)]
pub(crate) use self::shuttle::*;
#[cfg(rospin_shuttle)]
pub use self::shuttle::{Mutex, MutexGuard};
#[cfg(not(rospin_shuttle))]
pub(crate) use native::*;
#[cfg(not(rospin_shuttle))]
pub use native::{Mutex, MutexGuard};
