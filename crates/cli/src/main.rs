//! The `rospin` command.

use std::process::ExitCode;

/// An urgent thread that frees what an ordinary one allocated must not wait for that one: the C library's `free` takes a lock,
/// this one does not. `rospin lab inversion` shows it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rospin_cli::main()
}
