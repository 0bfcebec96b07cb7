//! The device's thread: it waits for the device, and reports.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rospin_accelerator::{Ended, Instant, Listener, Notice, SegmentFailure};
use wgpu::{PollError, PollType};

use crate::device::{Inner, Running, State};

/// The longest wait for the device in one call. Alarms that are set meanwhile come that much late at most.
const PATIENCE: Duration = Duration::from_millis(2);

/// The next thing that the thread does.
enum Next {
    /// Waits for the device until this time, or for [`PATIENCE`].
    WaitForDevice(wgpu::SubmissionIndex, Option<Instant>),
    Sleep(Option<Duration>),
    Tell(Notice),
    Stop,
}

/// Reports ends, alarms and the loss of the device, until the device is dropped. wgpu panics if the driver fails where
/// it has no way to tell; then the device counts as lost.
pub(crate) fn run(inner: &Inner) {
    // The time at which the device ended the segment before.
    let mut last_end = Instant::ZERO;
    loop {
        match catch_unwind(AssertUnwindSafe(|| turn(inner, &mut last_end))) {
            Ok(true) => {}
            Ok(false) => return,
            Err(_) => inner.lose("the device's thread panicked"),
        }
    }
}

/// Does the next thing. Returns false if it is the end.
fn turn(inner: &Inner, last_end: &mut Instant) -> bool {
    let (next, listener) = {
        let mut state = inner.state.lock();
        (next(inner, &mut state), state.notices.listener())
    };
    let listener = || listener.as_ref().and_then(Weak::upgrade);
    match next {
        Next::Stop => return false,
        Next::Sleep(at_most) => inner.signal.wait(at_most),
        Next::Tell(notice) => {
            if let Some(listener) = listener() {
                notice.tell(&*listener, inner.now());
            }
        }
        Next::WaitForDevice(submission, alarm) => {
            let ahead = alarm.map_or(PATIENCE, |at| at.saturating_since(inner.now())).min(PATIENCE);
            let wait = PollType::Wait { submission_index: Some(submission), timeout: Some(ahead) };
            match inner.device.poll(wait) {
                Ok(_) => end(inner, last_end, listener),
                Err(PollError::Timeout) => {}
                Err(error) => inner.lose(&error.to_string()),
            }
        }
    }
    true
}

/// Returns what the thread must do next.
fn next(inner: &Inner, state: &mut State) -> Next {
    if let Some(notice) = state.notices.take(inner.now()) {
        if matches!(notice, Notice::Lost(_)) {
            state.running.clear();
        }
        return Next::Tell(notice);
    }
    if let Some(first) = state.running.front() {
        return Next::WaitForDevice(first.submission.clone(), state.notices.alarm());
    }
    // Segments on the device use memory of the program, so they end before the device is closed.
    if state.notices.is_stopped() {
        return Next::Stop;
    }
    Next::Sleep(state.notices.alarm().map(|at| at.saturating_since(inner.now())))
}

/// Reports the end of the first segment in the queue.
fn end(inner: &Inner, last_end: &mut Instant, listener: impl Fn() -> Option<Arc<dyn Listener>>) {
    let at = inner.now();
    let Some(Running { lane, ticket, submitted, effect, .. }) = inner.state.lock().running.pop_front() else { return };
    // The queue runs one segment after the other.
    let busy = at.saturating_since(submitted.max(*last_end));
    *last_end = at;
    let mut result = Ok(());
    if let Some(effect) = effect
        && catch_unwind(AssertUnwindSafe(effect)).is_err()
    {
        result = Err(SegmentFailure("the function at the segment's end panicked".to_owned()));
    }
    if let Some(listener) = listener() {
        listener.ended(Ended { lane, ticket, at, busy, result });
    }
}
