//! A recorder together with the clock of a context.

use rospin_core::Instant;
use rospin_core::recording::Event;

use super::Recorder;
use crate::clock::Clock;

/// A recorder together with the clock by which its events are timed.
#[derive(Clone, Debug)]
pub(crate) struct Scribe {
    pub(crate) recorder: Recorder,
    clock: Clock,
}

impl Scribe {
    pub(crate) const fn new(recorder: Recorder, clock: Clock) -> Self {
        Self { recorder, clock }
    }

    /// Records an event that happens now, if the recorder is on.
    #[inline]
    pub(crate) fn note(&self, event: impl FnOnce() -> Event) {
        if self.recorder.is_on() {
            self.write(event());
        }
    }

    #[cold]
    #[inline(never)]
    fn write(&self, event: Event) {
        self.recorder.write_event(self.clock.now(), &event);
    }

    /// Records an event that happened at `at`. The caller knows that the recorder is on.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_at(&self, at: Instant, event: Event) {
        self.recorder.write_event(at, &event);
    }
}
