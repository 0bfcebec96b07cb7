//! Measured times as execution times of system files.

use std::time::Duration;

use rospin_scenario::{Bin, ExecutionTime, duration};

use crate::Options;

/// Measured times, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times(Vec<u64>);

impl Times {
    /// Returns the times in order.
    pub(crate) fn of(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// Returns the time that so many percent do not exceed; zero if there are no times.
    pub(crate) fn at(&self, percent: f64) -> u64 {
        let count = self.0.len();
        let rank = (count as f64 * percent / 100.0).ceil() as usize;
        self.0.get(rank.clamp(1, count.max(1)) - 1).copied().unwrap_or(0)
    }

    /// Returns the shortest and the longest of them as an await: the time for which no thread runs the callback.
    pub(crate) fn as_wait(&self) -> ExecutionTime {
        ExecutionTime::Uniform(Duration::from_nanos(self.at(0.0)), readable(self.at(100.0)))
    }

    /// Returns a histogram with the 50th, 90th and 99th percentile and the longest time, to which the margin is added.
    /// Each of them stands for all times up to it. Returns a constant if only the longest is left, as for a single
    /// time.
    pub(crate) fn as_execution(&self, options: &Options) -> ExecutionTime {
        let longest = readable((self.at(options.percentile) as f64 * (1.0 + options.margin / 100.0)).round() as u64);
        let mut bins: Vec<Bin> = Vec::new();
        let mut counted = 0;
        for percent in [50.0, 90.0, 99.0].into_iter().filter(|percent| *percent < options.percentile) {
            let time = readable(self.at(percent)).min(longest);
            // The longest bin has at least one.
            let up_to =
                self.0.partition_point(|one| *one <= time.as_nanos() as u64).min(self.0.len().saturating_sub(1));
            if time < longest && up_to > counted {
                bins.push(Bin { time, count: count(up_to - counted) });
                counted = up_to;
            }
        }
        if bins.is_empty() {
            return ExecutionTime::Fixed(longest);
        }
        bins.push(Bin { time: longest, count: count(self.0.len() - counted) });
        ExecutionTime::Recorded(bins)
    }

    /// Returns the measurements in words.
    pub(crate) fn told(&self) -> String {
        let mean = self.0.iter().map(|time| u128::from(*time)).sum::<u128>() / self.0.len().max(1) as u128;
        let text = |ns: u64| duration::format(readable(ns));
        format!(
            "{}: min {}, mean {}, p99 {}, max {}",
            plural(self.0.len(), "run"),
            text(self.at(0.0)),
            text(mean as u64),
            text(self.at(99.0)),
            text(self.at(100.0)),
        )
    }
}

/// Returns the number with the noun, in the plural unless it is one.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns the time, rounded up to three digits. It is at least a nanosecond, because the analysis wants a time above
/// zero.
pub(crate) fn readable(ns: u64) -> Duration {
    let ns = ns.max(1);
    let unit = 10_u64.pow(ns.ilog10().saturating_sub(2));
    Duration::from_nanos(ns.div_ceil(unit).saturating_mul(unit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_rounded_up() {
        let text = |ns| duration::format(readable(ns));
        assert_eq!([0, 1, 999, 1_001, 5_012_345].map(text), ["1 ns", "1 ns", "999 ns", "1.01 us", "5.02 ms"]);
        assert_eq!(readable(u64::MAX), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn one_time_is_constant_and_the_margin_is_on_the_longest() {
        let exact = Options { margin: 0.0, ..Options::default() };
        assert_eq!(Times::of(vec![500; 3]).as_execution(&exact), ExecutionTime::Fixed(Duration::from_nanos(500)));
        let times = Times::of((1..=100).map(|number| number * 1_000).collect());
        let ExecutionTime::Recorded(bins) = times.as_execution(&Options::default()) else { panic!("a histogram") };
        let told: Vec<_> = bins.iter().map(|bin| (bin.time.as_micros(), bin.count)).collect();
        assert_eq!(told, [(50, 50), (90, 40), (99, 9), (110, 1)]);
        let most = Options { percentile: 90.0, margin: 0.0, ..Options::default() };
        assert_eq!(times.as_execution(&most).longest(), Duration::from_micros(90));
        assert_eq!(times.told(), "100 runs: min 1 us, mean 50.5 us, p99 99 us, max 100 us");
    }

    proptest! {
        #[test]
        fn histograms_bound_what_was_measured(times in prop::collection::vec(0..10_000_000_u64, 1..300)) {
            let options = Options { margin: 0.0, ..Options::default() };
            let sorted = Times::of(times.clone());
            let execution = sorted.as_execution(&options);
            let most = *times.iter().max().unwrap();
            let longest = execution.longest().as_nanos() as u64;
            prop_assert!(longest >= most && longest <= most + most / 100 + 1);
            if let ExecutionTime::Recorded(bins) = &execution {
                prop_assert!(bins.windows(2).all(|pair| pair[0].time < pair[1].time));
                let mut counted = 0;
                for bin in &bins[..bins.len() - 1] {
                    counted += bin.count as usize;
                    let naive = times.iter().filter(|time| **time <= bin.time.as_nanos() as u64).count();
                    prop_assert_eq!(counted, naive.min(times.len() - 1));
                }
            }
        }
    }
}
