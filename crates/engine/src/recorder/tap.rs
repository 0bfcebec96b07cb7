//! A tap on a scheduler: a trace that records, and passes all events on to the user's trace.

use rospin_core::Instant;
use rospin_core::recording::Event;
use rospin_core::trace::{Trace, TraceEvent};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::Ordering;

use super::{Recorder, fresh_number};

thread_local! {
    /// A number of this thread, above 0.
    static THREAD: u64 = fresh_number();
}

/// The trace of a scheduler while it is recorded.
pub(crate) struct Tap {
    recorder: Recorder,
    executor: u16,
    users: Option<Box<dyn Trace>>,
    /// The thread that recorded last, 0 before the first event.
    last: u64,
    /// The number of the last hand-over, 0 before the first one.
    number: u64,
    /// The number of events since then.
    count: u64,
}

impl Tap {
    /// Creates a tap before the user's trace. `follows` tells that it takes the place of another one in the same
    /// recording.
    pub(crate) fn new(recorder: Recorder, executor: u16, users: Option<Box<dyn Trace>>, follows: bool) -> Self {
        // The first hand-over tells that the recording begins anew.
        let last = if follows { u64::MAX } else { 0 };
        Self { recorder, executor, users, last, number: last, count: 0 }
    }

    /// Records a hand-over with a number that grows, if another thread than before works with the scheduler. The
    /// executor's lock is held, so that the numbers are in the order in which the threads have the lock.
    #[inline]
    fn note_thread(&mut self, now: Instant) {
        let this = THREAD.with(|number| *number);
        if self.last == this {
            return;
        }
        // The first thread needs no number: it precedes all that have one.
        if std::mem::replace(&mut self.last, this) != 0 {
            let number = fresh_number();
            let previous = std::mem::replace(&mut self.number, number);
            let count = std::mem::take(&mut self.count);
            let change = Event::HandedOver { executor: self.executor, number, previous, count };
            self.recorder.write(&change.encode(now));
        }
    }

    /// Records the state of the scheduler, whose events come to this tap from now on. The executor's lock is held.
    pub(crate) fn begin(&mut self, now: Instant, state: &[Event]) {
        self.note_thread(now);
        for event in state {
            self.recorder.write(&event.encode(now));
        }
    }

    /// Returns the processor time of the calling thread, or 0 if that is not to be recorded.
    fn cpu_ns(&self) -> u64 {
        if !self.recorder.0.has_cpu_times.load(Ordering::Relaxed) {
            return 0;
        }
        let time = clock_gettime(ClockId::ThreadCPUTime);
        u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
    }
}

impl Trace for Tap {
    fn record(&mut self, now: Instant, event: TraceEvent) {
        self.note_thread(now);
        self.count += u64::from(!matches!(event, TraceEvent::Overrun(..)));
        let recorded = Event::of_scheduler(self.executor, &event, || self.cpu_ns());
        self.recorder.write(&recorded.encode(now));
        if let Some(observer) = self.recorder.0.observer.get() {
            observer.scheduled(self.executor, &event);
        }
        if let Some(users) = &mut self.users {
            users.record(now, event);
        }
    }

    fn into_inner(self: Box<Self>) -> Option<Box<dyn Trace>> {
        self.users
    }
}
