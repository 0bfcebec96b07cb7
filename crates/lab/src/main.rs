//! The `rospin` command: published executor experiments, rerun on this machine.
//!
//! A plain `rospin` runs the Autoware reference system under every executor and prints who won.

mod cli;
mod experiments;
mod machine;
mod outputs;
mod reference_system;
mod stats;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
