//! The program `rospin-lab`, which `rospin lab` runs.

use std::process::ExitCode;

/// Allocator whose `free` takes no lock, unlike the C library's. So an urgent thread that frees memory does not wait
/// for the ordinary thread that allocated it. The experiment `inversion` measures that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rospin_lab::main()
}
