//! Records in which callbacks note latencies of messages and ticks of a timer, without a lock and without an
//! allocation.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::stats::percentile;
use crate::wake_up::now_ns;

/// Latencies of messages that carry the time at which they were sent.
pub struct Latencies {
    values_ns: Box<[AtomicU64]>,
    count: AtomicUsize,
}

/// Median, 99th percentile and maximum of latencies in microseconds, and their number. All are 0 if there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencySummary {
    /// Number of latencies.
    pub count: usize,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Greatest.
    pub max_us: f64,
}

impl Latencies {
    /// Creates a record with room for that many latencies. Later ones are not noted.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { values_ns: (0..most).map(|_| AtomicU64::new(0)).collect(), count: AtomicUsize::new(0) }
    }

    /// Notes the latency of a message that arrives now and was sent at `sent_ns` on the steady clock. Neither blocks
    /// nor allocates.
    pub fn note(&self, sent_ns: u64) {
        let late_ns = now_ns().saturating_sub(sent_ns);
        if let Some(value) = self.values_ns.get(self.count.fetch_add(1, Ordering::Relaxed)) {
            value.store(late_ns, Ordering::Relaxed);
        }
    }

    /// Summarises what was noted. Allocates.
    #[must_use]
    pub fn summary(&self) -> LatencySummary {
        let count = self.count.load(Ordering::Relaxed).min(self.values_ns.len());
        let us: Vec<_> = self.values_ns[..count].iter().map(|ns| ns.load(Ordering::Relaxed) as f64 / 1e3).collect();
        let [p50_us, p99_us, max_us] = [50.0, 99.0, 100.0].map(|percent| percentile(&us, percent).unwrap_or(0.0));
        LatencySummary { count, p50_us, p99_us, max_us }
    }
}

/// Ticks of a periodic timer, which goes on at the next due time of its grid when it missed some.
pub struct Ticks {
    period_ns: u64,
    first_ns: AtomicU64,
    last_ns: AtomicU64,
    longest_gap_ns: AtomicU64,
    count: AtomicU64,
}

/// Number, rate and gaps of a timer's ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TickSummary {
    /// Number of ticks.
    pub ticks: u64,
    /// Number of due times between the first and the last tick that had none.
    pub skipped: u64,
    /// Ticks per second between the first and the last one; 0 if there are fewer than two.
    pub per_s: f64,
    /// Longest time between two ticks, in milliseconds.
    pub longest_gap_ms: f64,
}

impl Ticks {
    /// Creates an empty record for a timer with this period.
    ///
    /// # Panics
    /// If the period is zero.
    #[must_use]
    pub fn new(period: Duration) -> Self {
        let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        assert!(period_ns > 0, "a timer has a period");
        let zero = || AtomicU64::new(0);
        Self { period_ns, first_ns: zero(), last_ns: zero(), longest_gap_ns: zero(), count: zero() }
    }

    /// Notes a tick that happens now. Must be called by one thread at a time. Neither blocks nor allocates.
    pub fn note(&self) {
        self.note_at(now_ns());
    }

    fn note_at(&self, now_ns: u64) {
        if self.count.fetch_add(1, Ordering::Relaxed) == 0 {
            self.first_ns.store(now_ns, Ordering::Relaxed);
        } else {
            let gap_ns = now_ns.saturating_sub(self.last_ns.load(Ordering::Relaxed));
            self.longest_gap_ns.fetch_max(gap_ns, Ordering::Relaxed);
        }
        self.last_ns.store(now_ns, Ordering::Relaxed);
    }

    /// Summarises the ticks: those in progress may be missing.
    #[must_use]
    pub fn summary(&self) -> TickSummary {
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let ticks = read(&self.count);
        let span_ns = read(&self.last_ns).saturating_sub(read(&self.first_ns));
        // Neither end is exactly on the grid, so the number of periods between them is rounded.
        let due = span_ns.saturating_add(self.period_ns / 2) / self.period_ns + 1;
        let per_s = if span_ns > 0 { (ticks - 1) as f64 * 1e9 / span_ns as f64 } else { 0.0 };
        let longest_gap_ms = read(&self.longest_gap_ns) as f64 / 1e6;
        TickSummary { ticks, skipped: due.saturating_sub(ticks.max(1)), per_s, longest_gap_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_beyond_the_room_are_not_noted() {
        let latencies = Latencies::new(2);
        assert_eq!(latencies.summary(), LatencySummary::default());
        for _ in 0..3 {
            latencies.note(now_ns() - 1_000_000);
        }
        let summary = latencies.summary();
        assert_eq!(summary.count, 2);
        assert!(summary.p50_us >= 1_000.0 && summary.max_us >= summary.p99_us, "{summary:?}");
    }

    #[test]
    fn a_message_from_the_future_is_not_late() {
        let latencies = Latencies::new(1);
        latencies.note(u64::MAX);
        assert_eq!(latencies.summary(), LatencySummary { count: 1, ..LatencySummary::default() });
    }

    fn summary_of(times_us: impl IntoIterator<Item = u64>) -> TickSummary {
        let ticks = Ticks::new(Duration::from_millis(1));
        for us in times_us {
            ticks.note_at(us * 1_000);
        }
        ticks.summary()
    }

    #[test]
    fn a_late_tick_is_not_a_skipped_one() {
        let summary = summary_of([1_000, 2_700, 3_000, 4_100]);
        assert_eq!((summary.ticks, summary.skipped, summary.longest_gap_ms), (4, 0, 1.7));
    }

    #[test]
    fn due_times_without_a_tick_are_skipped() {
        // Due times 3 and 4 have none.
        let summary = summary_of([1_000, 2_000, 5_020, 6_000]);
        assert_eq!((summary.ticks, summary.skipped, summary.longest_gap_ms), (4, 2, 3.02));
        assert_eq!(summary.per_s, 600.0);
    }

    #[test]
    fn no_tick_and_one_tick() {
        assert_eq!(summary_of([]), TickSummary::default());
        assert_eq!(summary_of([7]), TickSummary { ticks: 1, ..TickSummary::default() });
    }
}
