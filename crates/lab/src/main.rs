//! The `rospin` command: published executor experiments, rerun on this machine.
//!
//! A plain `rospin` runs the Autoware reference system under every executor and prints who won.

mod callback_order;
mod children;
mod cli;
mod crunch;
mod experiments;
mod latency;
mod machine;
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
mod tracker;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
