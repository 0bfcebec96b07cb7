//! Figures of many durations.

use serde::Serialize;

/// Summary of durations, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Figures {
    /// The number of durations.
    pub count: usize,
    /// The shortest one.
    pub min_ns: u64,
    /// The mean.
    pub mean_ns: f64,
    /// The duration that 99 of 100 do not exceed.
    pub p99_ns: u64,
    /// The longest one.
    pub max_ns: u64,
}

impl Figures {
    /// Returns the summary, or `None` if there are no durations.
    pub fn of(durations_ns: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut all: Vec<u64> = durations_ns.into_iter().collect();
        all.sort_unstable();
        let min_ns = *all.first()?;
        let max_ns = *all.last()?;
        let count = all.len();
        let mean_ns = all.iter().map(|duration| *duration as f64).sum::<f64>() / count as f64;
        let p99_ns = percentile(&all, 99)?;
        Some(Self { count, min_ns, mean_ns, p99_ns, max_ns })
    }

    /// Returns the difference between the longest and the shortest duration: the jitter.
    #[must_use]
    pub const fn jitter_ns(&self) -> u64 {
        self.max_ns - self.min_ns
    }
}

/// Returns the smallest of the values, which are in ascending order, that `percent` of all do not exceed; `None` if
/// there are no values or `percent` is 0.
#[must_use]
pub fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_hundred_may_exceed_the_99th_percentile() {
        assert_eq!(Figures::of([]), None);
        let one = Figures::of([7]).unwrap();
        assert_eq!((one.min_ns, one.p99_ns, one.max_ns, one.jitter_ns()), (7, 7, 7, 0));
        let hundred = Figures::of(1..=100).unwrap();
        assert_eq!((hundred.p99_ns, hundred.max_ns, hundred.mean_ns, hundred.jitter_ns()), (99, 100, 50.5, 99));
    }
}
