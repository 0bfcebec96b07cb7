//! The `rospin` command: published executor experiments, rerun on this machine.
//!
//! A plain `rospin` runs the Autoware reference system under every executor and prints who won.

mod analyze;
mod callback_order;
mod children;
mod cli;
mod crunch;
mod deploy;
mod doctor;
mod experiments;
mod latency;
mod machine;
mod output_options;
mod outputs;
mod page;
#[cfg(test)]
mod parity;
mod process;
mod progress;
mod reference_system;
mod simulate;
mod stats;
mod svg;
mod synthetic;
mod text_table;
mod timeline;
mod timers;
mod tracker;
mod wake_up;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
