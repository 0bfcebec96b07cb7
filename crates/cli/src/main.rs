//! The `rospin` command.

use std::process::ExitCode;

/// Allocator whose `free` takes no lock, unlike the C library's. So an urgent thread that frees memory does not wait
/// for the ordinary thread that allocated it. `rospin lab inversion` measures that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rospin_cli::main()
}
