//! The time of a bag that is played, beside the steady clock.

use std::time::Duration;

use rospin::time::Instant;

/// Relation of the two: a point at which both are known, and a rate. Due times are calculated from that point, so they
/// do not drift.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeline {
    pub(super) anchor: Instant,
    /// Time of the bag at the anchor, in nanoseconds.
    pub(super) from: u64,
    /// Seconds of the bag that a second plays.
    pub(super) rate: f64,
}

impl Timeline {
    /// Returns the time at which what was recorded at `time` is due.
    pub(super) fn due(&self, time: u64) -> Instant {
        let since = time.saturating_sub(self.from) as f64 / self.rate;
        // A cast saturates.
        self.anchor + Duration::from_nanos(since.round() as u64)
    }

    /// Returns the bag's time at a time of the steady clock.
    pub(super) fn at(&self, now: Instant) -> u64 {
        let since = now.saturating_since(self.anchor).as_nanos() as f64 * self.rate;
        self.from.saturating_add(since as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_do_not_drift() {
        let timeline = Timeline { anchor: Instant::from_millis(5), from: 1_000, rate: 3.0 };
        assert_eq!(timeline.due(1_000), Instant::from_millis(5));
        assert_eq!(timeline.due(0), Instant::from_millis(5));
        // An hour of messages at 1 kHz: the last one is as exact as the first.
        let last = timeline.due(1_000 + 3_600_000_000_000);
        assert_eq!(last.saturating_since(timeline.anchor), Duration::from_secs(1_200));
        assert_eq!(timeline.at(last), 1_000 + 3_600_000_000_000);
    }

    #[test]
    fn absurd_rates_and_times_have_limits() {
        let slow = Timeline { anchor: Instant::from_millis(0), from: 0, rate: 1e-3 };
        assert!(slow.due(u64::MAX) >= Instant::from_nanos(u64::MAX - 1));
        let fast = Timeline { anchor: Instant::from_millis(0), from: 7, rate: 1e6 };
        assert_eq!(fast.at(Instant::from_nanos(u64::MAX)), u64::MAX);
    }
}
