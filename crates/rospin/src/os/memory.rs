//! Memory that is there when it is needed: page faults in the middle of a callback cost more than most callbacks.

use std::io;

use rustix::mm::{MlockAllFlags, mlockall};

/// Keeps all memory of the process in RAM, what it has and what it will get.
///
/// Every page of the process's memory then exists from its allocation on, the threads' stacks included: threads that are
/// started later want their whole stack at once.
///
/// # Errors
/// Without the right to lock that much: `CAP_IPC_LOCK`, or a limit (`ulimit -l`) that is high enough.
pub fn lock_memory() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// Touches the next `bytes` of the calling thread's stack, so that the first callback that needs them does not wait for the
/// kernel to provide them. No more than the stack has: a thread that Rust starts has 2 MiB by default.
pub fn prefault_stack(bytes: usize) {
    const FRAME: usize = 16 * 1024;
    if bytes > 0 {
        let frame = std::hint::black_box([0_u8; FRAME]);
        prefault_stack(bytes.saturating_sub(FRAME));
        // Still in use behind the call, so that it cannot become a loop over one frame.
        std::hint::black_box(frame);
    }
}
