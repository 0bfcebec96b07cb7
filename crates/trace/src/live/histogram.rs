//! Durations counted in buckets: memory of a fixed size, whatever comes.

use serde::Serialize;

/// Number of buckets for each doubling of the duration. So a bucket is at most a 32nd of its shortest duration wide.
const FINE: u64 = 32;
/// Doublings up to eighteen minutes. Longer durations are in the last bucket.
const DOUBLINGS: usize = 35;
const LAST: usize = DOUBLINGS * FINE as usize + FINE as usize - 1;

/// Summary of durations, in nanoseconds. Apart from the largest one, they are up to 3 % too large.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Summary {
    /// The duration that half of them do not exceed.
    pub p50_ns: u64,
    /// The duration that 99 of 100 do not exceed.
    pub p99_ns: u64,
    /// The longest one.
    pub max_ns: u64,
}

/// Numbers of durations, by buckets of similar ones.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    /// The number of durations in each bucket, up to the bucket of the longest duration so far.
    counts: Vec<u32>,
    count: u64,
    max_ns: u64,
}

/// Returns the bucket of a duration. The first ones have a nanosecond each.
const fn bucket(ns: u64) -> usize {
    if ns < FINE {
        return ns as usize;
    }
    let doubling = (ns.ilog2() - FINE.ilog2()) as usize;
    if doubling >= DOUBLINGS {
        return LAST;
    }
    (doubling + 1) * FINE as usize + ((ns >> doubling) - FINE) as usize
}

/// Returns the longest duration of a bucket.
const fn upper(bucket: usize) -> u64 {
    if bucket < FINE as usize {
        return bucket as u64;
    }
    if bucket == LAST {
        return u64::MAX;
    }
    let doubling = bucket / FINE as usize - 1;
    ((bucket as u64 % FINE + FINE + 1) << doubling) - 1
}

impl Histogram {
    /// Counts a duration.
    pub fn add(&mut self, ns: u64) {
        let bucket = bucket(ns);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] = self.counts[bucket].saturating_add(1);
        self.count += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Forgets all durations, and keeps the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.count, self.max_ns) = (0, 0);
    }

    /// Returns how many durations there are.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the duration that `percent` of 100 do not exceed, rounded up to the end of its bucket; 0 if there are
    /// none.
    #[must_use]
    pub fn percentile(&self, percent: u64) -> u64 {
        let rank = (self.count * percent).div_ceil(100).max(1);
        let mut before = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            before += u64::from(*count);
            if before >= rank {
                return upper(bucket).min(self.max_ns);
            }
        }
        self.max_ns
    }

    /// Returns the summary; `None` if there are no durations.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        if self.count == 0 {
            return None;
        }
        Some(Summary { p50_ns: self.percentile(50), p99_ns: self.percentile(99), max_ns: self.max_ns })
    }

    /// Returns the durations in at most `bars` bars of equal width on a logarithmic scale: the longest duration of
    /// each, and the number of durations.
    #[must_use]
    pub fn bars(&self, bars: usize) -> Vec<(u64, u64)> {
        let Some(first) = self.counts.iter().position(|count| *count > 0) else { return Vec::new() };
        let last = self.counts.iter().rposition(|count| *count > 0).unwrap_or(first);
        let width = (last - first + 1).div_ceil(bars.max(1));
        let parts = self.counts[first..=last].chunks(width).enumerate();
        let bar = |(number, counts): (usize, &[u32])| {
            let end = first + number * width + counts.len() - 1;
            (upper(end).min(self.max_ns), counts.iter().map(|count| u64::from(*count)).sum())
        };
        parts.map(bar).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Figures;

    #[test]
    fn buckets_follow_each_other_without_gaps() {
        for place in 1..=bucket(u64::MAX) {
            let below = upper(place - 1);
            let here = upper(place);
            assert!(here > below && bucket(here) == place && bucket(below + 1) == place, "{place}: {below} {here}");
        }
        assert_eq!((bucket(u64::MAX), upper(LAST)), (LAST, u64::MAX));
    }

    /// Durations from a generator, of all lengths, compared with their exact figures.
    #[test]
    fn percentiles_are_at_most_3_percent_too_large() {
        let mut seed = 7_u64;
        for round in 1..200 {
            let mut histogram = Histogram::default();
            let mut all = Vec::new();
            for _ in 0..round * 3 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let ns = (seed >> 24) >> (seed % 40);
                histogram.add(ns);
                all.push(ns);
            }
            let found = histogram.summary().unwrap();
            let exact = Figures::of(all.iter().copied()).unwrap();
            assert_eq!((histogram.count(), found.max_ns), (all.len() as u64, exact.max_ns));
            let allowed = exact.p99_ns + exact.p99_ns / FINE + 1;
            assert!((exact.p99_ns..=allowed).contains(&found.p99_ns), "{} {}", found.p99_ns, exact.p99_ns);
            assert!(found.p50_ns <= found.p99_ns && found.p99_ns <= found.max_ns);
            let bars = histogram.bars(20);
            assert!(bars.len() <= 20 && bars.iter().map(|(_, count)| count).sum::<u64>() == all.len() as u64);
            assert_eq!(bars.last().unwrap().0, exact.max_ns);
        }
    }

    #[test]
    fn what_was_cleared_has_no_part_in_what_comes_after() {
        let mut histogram = Histogram::default();
        [5_000_000, 7_000_000].into_iter().for_each(|ns| histogram.add(ns));
        histogram.clear();
        histogram.add(1000);
        let summary = histogram.summary().unwrap();
        assert_eq!((histogram.count(), summary.max_ns), (1, 1000));
    }

    #[test]
    fn nothing_has_no_summary() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.summary(), histogram.bars(5)), (None, Vec::new()));
        histogram.add(u64::MAX);
        assert_eq!(histogram.summary().unwrap().p99_ns, u64::MAX);
        histogram.clear();
        assert_eq!(histogram.summary(), None);
    }
}
