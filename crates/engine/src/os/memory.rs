//! Memory that is present before it is needed. A page fault in a callback costs more than most callbacks.

use std::io;

use super::kernel;

/// Locks all memory of the process into RAM, present and future.
///
/// Every page is then present from its allocation on. That includes stacks: a thread that is started later takes memory
/// for its whole stack at once.
///
/// # Errors
/// If the process may not lock that much memory. It needs `CAP_IPC_LOCK`, or a limit (`ulimit -l`) that is high enough.
pub fn lock_memory() -> io::Result<()> {
    kernel::lock_memory()
}

/// Touches the next `bytes` of the calling thread's stack, so that the first callback that needs them causes no page
/// faults.
///
/// Returns the number of bytes that were touched, which is less if the stack has less to spare: its last 64 KiB are
/// never touched. A thread that Rust starts has 2 MiB by default (`RUST_MIN_STACK`).
pub fn prefault_stack(bytes: usize) -> usize {
    if bytes == 0 {
        return 0;
    }
    let here = std::ptr::from_ref(&bytes).addr();
    // If the end of the stack is unknown, nothing is touched.
    let end = kernel::end_of_stack().map_or(here, |end| end.saturating_add(RESERVE));
    let bytes = bytes.min(here.saturating_sub(end));
    touch(here - bytes, bytes.div_ceil(FRAME));
    bytes
}

/// The bytes at the end of a stack that are not touched. The last call needs them, and perhaps a signal handler.
const RESERVE: usize = 64 * 1024;

/// Number of bytes that one call touches.
const FRAME: usize = 4096;

/// Touches the stack down to the address `end`, in at most `calls` calls. The limit is for sanitizers, which may keep
/// frames elsewhere, so that `end` is never reached.
fn touch(end: usize, calls: usize) {
    let frame = [0_u8; FRAME];
    let here = std::ptr::from_ref(std::hint::black_box(&frame)).addr();
    if here > end && calls > 1 {
        touch(end, calls - 1);
    }
    // The frame is still used after the recursive call, so that the compiler cannot make a loop of it.
    std::hint::black_box(&frame);
}

#[cfg(all(test, target_os = "linux", not(rospin_portable)))]
mod tests {
    use super::*;

    #[test]
    fn no_more_of_a_stack_is_touched_than_there_is() {
        let touched = |bytes| std::thread::Builder::new().stack_size(1024 * 1024).spawn(move || prefault_stack(bytes));
        let touched = |bytes| touched(bytes).unwrap().join().unwrap();
        assert_eq!((touched(0), touched(768 * 1024)), (0, 768 * 1024));
        // The system may round the size of the thread's stack up.
        assert!((768 * 1024..2048 * 1024).contains(&touched(usize::MAX)));
    }
}
