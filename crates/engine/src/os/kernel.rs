//! System calls of Linux: the scheduling, cores and name of a thread; its stack, and the process's memory.
//!
//! The C library has no functions for `sched_setattr` and `sched_getattr`, and no crate has both for threads other than
//! the calling one. `elsewhere.rs` is
//! in its place on other systems.

use std::ffi::CString;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::time::Duration;

use rospin_core::OsScheduling;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// The scheduling of a thread, as the kernel has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Attributes {
    pub(crate) scheduling: OsScheduling,
    /// True if threads that it creates begin as ordinary ones.
    pub(crate) reset_on_fork: bool,
}

/// The calling thread's scheduling, of any class, saved so that it can be restored.
#[derive(Clone, Copy)]
pub(crate) struct Saved(libc::sched_attr);

impl Saved {
    /// Saves the calling thread's scheduling.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(get(None)?))
    }

    /// Restores the scheduling. Without rights a thread cannot clear reset-on-fork; then it gets back everything else.
    /// That does no harm: the threads that an ordinary thread creates are ordinary in any case.
    pub(crate) fn give_back(&self) -> io::Result<()> {
        set(None, &self.0).or_else(|refused| {
            let mut rest = self.0;
            rest.sched_flags |= RESET_ON_FORK;
            set(None, &rest).map_err(|_| refused)
        })
    }
}

impl fmt::Debug for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        attributes(&self.0).fmt(f)
    }
}

/// Returns how the kernel schedules `thread`, or with `None` the calling thread.
pub(crate) fn read(thread: Option<Pid>) -> io::Result<Attributes> {
    Ok(attributes(&get(thread)?))
}

fn attributes(attr: &libc::sched_attr) -> Attributes {
    let scheduling = match i32::try_from(attr.sched_policy).unwrap_or(-1) {
        libc::SCHED_FIFO => OsScheduling::Fifo { priority: attr.sched_priority as u8 },
        libc::SCHED_RR => OsScheduling::RoundRobin { priority: attr.sched_priority as u8 },
        libc::SCHED_DEADLINE => OsScheduling::Deadline {
            runtime: Duration::from_nanos(attr.sched_runtime),
            deadline: Duration::from_nanos(attr.sched_deadline),
            period: Duration::from_nanos(attr.sched_period),
        },
        // rospin treats batch and idle threads as ordinary ones.
        _ => OsScheduling::Other { nice: attr.sched_nice as i8 },
    };
    Attributes { scheduling, reset_on_fork: attr.sched_flags & RESET_ON_FORK != 0 }
}

/// Returns true if the calling thread runs before all ordinary ones.
#[cfg(not(rospin_shuttle))]
pub(crate) fn is_real_time() -> bool {
    read(None).is_ok_and(|now| now.scheduling.is_real_time())
}

/// Has the kernel give these attributes to `thread`, or with `None` to the calling thread.
pub(crate) fn write(thread: Option<Pid>, attributes: Attributes) -> io::Result<()> {
    let mut attr = EMPTY;
    attr.sched_flags = if attributes.reset_on_fork { RESET_ON_FORK } else { 0 };
    let policy = match attributes.scheduling {
        OsScheduling::Other { nice } => {
            attr.sched_nice = nice.into();
            libc::SCHED_OTHER
        }
        OsScheduling::Fifo { priority } => {
            attr.sched_priority = priority.into();
            libc::SCHED_FIFO
        }
        OsScheduling::RoundRobin { priority } => {
            attr.sched_priority = priority.into();
            libc::SCHED_RR
        }
        OsScheduling::Deadline { runtime, deadline, period } => {
            attr.sched_runtime = nanos(runtime);
            attr.sched_deadline = nanos(deadline);
            attr.sched_period = nanos(period);
            libc::SCHED_DEADLINE
        }
        _ => return Err(io::ErrorKind::Unsupported.into()),
    };
    attr.sched_policy = policy as u32;
    set(thread, &attr)
}

/// The time slice of an ordinary thread, and what the threads that it starts inherit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slicing {
    pub(crate) slice: Duration,
    pub(crate) nice: i32,
    /// True if threads that it starts have the kernel's slice, and no niceness below zero.
    pub(crate) resets_on_fork: bool,
}

/// Returns the calling thread's time slice and the like; `None` if it is not an ordinary thread, or if the kernel does
/// not tell.
pub(crate) fn slicing() -> Option<Slicing> {
    let attr = get(None).ok()?;
    let is_ordinary = attr.sched_policy == libc::SCHED_OTHER as u32 && attr.sched_runtime > 0;
    is_ordinary.then(|| Slicing {
        slice: Duration::from_nanos(attr.sched_runtime),
        nice: attr.sched_nice,
        resets_on_fork: attr.sched_flags & RESET_ON_FORK != 0,
    })
}

/// Returns the calling thread's time slice; `None` if it is not an ordinary thread, or if the kernel does not tell.
pub(crate) fn slice() -> Option<Duration> {
    slicing().map(|slicing| slicing.slice)
}

/// Sets the calling thread's time slice, and if the threads that it starts have the kernel's instead. Leaves its
/// niceness as it is. It must be an ordinary thread.
pub(crate) fn set_slice(slice: Duration, resets_on_fork: bool) -> io::Result<()> {
    let attr = get(None)?;
    let flag = if resets_on_fork { RESET_ON_FORK } else { 0 };
    let sched_flags = attr.sched_flags & !RESET_ON_FORK | flag;
    set(None, &libc::sched_attr { sched_runtime: nanos(slice), sched_flags, ..attr })
}

