//! A lookout for a due time, which reads the clock only when the time may have come.
//!
//! An executor with a timer must know before each pick if the timer is due. Reading the clock takes as long as the rest of the step.
//! So once the clock was read, the lookout knows how many ticks of the processor's counter must pass at least until the due time, and
//! until then it only reads the counter. It errs on one side: it may read the clock too early, and never too late.

use std::time::Duration;

use rospin_core::Instant;

use crate::os::TickCounter;

/// The shortest time over which the rate of the counter is measured. Two readings that belong together are less than a microsecond
/// apart, unless the thread was interrupted.
const MEASURED_OVER: Duration = Duration::from_millis(1);

/// The longest time for which the counter alone is believed.
const LONGEST: Duration = Duration::from_millis(100);

/// Part of the measured rate by which it may be too high, since the clock is slewed: 1 / 256. Linux slews by 1 / 2000 at most.
const SLACK: u64 = 256;

/// The highest rate that is believed, in ticks a nanosecond.
const HIGHEST: u64 = 16;

/// Lookout of one thread.
pub(crate) struct Lookout {
    counter: Option<TickCounter>,
    /// A reading of the clock, and one of the counter right after it; `None` before the first one.
    origin: Option<(Instant, u64)>,
    /// The due time that the next two are for.
    due: Instant,
    /// A reading of the counter, and the number of ticks after it during which `due` cannot come.
    from: u64,
    quiet: u64,
}

impl Lookout {
    /// Creates a lookout. With `counter` being `None`, it reads the clock each time.
    pub(crate) const fn new(counter: Option<TickCounter>) -> Self {
        Self { counter, origin: None, due: Instant::ZERO, from: 0, quiet: 0 }
    }

    /// Returns true if `due` has come. `now` reads the clock.
    #[inline(always)]
    pub(crate) fn is_due(&mut self, due: Instant, now: impl Fn() -> Instant) -> bool {
        let Some(counter) = self.counter else {
            return due <= now();
        };
        if due == self.due && counter.read().wrapping_sub(self.from) < self.quiet {
            return false;
        }
        self.look(counter, due, &now)
    }

    /// Reads the clock, and calculates for how many ticks it need not be read again.
    #[inline(never)]
    fn look(&mut self, counter: TickCounter, due: Instant, now: &dyn Fn() -> Instant) -> bool {
        // The counter is read before the clock, and was read after it at the origin. So if the thread is interrupted in between, the
        // measured rate is too low, never too high.
        let ticks = counter.read();
        let time = now();
        (self.due, self.from, self.quiet) = (due, ticks, self.quiet_for(ticks, time, due));
        if self.origin.is_none() {
            self.origin = Some((time, counter.read()));
        }
        due <= time
    }

    /// Returns the number of ticks that pass at least from `time`, when the counter showed `ticks`, to `due`.
    fn quiet_for(&mut self, ticks: u64, time: Instant, due: Instant) -> u64 {
        let Some((origin, origin_ticks)) = self.origin else {
            return 0;
        };
        let (passed, counted) = (nanos(time.saturating_since(origin)), ticks.wrapping_sub(origin_ticks));
        if passed < nanos(MEASURED_OVER) {
            return 0;
        }
        if counted / HIGHEST > passed {
            // The counter went back, or another one came in its place.
            self.origin = None;
            return 0;
        }
        let left = nanos(due.saturating_since(time).min(LONGEST));
        let expected = u128::from(left) * u128::from(counted) / u128::from(passed);
        // Fits: at most 0.1 s at the highest rate.
        expected as u64 / SLACK * (SLACK - 1)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Looks out for times on the kernel's clock, as fast as it can, and reads the clock itself to compare.
    #[test]
    fn what_is_due_is_never_missed() {
        let clock = crate::clock::Clock::kernel();
        let reads = Cell::new(0_u64);
        let now = || {
            reads.set(reads.get() + 1);
            clock.now()
        };
        let mut lookout = Lookout::new(TickCounter::new());
        let mut looks = 0_u64;
        for delay_us in [0, 1, 100, 1_000, 3_000, 5_000, 500, 2_000] {
            let due = clock.now() + Duration::from_micros(delay_us);
            loop {
                looks += 1;
                let before = clock.now();
                let is_due = lookout.is_due(due, now);
                assert!(is_due || before < due, "missed by {:?}", before.saturating_since(due));
                assert!(!is_due || clock.now() >= due, "too early");
                if is_due {
                    break;
                }
            }
        }
        // The first millisecond measures the rate.
        assert!(TickCounter::new().is_none() || looks < 1_000 || reads.get() < looks, "{} of {looks}", reads.get());
    }

    #[test]
    fn another_due_time_is_looked_at_anew() {
        let mut lookout = Lookout::new(TickCounter::new());
        let at = Instant::from_millis;
        for time in 0..50 {
            assert!(!lookout.is_due(at(1_000), || at(time)));
            assert!(lookout.is_due(at(time), || at(time)));
        }
    }

    #[test]
    fn a_rate_that_cannot_be_is_not_believed() {
        let mut lookout = Lookout::new(None);
        lookout.origin = Some((Instant::ZERO, 1_000));
        assert_eq!(lookout.quiet_for(900, Instant::from_millis(2), Instant::from_millis(3)), 0);
        assert!(lookout.origin.is_none());
        lookout.origin = Some((Instant::ZERO, 0));
        // Two ticks a nanosecond; a millisecond is left.
        let quiet = lookout.quiet_for(4_000_000, Instant::from_millis(2), Instant::from_millis(3));
        assert!((1_990_000..2_000_000).contains(&quiet), "{quiet}");
    }
}
