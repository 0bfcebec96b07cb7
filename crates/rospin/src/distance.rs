//! Keeping a distance from a busy publisher.
//!
//! An executor that is faster than a publisher catches up with it, and from then on takes every message while the next one
//! is being written. Then several cache lines go from core to core and back with each message, and both are several times
//! slower than either alone. Where messages come that densely, a thread that has nothing else to do lets some gather.

use std::time::Duration;

use rospin_core::Instant;

use crate::shared::Shared;
use crate::source::Pending;
use crate::work::Run;

/// Runs between two looks at the clock while there is more, and to one when there is no more.
const RUNS: u32 = 16;
const RUNS_TO_THE_END: u32 = 8;
/// Messages are dense if they are taken at shorter intervals.
const DENSE: Duration = micros(1);
/// A message that is younger is too close to its publisher.
const CLOSE: Duration = micros(2);
/// How long messages gather: enough of them for several cache lines, and less than parking and getting up would take.
const GATHER: Duration = micros(4);

/// Code that is not optimized is slower, and is to take the same paths.
const fn micros(optimized: u64) -> Duration {
    Duration::from_micros(if cfg!(debug_assertions) { 20 * optimized } else { optimized })
}

/// How closely a thread follows a publisher.
pub(crate) struct Distance {
    /// Since `looked`.
    runs: u32,
    looked: Instant,
    /// The last time, messages were dense.
    is_dense: bool,
}

impl Distance {
    pub(crate) const fn new() -> Self {
        Self { runs: 0, looked: Instant::ZERO, is_dense: false }
    }

    /// After a run: waits for some microseconds if it follows its publisher too closely and nothing else is ready. What is
    /// notified meanwhile ends the wait, what falls due does not.
    #[inline]
    pub(crate) fn keep(&mut self, run: &Run, executor: &Shared) {
        self.runs += 1;
        // Now and then, since looking at the clock is the dearest part.
        if self.runs >= if run.left() == Pending::Empty { RUNS_TO_THE_END } else { RUNS } {
            self.look(run, executor);
        }
    }

    #[inline(never)]
    fn look(&mut self, run: &Run, executor: &Shared) {
        // A clock that is moved by hand would not end the wait.
        if !run.callback.is_alone || !executor.clock.passes() {
            *self = Self { runs: 0, is_dense: false, ..*self };
        } else if self.is_too_close(run.activation.release, run.left(), executor.now()) {
            let until = self.looked + GATHER;
            while !executor.wants_attention() && executor.now() < until {
                std::hint::spin_loop();
            }
        }
    }

    /// Whether messages came densely of late: then it is worthwhile to look again after a run, before publishers are to notify.
    pub(crate) const fn is_dense(&self) -> bool {
        self.is_dense
    }

    /// Begins anew with `now`; says whether to wait, with what arrived at `taken`, and left that.
    fn is_too_close(&mut self, taken: Instant, left: Pending, now: Instant) -> bool {
        let is_dense = now.saturating_since(self.looked) < DENSE * self.runs;
        *self = Self { runs: 0, looked: now, is_dense };
        let last = match left {
            Pending::Empty => taken,
            Pending::Since(next) => next,
            Pending::Unknown => return false,
        };
        is_dense && now.saturating_since(last) < CLOSE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many hundredths of what is dense for one message.
    fn at(hundredths: u32) -> Instant {
        Instant::from_millis(1_000) + DENSE * hundredths / 100
    }

    fn after(runs: u32) -> Distance {
        Distance { runs, looked: at(0), is_dense: false }
    }

    #[test]
    fn dense_messages_gather_when_the_last_one_is_taken_or_the_next_one_is_young() {
        assert!(after(8).is_too_close(at(700), Pending::Empty, at(790)));
        assert!(after(16).is_too_close(at(700), Pending::Since(at(810)), at(1_000)));
        assert!(!after(16).is_too_close(at(700), Pending::Since(at(790)), at(1_000)), "far enough behind");
        assert!(!after(8).is_too_close(at(0), Pending::Empty, at(790)), "a burst that is over");
    }

    #[test]
    fn messages_at_longer_intervals_are_not_waited_for() {
        assert!(!after(8).is_too_close(at(800), Pending::Empty, at(810)));
        assert!(!after(16).is_too_close(at(1_600), Pending::Since(at(1_600)), at(1_610)));
        assert!(!after(1_000).is_too_close(at(0), Pending::Unknown, at(10)));
    }

    #[test]
    fn each_look_begins_anew() {
        let mut distance = after(8);
        assert!(distance.is_too_close(at(500), Pending::Empty, at(510)) && distance.is_dense());
        distance.runs = 8;
        assert!(!distance.is_too_close(at(1_490), Pending::Empty, at(1_500)), "too few for that time");
        assert!(!distance.is_dense() && distance.runs == 0);
    }
}
