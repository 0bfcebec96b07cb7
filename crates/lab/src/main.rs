//! The `rospin` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    rospin_lab::main()
}
