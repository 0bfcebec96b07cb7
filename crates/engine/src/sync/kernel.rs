//! The kernel's part of the lock with priority inheritance: what it does with the lock's word, and who asks.

use std::cell::Cell;
use std::sync::Once;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

#[cfg(all(target_os = "linux", not(rospin_portable)))]
use rustix::io::Errno;
#[cfg(all(target_os = "linux", not(rospin_portable)))]
use rustix::thread::futex::{self, Flags};

use crate::os::in_forked_child;
pub(super) use crate::os::is_real_time;

/// The word of a lock.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) word: AtomicU32,
}

/// The reasons for which the kernel does not lock or unlock.
#[cfg_attr(any(not(target_os = "linux"), rospin_portable), expect(dead_code, reason = "there, only the last one is"))]
pub(super) enum Refusal {
    /// A signal interrupted the call, or the owner is just ending.
    Again,
    /// The calling thread has the lock.
    Deadlock,
    /// The thread that has the lock has ended without unlocking it.
    OwnerHasEnded,
    /// Another one. The kernel, or an emulation of it, may have no priority inheritance (`CONFIG_FUTEX_PI`).
    Unknown,
}

#[cfg(all(target_os = "linux", not(rospin_portable)))]
impl From<Errno> for Refusal {
    fn from(error: Errno) -> Self {
        match error {
            Errno::INTR | Errno::AGAIN => Self::Again,
            Errno::DEADLK => Self::Deadlock,
            Errno::SRCH => Self::OwnerHasEnded,
            _ => Self::Unknown,
        }
    }
}

impl Word {
    pub(super) const fn new() -> Self {
        Self { word: AtomicU32::new(0) }
    }

    /// Refuses: only Linux has such locks.
    #[cfg(any(not(target_os = "linux"), rospin_portable))]
    pub(super) fn lock(&self) -> Result<(), Refusal> {
        Err(Refusal::Unknown)
    }

    /// Refuses: only Linux has such locks.
    #[cfg(any(not(target_os = "linux"), rospin_portable))]
    pub(super) fn unlock(&self) -> Result<(), Refusal> {
        Err(Refusal::Unknown)
    }

    /// Sleeps until the calling thread has the lock. Meanwhile the owner inherits its priority.
    #[cfg(all(target_os = "linux", not(rospin_portable)))]
    pub(super) fn lock(&self) -> Result<(), Refusal> {
        Ok(futex::lock_pi(&self.word, Flags::PRIVATE, None)?)
    }

    /// Hands the lock over to the most urgent thread that waits, or frees it.
    #[cfg(all(target_os = "linux", not(rospin_portable)))]
    pub(super) fn unlock(&self) -> Result<(), Refusal> {
        Ok(futex::unlock_pi(&self.word, Flags::PRIVATE)?)
    }
}

/// Lets other threads of the same priority run.
pub(super) fn yield_now() {
    std::thread::yield_now();
}

/// Sleeps for a moment.
pub(super) fn nap() {
    std::thread::sleep(Duration::from_micros(50));
}

thread_local! {
    /// The calling thread's number in the kernel; 0 before the first use.
    static OWN_NUMBER: Cell<u32> = const { Cell::new(0) };
}

/// Returns the calling thread's number in the kernel, which is never 0.
#[inline]
pub(super) fn own_number() -> u32 {
    match OWN_NUMBER.get() {
        0 => ask_for_number(),
        number => number,
    }
}

#[cold]
fn ask_for_number() -> u32 {
    /// Forgets the number in a forked process: its only thread has another one.
    extern "C" fn forget_number() {
        OWN_NUMBER.set(0);
    }
    static REGISTER: Once = Once::new();
    REGISTER.call_once(|| in_forked_child(forget_number));
    let number = crate::os::thread_number().as_raw_nonzero().get().cast_unsigned();
    OWN_NUMBER.set(number);
    number
}
