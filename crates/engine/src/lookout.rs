//! A lookout for a due time, which reads the clock only when the time may have come.
//!
//! An executor with a timer must know before each pick if the timer is due. Reading the clock takes as long as the rest
//! of the step. So once the clock was read, the lookout knows how many ticks of the processor's counter must pass at
//! least until the due time, and until then it only reads the counter, for some milliseconds at most. Every error in
//! what it measures makes it read the clock too early rather than too late.
//!
//! On a virtual machine, reading the counter took 10 ns and reading the clock 23. The counter is used only where the
//! kernel takes its own time from it.

use std::time::Duration;

use rospin_core::Instant;

use crate::os::TickCounter;

/// The shortest time over which the rate of the counter is measured. Two readings that belong together are less than a
/// microsecond apart, unless the thread was interrupted.
const MEASURED_OVER: Duration = Duration::from_millis(1);

/// The longest time for which the counter alone is believed, and so the longest time by which a timer could be late if
/// the kernel gave up the counter while the executor spins.
const LONGEST: Duration = Duration::from_millis(5);

/// Part of the expected ticks that is believed: 7 of 8, since the kernel's clock may be slewed by up to a tenth
/// (`adjtimex(2)`).
const BELIEVED: [u64; 2] = [7, 8];

/// Number of binary places of a rate.
const PLACES: u32 = 20;

/// The highest rate that is believed, in ticks a nanosecond.
const HIGHEST: u64 = 16;

/// Lookout of one thread.
pub(crate) struct Lookout {
    counter: Option<TickCounter>,
    /// A reading of the clock, and one of the counter right after it; `None` before the first one.
    origin: Option<(Instant, u64)>,
    /// The last two rates that were measured, in ticks a nanosecond with [`PLACES`]; zero if there is none. The lower
    /// one counts: a machine that was suspended in between has counted too much only once.
    rates: [u64; 2],
    /// The due time that the next two are for.
    due: Instant,
    /// A reading of the counter, and the number of ticks after it during which `due` cannot come.
    from: u64,
    quiet: u64,
}

impl Lookout {
    /// Creates a lookout. With `counter` being `None`, it reads the clock each time.
    pub(crate) const fn new(counter: Option<TickCounter>) -> Self {
        Self { counter, origin: None, rates: [0; 2], due: Instant::ZERO, from: 0, quiet: 0 }
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
        // The counter is read before the clock, and was read after it at the origin. So if the thread is interrupted in
        // between, the measured rate is too low, never too high.
        let ticks = counter.read();
        let time = now();
        if self.measure(ticks, time) {
            self.origin = Some((time, counter.read()));
        }
        (self.due, self.from, self.quiet) = (due, ticks, self.quiet_for(due.saturating_since(time)));
        due <= time
    }

    /// Measures the rate since the origin if that is long enough ago. Returns true if a new origin is needed.
    fn measure(&mut self, ticks: u64, time: Instant) -> bool {
        let Some((origin, origin_ticks)) = self.origin else {
            return true;
        };
        let passed = nanos(time.saturating_since(origin));
        if passed < nanos(MEASURED_OVER) {
            return false;
        }
        let rate = (u128::from(ticks.wrapping_sub(origin_ticks)) << PLACES) / u128::from(passed);
        // A higher one means that the counter went back, or that another one came in its place.
        let is_possible = rate <= u128::from(HIGHEST << PLACES);
        self.rates = [self.rates[1], if is_possible { rate as u64 } else { 0 }];
        true
    }

    /// Returns the number of ticks that pass at least in that time.
    fn quiet_for(&self, left: Duration) -> u64 {
        let rate = self.rates[0].min(self.rates[1]);
        // Fits: at most 5 ms at the highest rate.
        let expected = (u128::from(nanos(left.min(LONGEST))) * u128::from(rate)) >> PLACES;
        expected as u64 / BELIEVED[1] * BELIEVED[0]
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
    fn a_due_time_is_never_missed() {
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
    fn the_lower_one_of_two_rates_counts_and_one_that_cannot_be_is_not_believed() {
        let mut lookout = Lookout::new(None);
        let ms = Instant::from_millis;
        let left = Duration::from_millis(1);
        let mut measured = |from: (u64, u64), to: (u64, u64)| {
            lookout.origin = Some((ms(from.0), from.1));
            assert!(lookout.measure(to.1, ms(to.0)));
            lookout.quiet_for(left)
        };
        // Two ticks a nanosecond; one measurement is not enough.
        assert_eq!(measured((0, 0), (2, 4_000_000)), 0);
        assert_eq!(measured((2, 0), (4, 4_000_000)), 1_750_000);
        // The counter counted on while the machine was suspended.
        assert_eq!(measured((4, 0), (6, 12_000_000)), 1_750_000);
        assert_eq!(measured((6, 0), (8, 4_000_000)), 1_750_000);
        // The counter went back.
        assert_eq!(measured((8, 1_000), (10, 900)), 0);
        assert_eq!(lookout.quiet_for(Duration::from_secs(1)), 0);
    }

    #[test]
    fn the_counter_is_not_believed_for_long() {
        let mut lookout = Lookout::new(None);
        lookout.rates = [1 << PLACES; 2];
        assert_eq!(lookout.quiet_for(Duration::from_secs(1)), 4_375_000);
    }
}
