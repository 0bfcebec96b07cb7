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
        let (min_ns, max_ns) = (*all.first()?, *all.last()?);
        let count = all.len();
        let mean_ns = all.iter().map(|duration| *duration as f64).sum::<f64>() / count as f64;
        let p99_ns = all[(count * 99).div_ceil(100) - 1];
        Some(Self { count, min_ns, mean_ns, p99_ns, max_ns })
    }

    /// Returns the difference between the longest and the shortest duration: the jitter.
    #[must_use]
    pub const fn jitter_ns(&self) -> u64 {
        self.max_ns - self.min_ns
    }
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
