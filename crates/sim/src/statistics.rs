//! Summary statistics of durations.

use std::time::Duration;

/// Count, minimum, mean, 99th percentile and maximum of durations. All are zero if there are no durations.
///
/// ```
/// use std::time::Duration;
/// use rospin_sim::Statistics;
///
/// let ms = Duration::from_millis;
/// let statistics = Statistics::of([ms(1), ms(3), ms(8)]);
/// assert_eq!((statistics.min, statistics.mean, statistics.p99, statistics.max), (ms(1), ms(4), ms(8), ms(8)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of durations.
    pub count: usize,
    /// Shortest duration; zero if there are none.
    pub min: Duration,
    /// Mean of the durations, rounded down to whole nanoseconds.
    pub mean: Duration,
    /// Smallest value that 99 % of the durations do not exceed.
    pub p99: Duration,
    /// Longest duration; zero if there are none.
    pub max: Duration,
}

impl Statistics {
    /// Returns the statistics of these durations.
    #[must_use]
    pub fn of(durations: impl IntoIterator<Item = Duration>) -> Self {
        let mut sorted: Vec<_> = durations.into_iter().collect();
        sorted.sort_unstable();
        let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else {
            return Self::default();
        };
        let count = sorted.len();
        let total_ns: u128 = sorted.iter().map(Duration::as_nanos).sum();
        let mean = Duration::from_nanos(u64::try_from(total_ns / count as u128).unwrap_or(u64::MAX));
        let rank = (count * 99).div_ceil(100);
        Self { count, min: *min, mean, p99: sorted[rank - 1], max: *max }
    }
}
