//! The lab: published executor experiments, rerun on this machine, and the other executors' designs that rospin is compared with.
//!
//! [`command`] and [`run`] are `rospin lab`; nothing of rospin's other commands is here, and nothing else depends on it.

mod callback_order;
mod children;
mod command;
mod crunch;
mod experiment;
mod experiments;
mod inversion;
mod latency;
mod middleware;
mod reference_system;
mod robot;
mod tail_plot;
mod throughput;
mod timers;
mod tracker;
mod wire;

use std::sync::OnceLock;

pub use command::{DEFAULT_EXPERIMENT, NAME, command, run};

/// Function that returns the number of allocations so far. It is set only in the program whose allocator counts.
static ALLOCATIONS: OnceLock<fn() -> u64> = OnceLock::new();

/// Sets the function that returns the number of allocations so far, in a program whose allocator counts.
pub fn count_allocations_by(allocations: fn() -> u64) {
    let _ = ALLOCATIONS.set(allocations);
}

/// Returns how many allocations there have been in this process; `None` if nobody counts them.
pub(crate) fn allocations() -> Option<u64> {
    ALLOCATIONS.get().map(|count| count())
}
