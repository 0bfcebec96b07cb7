//! The kernel as [`os`](crate::os) sees it on systems other than Linux: everything works, and nothing of real time.
//!
//! The functions are those of `kernel.rs`. Settings are refused, so that reports name them as missing, and nothing can
//! be read back.

use std::cell::Cell;
use std::ffi::CString;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rospin_core::OsScheduling;
use rustix::process::Pid;

/// The scheduling of a thread, as a kernel has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Attributes {
    pub(crate) scheduling: OsScheduling,
    pub(crate) reset_on_fork: bool,
}

/// The time slice of an ordinary thread, and what the threads that it starts inherit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slicing {
    pub(crate) slice: Duration,
    pub(crate) nice: i32,
    pub(crate) resets_on_fork: bool,
}

/// The calling thread's scheduling, which nothing here changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Saved;

impl Saved {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    pub(crate) fn give_back(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the error with which every setting fails here, and logs once that this system has none of them.
fn refused<T>() -> io::Result<T> {
    static TOLD: std::sync::Once = std::sync::Once::new();
    TOLD.call_once(|| {
        let system = std::env::consts::OS;
        log::warn!(target: "rospin", "on {system}, programs run without real-time priorities, cores and locked memory: these need Linux");
    });
    Err(io::Error::new(io::ErrorKind::Unsupported, "only Linux has it"))
}

pub(crate) fn read(_: Option<Pid>) -> io::Result<Attributes> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn write(_: Option<Pid>, _: Attributes) -> io::Result<()> {
    refused()
}

pub(crate) const fn is_real_time() -> bool {
    false
}

pub(crate) const fn slicing() -> Option<Slicing> {
    None
}

pub(crate) const fn slice() -> Option<Duration> {
    None
}

pub(crate) fn set_slice(_: Duration, _: bool) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn timer_slack() -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn set_timer_slack(_: u64) -> io::Result<()> {
    refused()
}

/// Returns the cores that a thread may use: all.
pub(crate) fn cores(_: Option<Pid>) -> io::Result<Vec<u16>> {
    let count = std::thread::available_parallelism()?.get();
    Ok((0..u16::try_from(count).unwrap_or(u16::MAX)).collect())
}

pub(crate) fn set_cores(_: Option<Pid>, _: &[u16]) -> io::Result<()> {
    refused()
}

pub(crate) fn lock_memory() -> io::Result<()> {
    refused()
}

/// Returns a number of the calling thread that no other thread of the process has or had.
pub(crate) fn thread_number() -> Pid {
    static LAST: AtomicU32 = AtomicU32::new(0);
    thread_local! {
        static NUMBER: Cell<u32> = const { Cell::new(0) };
    }
    if NUMBER.get() == 0 {
        NUMBER.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
    }
    Pid::from_raw(NUMBER.get().cast_signed()).expect("fewer than 2^31 threads have been started")
}

/// Returns true for the main thread. Here its number does not say so, and its name is its own.
pub(crate) const fn is_main(_: Pid) -> bool {
    false
}

/// Returns the lowest address of the calling thread's stack; `None` because it is not needed: nothing is locked.
pub(crate) const fn end_of_stack() -> Option<usize> {
    None
}

/// Threads keep the names that they began with.
pub(crate) fn rename_thread(_: &str) -> Option<CString> {
    None
}

pub(crate) fn name_thread(_: &CString) {}
