//! Memory that is there when it is needed: page faults in the middle of a callback cost more than most callbacks.

use std::io;

use rustix::mm::{MlockAllFlags, mlockall};

use super::kernel;

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
/// kernel to provide them. Touches no more than the stack has, and says how many: a thread that Rust starts has 2 MiB by
/// default (`RUST_MIN_STACK`).
pub fn prefault_stack(bytes: usize) -> usize {
    if bytes == 0 {
        return 0;
    }
    let here = std::ptr::from_ref(&bytes).addr();
    // Where nobody tells how far it goes, nothing is touched.
    let end = kernel::end_of_stack().map_or(here, |end| end.saturating_add(RESERVE));
    let bytes = bytes.min(here.saturating_sub(end));
    touch(here - bytes, bytes.div_ceil(FRAME));
    bytes
}

/// Left alone at the end of a stack: what touching the rest takes, and a signal handler.
const RESERVE: usize = 64 * 1024;

/// What one call touches.
const FRAME: usize = 4096;

/// Touches the stack down to that address, in so many calls at most: a sanitizer may keep frames elsewhere.
fn touch(end: usize, calls: usize) {
    let frame = [0_u8; FRAME];
    let here = std::ptr::from_ref(std::hint::black_box(&frame)).addr();
    if here > end && calls > 1 {
        touch(end, calls - 1);
    }
    // Still in use behind the call, so that it cannot become a loop over one frame.
    std::hint::black_box(&frame);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_of_a_stack_is_touched_than_there_is() {
        let touched = |bytes| std::thread::Builder::new().stack_size(1024 * 1024).spawn(move || prefault_stack(bytes));
        let touched = |bytes| touched(bytes).unwrap().join().unwrap();
        assert_eq!((touched(0), touched(768 * 1024)), (0, 768 * 1024));
        // Whoever starts a thread may round up.
        assert!((768 * 1024..2048 * 1024).contains(&touched(usize::MAX)));
    }
}
