//! Locks and atomics of nodes: the standard library's, or a model checker's.
//!
//! Built with `--cfg rospin_shuttle`, they are shuttle's, as those of the engine are. It runs one thread at a time, and
//! decides at every lock and every atomic access which thread goes on. `tests/nodes.rs` runs random programs under it.
//!
//! Statics, counters that nothing depends on, and cells that are set once are the standard library's everywhere. None
//! of them is locked while a thread of the model may be replaced by another one, apart from a node's own group, which
//! the programs never create.

#[cfg(rospin_shuttle)]
pub(crate) use shuttle::sync::{Mutex, MutexGuard, atomic};
#[cfg(rospin_shuttle)]
pub(crate) use shuttle::thread_local;
#[cfg(not(rospin_shuttle))]
pub(crate) use std::sync::{Mutex, MutexGuard, atomic};
#[cfg(not(rospin_shuttle))]
pub(crate) use std::thread_local;

/// Returns the bytes of a random UUID (version 4). A model checker's seed decides it, so that a seed leads to the same
/// run each time.
pub(crate) fn random_uuid() -> [u8; 16] {
    #[cfg(rospin_shuttle)]
    let uuid = {
        use shuttle::rand::RngCore;
        let mut bytes = [0; 16];
        shuttle::rand::thread_rng().fill_bytes(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    };
    #[cfg(not(rospin_shuttle))]
    let uuid = uuid::Uuid::new_v4();
    uuid.into_bytes()
}
