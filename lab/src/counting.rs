//! The `rospin-lab` program with an allocator that counts allocations and reallocations.
//!
//! This is a program of its own, since counting takes time. `rospin lab throughput` and `rospin lab wire` run it only
//! to count.

use std::alloc::System;
use std::process::ExitCode;

use rospin_lab::HeapCounts;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    rospin_lab::count_heap_by(|| {
        let counts = ALLOCATOR.stats();
        HeapCounts {
            allocations: (counts.allocations + counts.reallocations) as u64,
            live_bytes: counts.bytes_allocated.saturating_sub(counts.bytes_deallocated) as u64,
        }
    });
    rospin_lab::main()
}
