//! Short time slices, which any thread may have.

use std::time::Duration;

use super::kernel::{self, Slicing};

/// The shortest slice that the kernel gives.
const SHORT: Duration = Duration::from_micros(100);

/// Returns the time slice that the kernel gives the calling thread; `None` if it is not an ordinary thread, or before
/// Linux 6.12.
#[must_use]
pub fn time_slice() -> Option<Duration> {
    kernel::slice()
}

/// Guard that gives the calling thread short time slices until it is dropped, if it is an ordinary one.
///
/// Threads and processes that the thread starts meanwhile have slices as usual: the kernel resets what they would
/// inherit. So do Tokio's blocking threads, which callbacks start.
///
/// Linux 6.12 and later run a thread that wakes up before one with longer slices that works, whatever the two have had.
/// Others wait until the one that works has had its slice, which is some milliseconds. Older kernels have one length
/// for all threads.
#[derive(Debug)]
pub(crate) struct ShortSlices {
    /// The thread's slice before; `None` if it stays as it was.
    before: Option<Slicing>,
    /// Marker that keeps the guard on its thread, whose slice it restores.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl ShortSlices {
    pub(crate) fn new() -> Self {
        let before = kernel::slicing().filter(|before| before.slice > SHORT);
        // The kernel resets the niceness together with the slice, if it is below zero. Threads that are to inherit it
        // cannot have both.
        let before = before.filter(|before| before.resets_on_fork || before.nice >= 0);
        let is_set = before.is_some() && kernel::set_slice(SHORT, true).is_ok();
        Self { before: before.filter(|_| is_set), _not_send: std::marker::PhantomData }
    }
}

impl Drop for ShortSlices {
    fn drop(&mut self) {
        // A callback may have changed the thread's scheduling, which stays as it is then.
        let Some(before) = self.before.filter(|_| kernel::slice() == Some(SHORT)) else {
            return;
        };
        if kernel::set_slice(before.slice, before.resets_on_fork).is_err() {
            // A thread without rights cannot stop resetting. That changes nothing: the threads that it starts are
            // ordinary anyway, with the niceness that it has.
            let _ = kernel::set_slice(before.slice, true);
        }
    }
}

#[cfg(all(test, target_os = "linux", not(rospin_portable)))]
mod tests {
    use rospin_core::OsScheduling;

    use super::super::ThreadOptions;
    use super::*;

    #[test]
    fn a_thread_has_short_slices_until_the_guard_is_dropped() {
        std::thread::spawn(|| {
            if kernel::slicing().is_some_and(|slicing| slicing.nice < 0 && !slicing.resets_on_fork) {
                // Such a thread keeps its slices.
                return;
            }
            let before = kernel::slice();
            let short = ShortSlices::new();
            // `None` before Linux 6.12.
            assert_eq!(kernel::slice(), before.map(|_| SHORT));
            let inner = ShortSlices::new();
            drop(inner);
            assert_eq!(kernel::slice(), before.map(|_| SHORT));
            drop(short);
            assert_eq!(kernel::slice(), before);
        })
        .join()
        .unwrap();
    }

    /// Threads and processes that a callback starts do not wake up before others. Tokio's blocking threads are started
    /// by callbacks, too.
    #[test]
    fn threads_and_processes_that_the_thread_starts_have_slices_as_usual() {
        std::thread::spawn(|| {
            let before = kernel::slice();
            let _short = ShortSlices::new();
            assert_eq!(std::thread::spawn(kernel::slice).join().unwrap(), before);
            let child = std::process::Command::new("grep").args(["slice", "/proc/self/sched"]).output().unwrap();
            let text = String::from_utf8(child.stdout).unwrap();
            // Not every kernel tells it. It tells nanoseconds.
            let slice = text.rsplit(' ').next().and_then(|nanos| nanos.trim().parse().ok()).map(Duration::from_nanos);
            assert!(slice.is_none() || slice == before, "{slice:?}, {before:?} before");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn settings_that_were_changed_meanwhile_stay() {
        std::thread::spawn(|| {
            let nice = OsScheduling::Other { nice: 19 };
            let short = ShortSlices::new();
            assert_eq!(ThreadOptions::new().scheduling(nice).apply().shortfalls, []);
            drop(short);
            assert_eq!(kernel::read(None).unwrap().scheduling, nice);
        })
        .join()
        .unwrap();
    }
}
