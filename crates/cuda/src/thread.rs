//! The thread that tells of alarms and of the loss of the device.

use std::sync::Weak;

use crate::device::Inner;

/// Tells alarms and the loss of the device, until the device is dropped. Runs on a thread of its own, because the lanes'
/// threads wait for the driver.
pub(crate) fn tell_notices(inner: &Inner) {
    // What the listener does may launch a segment.
    if let Err(error) = inner.context.bind_to_thread() {
        inner.lose(error);
    }
    loop {
        let now = inner.now();
        let (notice, listener, alarm, is_stopped) = {
            let mut notices = inner.notices.lock();
            (notices.take(now), notices.listener(), notices.alarm(), notices.is_stopped())
        };
        match notice {
            Some(notice) => {
                if let Some(listener) = listener.as_ref().and_then(Weak::upgrade) {
                    notice.tell(&*listener, inner.now());
                }
            }
            None if is_stopped => return,
            None => inner.signal.wait(alarm.map(|at| at.saturating_since(now))),
        }
    }
}
