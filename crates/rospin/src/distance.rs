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

/// Runs between two looks at the clock while there is more, and when there is no more.
const RUNS: u32 = 16;
const RUNS_TO_THE_END: u32 = 8;
/// Messages are dense if they come at shorter intervals.
const DENSE: Duration = Duration::from_nanos(1_000);
/// A message that is younger is too close to its publisher.
const CLOSE: Duration = Duration::from_nanos(2_000);
/// How long messages gather: enough of them for several cache lines, and less than parking and getting up would take.
const GATHER: Duration = Duration::from_nanos(4_000);

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

    /// After a run: waits for some microseconds if it follows its publisher too closely, unless there is something else to do.
    pub(crate) fn keep(&mut self, run: &Run, executor: &Shared) {
        self.runs += 1;
        // A clock that is moved by hand would not end the wait.
        if self.runs < RUNS_TO_THE_END || !run.callback.is_alone || !executor.clock.passes() {
            return;
        }
        if self.is_too_close(run.left(), || executor.now()) {
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

    /// Looks at the clock now and then, since that is the dearest part.
    fn is_too_close(&mut self, left: Pending, clock: impl FnOnce() -> Instant) -> bool {
        let enough = match left {
            Pending::Empty => RUNS_TO_THE_END,
            Pending::Since(_) => RUNS,
            Pending::Unknown => return false,
        };
        if self.runs < enough {
            return false;
        }
        let now = clock();
        let is_dense = now.saturating_since(self.looked) < DENSE * self.runs;
        *self = Self { runs: 0, looked: now, is_dense };
        let is_close = match left {
            Pending::Since(arrival) => now.saturating_since(arrival) < CLOSE,
            _ => true,
        };
        is_dense && is_close
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(1_000_000 + ns)
    }

    fn begun() -> Distance {
        Distance { looked: at(0), ..Distance::new() }
    }

    /// After so many runs since zero.
    fn after(runs: u32, left: Pending, now: Instant) -> bool {
        Distance { runs, ..begun() }.is_too_close(left, || now)
    }

    #[test]
    fn dense_messages_gather_when_the_last_one_is_taken_or_the_next_one_is_young() {
        assert!(after(8, Pending::Empty, at(7_900)));
        assert!(after(16, Pending::Since(at(8_100)), at(10_000)));
        assert!(!after(16, Pending::Since(at(7_900)), at(10_000)), "far enough behind");
    }

    #[test]
    fn messages_at_longer_intervals_are_not_waited_for() {
        assert!(!after(8, Pending::Empty, at(8_100)));
        assert!(!after(16, Pending::Since(at(16_000)), at(16_100)));
        assert!(!after(1_000, Pending::Unknown, at(10_000)));
    }

    #[test]
    fn few_runs_make_no_rate_and_need_no_clock() {
        let never = || panic!("no need to look");
        assert!(!Distance { runs: 15, ..begun() }.is_too_close(Pending::Since(at(0)), never));
        assert!(!Distance { runs: 7, ..begun() }.is_too_close(Pending::Empty, never));
    }

    #[test]
    fn after_a_wait_that_brought_little_there_is_no_other_one() {
        let mut distance = Distance { runs: 8, ..begun() };
        assert!(distance.is_too_close(Pending::Empty, || at(5_000)));
        for runs in 1..8 {
            distance.runs = runs;
            assert!(!distance.is_too_close(Pending::Empty, || at(6_000)));
        }
        assert!(distance.is_dense());
        distance.runs = 8;
        assert!(!distance.is_too_close(Pending::Empty, || at(15_000)));
        assert!(!distance.is_dense(), "it is over");
    }
}
