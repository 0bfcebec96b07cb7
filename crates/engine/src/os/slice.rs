//! Short time slices, which any thread may have.

use std::time::Duration;

use super::kernel;

/// The shortest slice that the kernel gives.
const SHORT: Duration = Duration::from_micros(100);

/// Returns the time slice that the kernel gives the calling thread; `None` if it is not an ordinary thread, or before Linux 6.12.
#[must_use]
pub fn time_slice() -> Option<Duration> {
    kernel::slice()
}

/// Guard that gives the calling thread short time slices until it is dropped, if it is an ordinary one.
///
/// Linux 6.12 and later run a thread that wakes up before one with longer slices that works, whatever the two have had. Others wait until
/// the one that works has had its slice, which is some milliseconds. Older kernels have one length for all threads.
#[derive(Debug)]
pub(crate) struct ShortSlices {
    /// The thread's slice before; `None` if it stays as it was.
    before: Option<Duration>,
    /// Marker that keeps the guard on its thread, whose slice it restores.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl ShortSlices {
    pub(crate) fn new() -> Self {
        let before = kernel::slice().filter(|before| *before > SHORT);
        let is_set = before.is_some() && kernel::set_slice(SHORT).is_ok();
        Self { before: before.filter(|_| is_set), _not_send: std::marker::PhantomData }
    }
}

impl Drop for ShortSlices {
    fn drop(&mut self) {
        // A callback may have changed the thread's scheduling, which stays as it is then.
        if let Some(before) = self.before.filter(|_| kernel::slice() == Some(SHORT)) {
            let _ = kernel::set_slice(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use rospin_core::OsScheduling;

    use super::super::ThreadOptions;
    use super::*;

    #[test]
    fn a_thread_has_short_slices_until_the_guard_is_dropped() {
        std::thread::spawn(|| {
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

    #[test]
    fn what_else_was_set_meanwhile_stays() {
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
