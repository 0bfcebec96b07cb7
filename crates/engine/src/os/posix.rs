//! Calls of the C library that every Unix has: forks, and the end of the process.

/// Has `run` called in every process that the C library's `fork` creates, before `fork` returns there.
pub(crate) fn in_forked_child(run: extern "C" fn()) {
    // SAFETY: `run` is a function, so it is valid for as long as the process lives.
    let status = unsafe { libc::pthread_atfork(None, None, Some(run)) };
    // The call fails only if memory is exhausted. Then forks are not noticed, which matters only to programs that fork.
    debug_assert_eq!(status, 0);
}

/// Has `run` called when `main` returns, or `exit` is called.
pub(crate) fn at_exit(run: extern "C" fn()) {
    // SAFETY: `run` is a function, so it is valid for as long as the process lives.
    let status = unsafe { libc::atexit(run) };
    // The call fails only if memory is exhausted. Then recordings of the process have no summary.
    debug_assert_eq!(status, 0);
}