fn get(thread: Option<Pid>) -> io::Result<libc::sched_attr> {
    let mut attr = EMPTY;
    // SAFETY: `attr` is valid for writing during the call, and has the size that is passed.
    let status = unsafe { libc::syscall(libc::SYS_sched_getattr, id(thread), &raw mut attr, SIZE, 0) };
    if status == 0 { Ok(attr) } else { Err(io::Error::last_os_error()) }
}

fn set(thread: Option<Pid>, attr: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: `attr` is valid for reading during the call, and its `size` field has its size.
    let status = unsafe { libc::syscall(libc::SYS_sched_setattr, id(thread), std::ptr::from_ref(attr), 0) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the calling thread's timer slack in nanoseconds.
pub(crate) fn timer_slack() -> io::Result<u64> {
    Ok(rustix::thread::current_timer_slack()?)
}

/// Sets the calling thread's timer slack. Zero is the slack that it began with.
pub(crate) fn set_timer_slack(nanos: u64) -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(nanos))?)
}

/// Returns the cores that `thread` may use, or with `None` the calling thread, in ascending order.
pub(crate) fn cores(thread: Option<Pid>) -> io::Result<Vec<u16>> {
    let set = sched_getaffinity(thread)?;
    let mut left = set.count();
    let mut cores = Vec::with_capacity(left as usize);
    for core in 0..CpuSet::MAX_CPU as u16 {
        if left == 0 {
            break;
        }
        if set.is_set(core.into()) {
            cores.push(core);
            left -= 1;
        }
    }
    Ok(cores)
}

/// Restricts `thread` to these cores, or with `None` the calling thread.
pub(crate) fn set_cores(thread: Option<Pid>, cores: &[u16]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for core in cores.iter().filter(|core| usize::from(**core) < CpuSet::MAX_CPU) {
        set.set((*core).into());
    }
    Ok(sched_setaffinity(thread, &set)?)
}

/// Locks all memory of the process into RAM, present and future.
pub(crate) fn lock_memory() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// Returns the calling thread's number.
pub(crate) fn thread_number() -> Pid {
    rustix::thread::gettid()
}

/// Returns true for the number of the main thread, whose name is the process's.
pub(crate) fn is_main(thread: Pid) -> bool {
    thread == rustix::process::getpid()
}

/// Gives the calling thread another name, and returns the one before; `None` if it keeps its name.
pub(crate) fn rename_thread(name: &str) -> Option<CString> {
    let before = rustix::thread::name().ok()?;
    rustix::thread::set_name(&CString::new(name.replace('\0', "")).ok()?).ok()?;
    Some(before)
}

/// Names the calling thread, if the kernel lets it.
pub(crate) fn name_thread(name: &CString) {
    let _ = rustix::thread::set_name(name);
}

/// Returns the lowest address of the calling thread's stack; `None` if the C library does not tell.
pub(crate) fn end_of_stack() -> Option<usize> {
    let mut attr = MaybeUninit::uninit();
    // SAFETY: `attr` is valid for writing during the call.
    if unsafe { libc::pthread_getattr_np(libc::pthread_self(), attr.as_mut_ptr()) } != 0 {
        return None;
    }
    let mut end = std::ptr::null_mut();
    let mut size = 0;
    // SAFETY: the call that succeeded initialized `attr`, which is not used after it was destroyed.
    let status = unsafe {
        let status = libc::pthread_attr_getstack(attr.as_ptr(), &raw mut end, &raw mut size);
        libc::pthread_attr_destroy(attr.as_mut_ptr());
        status
    };
    (status == 0).then(|| end.addr())
}

const SIZE: u32 = size_of::<libc::sched_attr>() as u32;
const RESET_ON_FORK: u64 = libc::SCHED_FLAG_RESET_ON_FORK as u64;
const EMPTY: libc::sched_attr = libc::sched_attr {
    size: SIZE,
    sched_policy: 0,
    sched_flags: 0,
    sched_nice: 0,
    sched_priority: 0,
    sched_runtime: 0,
    sched_deadline: 0,
    sched_period: 0,
};

/// Returns the number that the system calls expect, where 0 is the calling thread.
fn id(thread: Option<Pid>) -> i32 {
    Pid::as_raw(thread)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_that_were_written_are_read() {
        std::thread::spawn(|| {
            let before = read(None).unwrap();
            assert_eq!(read(Some(rustix::thread::gettid())).unwrap(), before);
            // Any thread may raise its nice value.
            let nicer = Attributes { scheduling: OsScheduling::Other { nice: 19 }, ..before };
            write(None, nicer).unwrap();
            assert_eq!(read(None).unwrap(), nicer);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn saved_attributes_of_any_class_are_given_back() {
        for policy in [libc::SCHED_BATCH, libc::SCHED_IDLE] {
            std::thread::spawn(move || {
                let rare = libc::sched_attr { sched_policy: policy as u32, ..EMPTY };
                set(None, &rare).unwrap();
                let saved = Saved::new().unwrap();
                if write(None, Attributes { scheduling: OsScheduling::Other { nice: 0 }, reset_on_fork: false }).is_ok()
                {
                    saved.give_back().unwrap();
                }
                assert_eq!(get(None).unwrap().sched_policy, policy as u32);
            })
            .join()
            .unwrap();
        }
    }

    #[test]
    fn a_thread_that_is_not_there_is_an_error() {
        let nobody = Pid::from_raw(i32::MAX - 1);
        assert!(read(nobody).is_err());
    }
}
