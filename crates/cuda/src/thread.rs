//! The device's thread: the driver wakes it at the end of each segment, and it reports.

use std::sync::Weak;
use std::time::Duration;

use rospin_accelerator::{Ended, Notice};

use crate::device::{Inner, Running, State};

/// The time after which the thread looks at segments by itself. A segment that made the device fail wakes nobody.
const LOOK: Duration = Duration::from_millis(50);

/// The next thing that the thread does.
enum Next {
    Report(Running),
    Sleep(Option<Duration>),
    Tell(Notice),
    Stop,
}

/// Reports ends, alarms and the loss of the device, until the device is dropped.
pub(crate) fn run(inner: &Inner) {
    // A thread has no context at first, and a look at an event makes none.
    if let Err(error) = inner.context.bind_to_thread() {
        inner.lose(&error.to_string());
    }
    loop {
        let (next, listener) = {
            let mut state = inner.state.lock();
            (next(inner, &mut state), state.notices.listener())
        };
        let listener = listener.as_ref().and_then(Weak::upgrade);
        match (next, listener) {
            (Next::Stop, _) => return,
            (Next::Sleep(at_most), _) => inner.signal.wait(at_most),
            (Next::Tell(notice), Some(listener)) => notice.tell(&*listener, inner.now()),
            (Next::Report(Running { lane, ticket, start, end }), Some(listener)) => {
                // Both events are over. Without their times, the time is not known, and counts as none.
                let ms = start.elapsed_ms(&end).unwrap_or(0.0).max(0.0);
                let busy = Duration::try_from_secs_f32(ms / 1e3).unwrap_or_default();
                listener.ended(Ended { lane, ticket, at: inner.now(), busy, result: Ok(()) });
            }
            (_, None) => {}
        }
    }
}

/// Returns what the thread must do next.
fn next(inner: &Inner, state: &mut State) -> Next {
    for place in 0..state.running.len() {
        match state.running[place].end.try_is_complete() {
            Ok(true) => return Next::Report(state.running.remove(place)),
            Ok(false) => {}
            // An error of a kernel is an error of the whole context, which stays.
            Err(error) => state.notices.lose(&error.to_string()),
        }
    }
    let now = inner.now();
    if let Some(notice) = state.notices.take(now) {
        if matches!(notice, Notice::Lost(_)) {
            state.running.clear();
        }
        return Next::Tell(notice);
    }
    let alarm = state.notices.alarm().map(|at| at.saturating_since(now));
    if !state.running.is_empty() {
        return Next::Sleep(Some(alarm.map_or(LOOK, |alarm| alarm.min(LOOK))));
    }
    // Segments on the device use memory of the program, so they end before the device is closed.
    if state.notices.is_stopped() { Next::Stop } else { Next::Sleep(alarm) }
}
