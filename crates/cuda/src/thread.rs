//! Alarms and the loss of the device: the thread that tells of them, unless a thread that spins is earlier.

use std::sync::Weak;
use std::sync::atomic::Ordering;

use rospin_accelerator::Instant;

use crate::device::Inner;
use crate::open::bind;

/// Tells alarms and the loss of the device, until the device is dropped. Runs on a thread of its own, because the
/// lanes' threads wait for the driver.
pub(crate) fn tell_notices(inner: &Inner) {
    // The listener may launch a segment.
    if let Err(error) = bind(&inner.context) {
        inner.lose(error);
    }
    while !inner.notices.lock().is_stopped() {
        if !tell_next(inner) {
            let alarm = inner.notices.lock().alarm();
            inner.signal.wait(alarm.map(|at| at.saturating_since(inner.now())));
        }
    }
}

/// Tells the listener of an alarm or a loss that is due. Returns false if neither is.
pub(crate) fn tell_next(inner: &Inner) -> bool {
    let now = inner.now();
    let (notice, listener) = {
        let mut notices = inner.notices.lock();
        let notice = notices.take(now);
        inner.alarm_ns.store(notices.alarm().map_or(u64::MAX, Instant::as_nanos), Ordering::Relaxed);
        (notice, notices.listener())
    };
    let Some(notice) = notice else { return false };
    if let Some(listener) = listener.as_ref().and_then(Weak::upgrade) {
        notice.tell(&*listener, now);
    }
    true
}
