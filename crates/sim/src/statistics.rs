//! What is said about many durations in a few numbers.

use std::time::Duration;

/// Count, smallest, mean, 99th percentile and largest of many durations; zeros if there are none.
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
    /// How many there are.
    pub count: usize,
    /// The smallest.
    pub min: Duration,
    /// The mean.
    pub mean: Duration,
    /// The smallest one that 99 % of them do not exceed.
    pub p99: Duration,
    /// The largest.
    pub max: Duration,
}

impl Statistics {
    /// Of these durations.
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
