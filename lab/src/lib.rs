//! The lab: published executor experiments, rerun on this machine, and the other executors' designs that rospin is
//! compared with.
//!
//! This is the program `rospin-lab`, which `rospin lab` runs. A workspace of its own: nothing of rospin depends on it.
//! It may import everything.

mod accelerator;
mod callback_order;
mod children;
mod command;
mod crunch;
mod experiment;
mod experiments;
mod inversion;
mod ip;
#[cfg(feature = "lane-keeping")]
mod lane_keeping;
mod latency;
#[cfg(any(test, not(feature = "lane-keeping")))]
mod left_out;
mod middleware;
mod reference_system;
mod robot;
mod soak;
mod tail_plot;
mod throughput;
mod timers;
mod tracker;
mod wire;

use std::sync::OnceLock;

pub use command::main;

/// Use of the heap by the Rust code of this process.
#[derive(Clone, Copy, Debug)]
pub struct HeapCounts {
    /// Number of allocations and reallocations so far.
    pub allocations: u64,
    /// Bytes that are allocated now.
    pub live_bytes: u64,
}

/// Function that counts. Only `rospin-counting` sets it, the program whose allocator counts.
static COUNTS: OnceLock<fn() -> HeapCounts> = OnceLock::new();

/// Sets the function that returns what Rust code has done with the heap so far. A program whose allocator counts calls
/// this once, before it runs an experiment. Later calls change nothing.
pub fn count_heap_by(counts: fn() -> HeapCounts) {
    let _ = COUNTS.set(counts);
}

/// Returns what Rust code has done with the heap so far; `None` in a program whose allocator does not count.
pub(crate) fn heap_counts() -> Option<HeapCounts> {
    COUNTS.get().map(|count| count())
}

/// Returns the number of heap allocations of this process so far; `None` in a program whose allocator does not count.
pub(crate) fn allocations() -> Option<u64> {
    heap_counts().map(|counts| counts.allocations)
}
