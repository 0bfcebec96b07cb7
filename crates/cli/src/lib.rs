//! The `rospin` command: what a machine can promise, whether the deadlines of a described system hold, simulation, and
//! deployment files.
//!
//! `rospin lab ARGS` is handed over to the crate `rospin-lab`, and so is a plain `rospin`, which runs the Autoware
//! reference system under every executor and prints who won.

mod analyze;
mod command_line;
mod deploy;
mod doctor;
#[cfg(test)]
mod faults;
mod isolated;
mod replay;
mod scenario_file;
mod simulate;
mod top;
mod trace;

pub use command_line::main;

/// Lets the experiments report numbers of allocations, in a program whose allocator counts them.
pub use rospin_lab::count_allocations_by;
