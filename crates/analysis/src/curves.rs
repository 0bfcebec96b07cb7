//! Arrival curves of bursts, of limits and of measurements.

/// Largest number of spans that a curve keeps. Beyond them it goes on periodically, see [`Curve`].
const SPANS_MAX: usize = 1_000;

/// A curve by its spans: the shortest interval lengths from the first to the last of 1, 2, 3... arrivals. Beyond them,
/// `count` more come in each further `period`.
///
/// So an interval that is k periods longer has at most k times `count` arrivals more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Curve {
    spans: Vec<u64>,
    count: u64,
    period: u64,
}

impl Curve {
    /// Returns the curve of bursts of `count` messages that are `spacing` apart, with at least `gap` from one burst's
    /// begin to the next one's. `None` if a burst is empty, lasts longer than `gap`, or has more than [`SPANS_MAX`]
    /// messages.
    pub(crate) fn bursts(gap: u64, count: u64, spacing: u64) -> Option<Self> {
        let inside = count.checked_sub(1)?.checked_mul(spacing)?;
        if count as usize > SPANS_MAX || inside > gap {
            return None;
        }
        // The release times of two bursts. An interval may begin anywhere in the first one.
        let times: Vec<u64> = (0..2 * count).map(|number| number / count * gap + number % count * spacing).collect();
        let shortest = |size: usize| times.windows(size).map(|part| part[size - 1] - part[0]).min();
        let spans = (1..=count as usize).filter_map(shortest).collect();
        Some(Self { spans, count, period: gap })
    }

    /// Returns the curve of limits, each a number of arrivals and the length of the intervals that have no more of
    /// them; `None` if there is no limit. Its arrivals are the densest that keep to the limits: each comes as soon as
    /// all limits allow, and no others come sooner after their first one (by induction over the arrivals).
    pub(crate) fn limited(limits: &[(u64, u64)]) -> Option<Self> {
        let rate = |limit: &&(u64, u64)| limit.0 as f64 / limit.1 as f64;
        let (count, period) = *limits.iter().min_by(|one, other| rate(one).total_cmp(&rate(other)))?;
        let kept = SPANS_MAX.max(count as usize);
        let mut spans: Vec<u64> = Vec::new();
        for number in 0..kept {
            let after = |(count, within): &(u64, u64)| Some(spans[number.checked_sub(*count as usize)?] + within);
            spans.push(limits.iter().filter_map(after).max().unwrap_or(0));
        }
        Some(Self { spans, count, period })
    }

    /// Returns the curve of arrivals that are no denser than these times, which are in order: a number of arrivals
    /// takes at least as long as in the list, and more arrivals than are kept take as long as two such stretches that
    /// share an arrival. `None` for fewer than two times, and if all are equal.
    pub(crate) fn measured(times: &[u64]) -> Option<Self> {
        let kept = times.len().min(SPANS_MAX);
        let shortest = |size: usize| times.windows(size).map(|part| part[size - 1] - part[0]).min();
        let spans: Vec<u64> = (1..=kept).filter_map(shortest).collect();
        let (count, period) = (kept.checked_sub(1)? as u64, *spans.last()?);
        (count > 0 && period > 0).then_some(Self { spans, count, period })
    }

    fn last(&self) -> u64 {
        self.spans.last().copied().unwrap_or(0)
    }

    /// Returns by how many periods an interval is longer than the longest span that is kept, rounded up.
    fn periods(&self, length: u64) -> u64 {
        length.saturating_sub(self.last()).div_ceil(self.period)
    }

    /// Returns the most arrivals in an interval of this length.
    // Not inlined, because this case is rare. The analysis spends most of its time on periodic arrivals.
    #[inline(never)]
    pub(crate) fn number(&self, length: u64) -> u64 {
        let periods = self.periods(length);
        let rest = length.saturating_sub(periods.saturating_mul(self.period));
        let kept = self.spans.partition_point(|span| *span < rest) as u64;
        periods.saturating_mul(self.count).saturating_add(kept)
    }

