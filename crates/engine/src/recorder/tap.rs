//! A tap on a scheduler: a trace that records, and passes all events on to the user's trace.

use rospin_core::recording::{Event, Step};
use rospin_core::trace::{Trace, TraceEvent};
use rospin_core::{Activation, Instant};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::Ordering;

use super::Recorder;

/// The trace of a scheduler while it is recorded.
pub(crate) struct Tap {
    recorder: Recorder,
    executor: u16,
    users: Option<Box<dyn Trace>>,
}

impl Tap {
    pub(crate) fn new(recorder: Recorder, executor: u16, users: Option<Box<dyn Trace>>) -> Self {
        Self { recorder, executor, users }
    }

    fn step(&self, activation: &Activation) -> Step {
        let Activation { entity, sequence, segment, .. } = *activation;
        Step { executor: self.executor, entity: entity.to_bits(), sequence, segment }
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
        let executor = self.executor;
        let recorded = match &event {
            TraceEvent::Released(of) => {
                Event::Released { step: self.step(of), release: of.release, deadline: of.deadline }
            }
            TraceEvent::Antedated(of) => {
                Event::Antedated { step: self.step(of), release: of.release, deadline: of.deadline }
            }
            TraceEvent::Dispatched(thread, of) => Event::Dispatched {
                step: self.step(of),
                thread: u8::try_from(thread.0).unwrap_or(u8::MAX),
                release: of.release,
                cpu_ns: self.cpu_ns(),
            },
            TraceEvent::Suspended(of) => Event::Suspended { step: self.step(of), cpu_ns: self.cpu_ns() },
            TraceEvent::Completed(of) => {
                Event::Completed { step: self.step(of), deadline: of.deadline, cpu_ns: self.cpu_ns() }
            }
            TraceEvent::PollingPoint(thread) => {
                Event::PollingPoint { executor, thread: u8::try_from(thread.0).unwrap_or(u8::MAX) }
            }
            TraceEvent::Collected(of) => Event::Collected { step: self.step(of) },
            TraceEvent::Overrun(entity, count) => Event::Overrun { executor, entity: entity.to_bits(), count: *count },
            _ => return self.pass_on(now, event),
        };
        self.recorder.write(&recorded.encode(now));
        self.pass_on(now, event);
    }

    fn into_inner(self: Box<Self>) -> Option<Box<dyn Trace>> {
        self.users
    }
}

impl Tap {
    fn pass_on(&mut self, now: Instant, event: TraceEvent) {
        if let Some(users) = &mut self.users {
            users.record(now, event);
        }
    }
}
