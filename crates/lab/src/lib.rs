//! The `rospin` command: published executor experiments, rerun on this machine; simulation and analysis of described systems;
//! deployment files; and what a machine can promise.
//!
//! A plain `rospin` runs the Autoware reference system under every executor and prints who won.

mod analyze;
mod callback_order;
mod children;
mod choice;
mod cli;
mod crunch;
mod deploy;
mod doctor;
mod experiments;
mod inversion;
mod latency;
mod machine;
mod number;
mod output_options;
mod outputs;
mod page;
#[cfg(test)]
mod parity;
mod process;
mod progress;
mod reference_system;
mod scenario_file;
mod simulate;
mod stats;
mod svg;
mod synthetic;
mod tail_plot;
mod text_table;
mod throughput;
mod timeline;
mod timers;
mod tracker;
mod wake_up;

use std::process::ExitCode;
use std::sync::OnceLock;

/// Runs the command as its arguments say.
#[must_use]
pub fn main() -> ExitCode {
    cli::main()
}

/// As [`main`], in a program whose allocator counts: `allocations` says how many there have been.
#[must_use]
pub fn main_counting(allocations: fn() -> u64) -> ExitCode {
    let _ = ALLOCATIONS.set(allocations);
    cli::main()
}

/// Only in the program whose allocator counts.
static ALLOCATIONS: OnceLock<fn() -> u64> = OnceLock::new();

/// How many allocations there have been in this process; `None` if nobody counts them.
pub(crate) fn allocations() -> Option<u64> {
    ALLOCATIONS.get().map(|count| count())
}