    /// Returns the first length above this one that has more arrivals; `None` if it is too large for a number.
    #[inline(never)]
    pub(crate) fn next_step(&self, length: u64) -> Option<u64> {
        let known = self.number(length);
        let mut length = length;
        loop {
            let shift = self.periods(length).checked_mul(self.period)?;
            let rest = length.saturating_sub(shift);
            let kept = self.spans.partition_point(|span| *span < rest);
            let here = self.spans.get(kept).filter(|span| **span < self.last()).map(|span| span + 1);
            // Behind the stored steps, the next period of the curve begins.
            length = here.unwrap_or(self.last() + 1).checked_add(shift)?;
            if self.number(length) > known {
                return Some(length);
            }
        }
    }

    /// Returns the number of arrivals per nanosecond in the long run.
    pub(crate) fn rate(&self) -> f64 {
        self.count as f64 / self.period as f64
    }

    /// Returns the value at length zero of a line that has this [`rate`](Self::rate) and is never above
    /// [`number`](Self::number). It may be negative.
    pub(crate) fn line_begins(&self) -> f64 {
        -self.rate() * self.last() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the largest number of times that lie in an interval of this length.
    fn densest(times: &[u64], length: u64) -> u64 {
        let within =
            |from: &u64| times.partition_point(|at| *at < from + length) - times.partition_point(|at| at < from);
        times.iter().map(within).max().unwrap_or(0) as u64
    }

    #[test]
    fn bursts_are_exact() {
        for (gap, count, spacing) in [(20, 3, 2), (20, 3, 9), (20, 3, 10), (7, 1, 0), (9, 4, 0), (10, 2, 9)] {
            let curve = Curve::bursts(gap, count, spacing).unwrap();
            let times: Vec<u64> =
                (0..100 * count).map(|number| number / count * gap + number % count * spacing).collect();
            for length in 1..300 {
                assert_eq!(curve.number(length), densest(&times, length), "{gap} {count} {spacing}: {length}");
            }
        }
        assert_eq!(Curve::bursts(10, 3, 6), None, "a burst lasts beyond the next one");
    }

    #[test]
    fn limits_are_the_densest_that_keep_to_them() {
        for limits in [&[(3, 10)][..], &[(1, 2), (3, 10)], &[(2, 5), (5, 30), (3, 9)], &[(4, 10), (1, 1)]] {
            let curve = Curve::limited(limits).unwrap();
            let mut times: Vec<u64> = Vec::new();
            for number in 0..2_000_usize {
                let after = |(count, within): &(u64, u64)| Some(times[number.checked_sub(*count as usize)?] + within);
                times.push(limits.iter().filter_map(after).max().unwrap_or(0));
            }
            for length in (1..400).step_by(7) {
                let from_first = times.iter().filter(|at| **at < length).count() as u64;
                assert_eq!(curve.number(length), from_first, "{limits:?}: {length}");
                assert_eq!(from_first, densest(&times[..500], length), "{limits:?}: {length}");
            }
            // Behind the stored steps, the curve is still an upper limit.
            for length in [4_000, 4_001, 5_000] {
                assert!(curve.number(length) >= times.iter().filter(|at| **at < length).count() as u64, "{limits:?}");
            }
        }
    }

    #[test]
    fn measurements_are_never_below_what_was_measured() {
        let times: Vec<u64> = (0..1_500_u64).map(|number| number * 100 + number * number % 97).collect();
        let curve = Curve::measured(&times).unwrap();
        for length in [1, 100, 250, 9_000, 99_000, 120_000, 149_000] {
            assert!(curve.number(length) >= densest(&times, length), "{length}");
        }
        assert_eq!(curve.number(150), densest(&times, 150));
        assert_eq!(Curve::measured(&[5]), None);
    }

    #[test]
    fn steps_are_where_the_number_grows() {
        let curves = [
            Curve::bursts(20, 3, 2),
            Curve::bursts(10, 2, 9),
            Curve::limited(&[(2, 5), (5, 30), (3, 9)]),
            Curve::measured(&[0, 3, 4, 9, 30]),
        ];
        for curve in curves.into_iter().flatten() {
            let grows = |length: &u64| curve.number(*length) > curve.number(length - 1);
            let expected: Vec<u64> = (1..300).filter(grows).collect();
            let steps = std::iter::successors(curve.next_step(0), |step| curve.next_step(*step));
            assert_eq!(steps.take_while(|step| *step < 300).collect::<Vec<_>>(), expected, "{curve:?}");
            let line = |length: u64| curve.rate() * length as f64 + curve.line_begins();
            assert!((1..300).all(|length| curve.number(length) as f64 >= line(length) - 1e-9));
        }
    }
}
