//! The work of a node: trial division for an exact stretch of thread CPU time.
//!
//! The clock is the thread's own CPU time, so that being preempted does not shorten the work. Asking
//! it costs a system call; the work is therefore done in pieces of half of what is left, sized by a
//! calibration: few calls while there is much to do, and no piece long enough to overshoot.

use std::hint::black_box;
use std::time::Duration;

use rospin_measure::process::thread_cpu_time;
use serde::{Deserialize, Serialize};

/// Busy time before the calibration, for the core to reach its clock rate.
const CALIBRATION_WARM_UP: Duration = Duration::from_millis(50);
/// Number of bursts of divisions in the calibration, whose median counts.
const CALIBRATION_BURSTS: usize = 9;
/// Number of divisions in a burst, which take about half a millisecond.
const CALIBRATION_DIVISIONS: u64 = 200_000;
/// Shortest and longest piece of work between two looks at the clock, in nanoseconds of CPU time. A core would have to
/// become half as fast within a piece to overshoot by more than the shortest one.
const PIECE_MIN_NS: f64 = 2_000.0;
const PIECE_MAX_NS: f64 = 1_000_000.0;

/// Calibration: the speed of this machine's divisions.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Calibration {
    /// Trial divisions in a nanosecond of thread CPU time.
    pub(crate) divisions_per_ns: f64,
}

impl Calibration {
    /// Measures the speed of divisions on the calling thread; takes about 60 ms.
    pub(crate) fn measure() -> Self {
        let mut search = PrimeSearch::new();
        let warm = thread_cpu_time() + CALIBRATION_WARM_UP;
        while thread_cpu_time() < warm {
            search.divide(CALIBRATION_DIVISIONS / 10);
        }
        let mut bursts = [0.0; CALIBRATION_BURSTS];
        for burst in &mut bursts {
            let start = thread_cpu_time();
            search.divide(CALIBRATION_DIVISIONS);
            let spent = (thread_cpu_time() - start).as_nanos().max(1);
            *burst = CALIBRATION_DIVISIONS as f64 / spent as f64;
        }
        bursts.sort_by(f64::total_cmp);
        Self { divisions_per_ns: bursts[CALIBRATION_BURSTS / 2] }
    }
}

/// Burns `work` of the calling thread's CPU time, or a few microseconds more. Does not block, allocate or lock.
pub(crate) fn crunch(work: Duration, calibration: Calibration) {
    let end = thread_cpu_time() + work;
    let mut search = PrimeSearch::new();
    loop {
        let left = end.saturating_sub(thread_cpu_time());
        if left.is_zero() {
            break;
        }
        let piece_ns = (left.as_nanos() as f64 / 2.0).clamp(PIECE_MIN_NS, PIECE_MAX_NS);
        search.divide((piece_ns * calibration.divisions_per_ns).max(1.0) as u64);
    }
}

/// Does as many divisions as take `work` by the calibration. Unlike [`crunch`], makes no system call, so that it suits
/// work of a few microseconds; it is as exact as the core's clock rate is constant.
pub(crate) fn crunch_about(work: Duration, calibration: Calibration) {
    PrimeSearch::new().divide((work.as_nanos() as f64 * calibration.divisions_per_ns) as u64);
}

/// Search for primes by trial division, which can stop after any division.
struct PrimeSearch {
    /// Number that is tested.
    candidate: u32,
    /// Number by which it is divided next.
    divisor: u32,
    /// Number of primes that were found.
    primes: u32,
}

impl PrimeSearch {
    /// Largest candidate of the search, as in the published benchmark. After it, the search begins again.
    const LIMIT: u32 = 4096;

    fn new() -> Self {
        Self { candidate: 2, divisor: 2, primes: 0 }
    }

    /// Does `count` trial divisions.
    fn divide(&mut self, count: u64) {
        for _ in 0..count {
            self.step();
        }
        black_box(self.primes);
    }

    /// Does one trial division, or counts the candidate as a prime if no divisor is left.
    #[inline]
    fn step(&mut self) {
        let prime = self.divisor >= self.candidate;
        if prime || black_box(self.candidate).is_multiple_of(self.divisor) {
            self.primes = self.primes.wrapping_add(u32::from(prime));
            self.candidate = if self.candidate >= Self::LIMIT { 2 } else { self.candidate + 1 };
            self.divisor = 2;
        } else {
            self.divisor += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_counted_right() {
        let mut search = PrimeSearch::new();
        while search.candidate <= 30 {
            search.step();
        }
        // The primes 2, 3, 5, 7, 11, 13, 17, 19, 23 and 29.
        assert_eq!(search.primes, 10);
    }

    #[test]
    fn work_is_never_short_and_rarely_long() {
        let calibration = Calibration::measure();
        assert!(calibration.divisions_per_ns > 0.0);
        let work = Duration::from_millis(2);
        let mut overshoots: Vec<Duration> = (0..9)
            .map(|_| {
                let start = thread_cpu_time();
                crunch(work, calibration);
                let spent = thread_cpu_time() - start;
                assert!(spent >= work, "{spent:?}");
                spent - work
            })
            .collect();
        overshoots.sort_unstable();
        // The median counts, because an interrupt is charged to the thread that runs. The limit is 20 us plus the cost
        // of reading the clock.
        assert!(overshoots[4] < Duration::from_micros(30), "{overshoots:?}");
    }

    #[test]
    fn a_wrong_calibration_only_changes_the_number_of_looks() {
        for divisions_per_ns in [1e-6, 0.01] {
            let start = thread_cpu_time();
            crunch(Duration::from_micros(300), Calibration { divisions_per_ns });
            assert!(thread_cpu_time() - start >= Duration::from_micros(300));
        }
    }
}
