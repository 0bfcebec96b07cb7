//! Arrival curves: the largest number of activations that are released in any interval of a given length.

use std::sync::Arc;

use response_time_analysis::arrival::ArrivalBound;
use response_time_analysis::time::Duration;

use crate::curves::Curve;

/// Largest number of listed arrivals whose shortest interval is searched for. Intervals of more arrivals are put
/// together.
const SPANS_EXACT: usize = 1_000;
/// Largest number of curves in a sum; if there are more, similar curves are merged.
const PARTS_MAX: usize = 64;

/// Arrival curve: an upper bound of the number of activations that arrive in any interval of a given length. All times
/// and lengths are in nanoseconds.
///
/// It is one type of our own over those of `response-time-analysis`, because arrivals are compared, cloned and given
/// jitter in every round of the analysis, and because listed arrivals end, which the curves of that crate do not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Arrivals {
    /// `burst` activations at a time, every `gap`, each up to `jitter` late.
    Repeated { gap: u64, jitter: u64, burst: u64 },
    /// Listed times: the lengths of the shortest intervals from the first to the last of 1, 2, 3... arrivals, each up
    /// to `jitter` late.
    Listed { spans: Vec<u64>, jitter: u64 },
    /// All activations at one instant, and no more afterwards.
    Once { count: u64 },
    /// A curve whose arrivals are each up to `jitter` late.
    Curved { curve: Arc<Curve>, jitter: u64 },
    /// Releases of a join: one each time that all inputs have a message. Each input keeps up to `depth` messages.
    Joined { inputs: Vec<Arrivals>, depth: u64 },
    /// Arrivals from several sources.
    Sum(Vec<Arrivals>),
}

impl Arrivals {
    /// Returns the curve of single activations that are at least `gap` apart.
    pub(crate) const fn every(gap: u64) -> Self {
        Self::Repeated { gap, jitter: 0, burst: 1 }
    }

    /// Returns the curve of arrivals at these times, in any order, with `burst` activations at each.
    pub(crate) fn listed(times: &[u64], burst: u64) -> Self {
        let mut sorted: Vec<u64> = times.iter().flat_map(|at| (0..burst).map(move |_| *at)).collect();
        sorted.sort_unstable();
        let shortest = |count: usize| sorted.windows(count).map(|part| part[count - 1] - part[0]).min();
        let mut spans: Vec<u64> = (1..=sorted.len().min(SPANS_EXACT)).filter_map(shortest).collect();
        // A longer series consists of two shorter ones that share an arrival. It takes at least as long as both
        // together.
        for count in SPANS_EXACT + 1..=sorted.len() {
            spans.push(spans[SPANS_EXACT - 1] + spans[count - SPANS_EXACT]);
        }
        Self::Listed { spans, jitter: 0 }
    }

    /// Returns true if nothing ever arrives.
    pub(crate) fn is_never(&self) -> bool {
        self.number(1) == 0
    }

    /// Returns the largest number of arrivals in an interval of this length.
    pub(crate) fn number(&self, length: u64) -> u64 {
        if length == 0 {
            return 0;
        }
        match self {
            Self::Repeated { gap, jitter, burst } => {
                length.saturating_add(*jitter).div_ceil(*gap).saturating_mul(*burst)
            }
            Self::Listed { spans, jitter } => {
                spans.partition_point(|span| *span < length.saturating_add(*jitter)) as u64
            }
            Self::Once { count } => *count,
            Self::Curved { curve, jitter } => curve.number(length.saturating_add(*jitter)),
            Self::Joined { inputs, depth } => joined(inputs, *depth, length),
            Self::Sum(parts) => parts.iter().fold(0, |sum, part| sum.saturating_add(part.number(length))),
        }
    }

    /// Returns these arrivals, each up to `late` later.
    pub(crate) fn later(&self, late: u64) -> Self {
        match self {
            Self::Repeated { gap, jitter, burst } => {
                Self::Repeated { gap: *gap, jitter: jitter.saturating_add(late), burst: *burst }
            }
            Self::Listed { spans, jitter } => {
                Self::Listed { spans: spans.clone(), jitter: jitter.saturating_add(late) }
            }
            Self::Once { count } => Self::Once { count: *count },
            Self::Curved { curve, jitter } => {
                Self::Curved { curve: curve.clone(), jitter: jitter.saturating_add(late) }
            }
            Self::Joined { inputs, depth } => {
                Self::Joined { inputs: inputs.iter().map(|input| input.later(late)).collect(), depth: *depth }
            }
            Self::Sum(parts) => Self::Sum(parts.iter().map(|part| part.later(late)).collect()),
        }
    }

    /// Returns by how many arrivals an interval can have more than one that is this much shorter, at most.
    pub(crate) fn more(&self, longer: u64) -> u64 {
        match self {
            Self::Repeated { gap, burst, .. } => longer.div_ceil(*gap).saturating_mul(*burst),
            Self::Once { .. } => 0,
            Self::Listed { spans, .. } => spans.partition_point(|span| *span < longer) as u64,
            Self::Curved { curve, .. } => curve.number(longer),
            Self::Joined { inputs, .. } => inputs.iter().map(|input| input.more(longer)).max().unwrap_or(0),
            Self::Sum(parts) => parts.iter().fold(0, |sum, part| sum.saturating_add(part.more(longer))),
        }
    }

    /// Returns the number of arrivals per nanosecond in the long run.
    pub(crate) fn rate(&self) -> f64 {
        match self {
            Self::Repeated { gap, burst, .. } => *burst as f64 / *gap as f64,
            Self::Listed { .. } | Self::Once { .. } => 0.0,
            Self::Curved { curve, .. } => curve.rate(),
            Self::Joined { inputs, .. } => inputs.iter().map(Self::rate).fold(f64::MAX, f64::min),
            Self::Sum(parts) => parts.iter().map(Self::rate).sum(),
        }
    }

    /// Returns a line that [`number`](Self::number) is never below, for lengths above zero: its slope in arrivals per
    /// nanosecond, and its value at length zero.
    pub(crate) fn at_least(&self) -> (f64, f64) {
        match self {
            Self::Repeated { gap, jitter, burst } => {
                let rate = *burst as f64 / *gap as f64;
                (rate, rate * *jitter as f64)
            }
            Self::Listed { .. } | Self::Once { .. } => (0.0, 0.0),
            Self::Curved { curve, jitter } => (curve.rate(), curve.rate() * *jitter as f64 + curve.line_begins()),
            Self::Joined { inputs, .. } => {
                let lines = inputs.iter().map(Self::at_least);
                lines.fold((f64::MAX, f64::MAX), |least, line| (least.0.min(line.0), least.1.min(line.1)))
            }
            Self::Sum(parts) => {
                parts.iter().map(Self::at_least).fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
            }
        }
    }

    /// Returns the cost of one call of [`number`](Self::number) in units of the budget: about one for each curve that
    /// this one consists of.
    pub(crate) fn weight(&self) -> u64 {
        match self {
            Self::Repeated { .. } | Self::Listed { .. } | Self::Once { .. } => 1,
            Self::Curved { .. } => 2,
            Self::Joined { inputs: parts, .. } | Self::Sum(parts) => parts.iter().map(Self::weight).sum(),
        }
    }

    /// Returns the first interval length above this one that has more arrivals, or a length between the two; `None` if
    /// no length has more.
    pub(crate) fn next_step(&self, length: u64) -> Option<u64> {
        match self {
            Self::Repeated { .. } if length == 0 => Some(1),
            Self::Repeated { gap, jitter, .. } => {
                let whole = length.saturating_add(*jitter).div_ceil(*gap);
                Some(whole.checked_mul(*gap)? - jitter + 1)
            }
            Self::Listed { spans, jitter } => {
                let span = spans.get(self.number(length) as usize)?;
                Some((span.saturating_sub(*jitter) + 1).max(length + 1))
            }
            Self::Once { count } => (length == 0 && *count > 0).then_some(1),
            Self::Curved { curve, jitter } => {
                // No activation is released in an interval of length 0, whatever the jitter.
                let from = if length == 0 { 0 } else { length.saturating_add(*jitter) };
                let step = curve.next_step(from)?;
                Some(if length == 0 { 1 } else { step.saturating_sub(*jitter).max(length + 1) })
            }
            Self::Joined { inputs: parts, .. } | Self::Sum(parts) => {
                parts.iter().filter_map(|part| part.next_step(length)).min()
            }
        }
    }

    /// Adds curves up. Curves that differ only in their bursts or lists become one. If more than [`PARTS_MAX`] are
    /// left, curves of the same rate become one, with the largest of their jitters.
    pub(crate) fn sum(parts: Vec<Self>) -> Self {
        let mut flat: Vec<Self> = Vec::new();
        for part in parts {
            match part {
                Self::Sum(parts) => flat.extend(parts),
                single => flat.push(single),
            }
        }
        // Curves of the same rate become neighbours, the one with the largest jitter last.
        let key = |part: &Self| match part {
            Self::Repeated { gap, jitter, .. } => (*gap, *jitter),
            Self::Listed { jitter, .. } => (u64::MAX, *jitter),
            Self::Once { .. } | Self::Curved { .. } | Self::Joined { .. } | Self::Sum(_) => (u64::MAX, u64::MAX),
        };
        let mut merged: Vec<Self> = Vec::new();
        for exact in [true, false] {
            if !exact && merged.len() <= PARTS_MAX {
                break;
            }
            let mut open = if exact { std::mem::take(&mut flat) } else { std::mem::take(&mut merged) };
            if exact && open.len() < 2 {
                merged = open;
                break;
            }
            open.sort_by_key(key);
            for part in open {
                match (merged.last_mut(), part) {
                    (
                        Some(Self::Repeated { gap, jitter, burst }),
                        Self::Repeated { gap: other_gap, jitter: other_jitter, burst: more },
                    ) if *gap == other_gap && (!exact || *jitter == other_jitter) => {
                        *jitter = other_jitter;
                        *burst = burst.saturating_add(more);
                    }
                    (Some(Self::Listed { spans, jitter }), Self::Listed { spans: more, jitter: other })
                        if !exact || *jitter == other =>
                    {
                        *jitter = other.max(*jitter);
                        spans.extend(more);
                        spans.sort_unstable();
                    }
                    (Some(Self::Once { count }), Self::Once { count: more }) => *count = count.saturating_add(more),
                    (_, part) => merged.push(part),
                }
            }
        }
        if merged.len() == 1 { merged.remove(0) } else { Self::Sum(merged) }
    }

    /// Returns the interval lengths at which [`number`](Self::number) grows, up to `limit`.
    #[cfg(test)]
    pub(crate) fn steps(&self, limit: u64) -> impl Iterator<Item = u64> + '_ {
        std::iter::successors(self.next_step(0), |step| self.next_step(*step)).take_while(move |step| *step <= limit)
    }
}

/// Returns the most releases of a join in an interval of this length.
///
/// A release takes one message of each input. Between two releases, at least one input has no message waiting:
/// otherwise there would be another release. Consider an interval that begins with such an input empty. It has no more
/// releases than that input has arrivals, and so no more than the input with the most arrivals. It also has no more
/// releases than any one input has arrivals and messages that waited before. An input keeps `depth` messages at most.
#[inline(never)]
fn joined(inputs: &[Arrivals], depth: u64, length: u64) -> u64 {
    if length == 0 {
        return 0;
    }
    let numbers = || inputs.iter().map(|input| input.number(length));
    let most = numbers().max().unwrap_or(0);
    most.min(numbers().min().unwrap_or(0).saturating_add(depth))
}

impl ArrivalBound for Arrivals {
    fn number_arrivals(&self, delta: Duration) -> usize {
        self.number(delta.into()) as usize
    }

    fn steps_iter<'a>(&'a self) -> Box<dyn Iterator<Item = Duration> + 'a> {
        match self {
            Self::Repeated { gap, jitter, .. } => {
                let (gap, jitter) = (*gap, *jitter);
                let later = (jitter / gap + 1..).map(move |number| number * gap - jitter + 1);
                Box::new(std::iter::once(1).chain(later).map(Duration::from))
            }
            Self::Listed { spans, jitter } => {
                let mut steps: Vec<u64> = spans.iter().map(|span| span.saturating_sub(*jitter) + 1).collect();
                steps.dedup();
                Box::new(steps.into_iter().map(Duration::from))
            }
            Self::Once { count } => Box::new((*count > 0).then_some(Duration::from(1)).into_iter()),
            Self::Sum(parts) => parts.steps_iter(),
            Self::Curved { .. } | Self::Joined { .. } => {
                let steps = std::iter::successors(self.next_step(0), |step| self.next_step(*step));
                Box::new(steps.map(Duration::from))
            }
        }
    }

    fn clone_with_jitter(&self, jitter: Duration) -> Box<dyn ArrivalBound> {
        Box::new(self.later(jitter.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curved(jitter: u64) -> Arrivals {
        Arrivals::Curved { curve: Arc::new(Curve::bursts(20, 3, 2).unwrap()), jitter }
    }

    #[test]
    fn steps_are_where_the_number_grows() {
        let cases = [
            Arrivals::every(7),
            Arrivals::every(7).later(3),
            Arrivals::every(7).later(20),
            Arrivals::every(7).later(21),
            Arrivals::listed(&[30, 0, 4, 5], 1),
            Arrivals::listed(&[30, 0, 4, 5], 2).later(2),
            Arrivals::Once { count: 3 },
            curved(0),
            curved(7),
            curved(33),
            Arrivals::Joined { inputs: vec![Arrivals::every(7).later(3), Arrivals::every(7)], depth: 2 },
            Arrivals::Sum(vec![Arrivals::every(4), Arrivals::every(6).later(5)]),
        ];
        for arrivals in cases {
            let expected: Vec<u64> =
                (1..100).filter(|length| arrivals.number(*length) > arrivals.number(length - 1)).collect();
            let steps: Vec<u64> = arrivals.steps(99).collect();
            if matches!(arrivals, Arrivals::Joined { .. }) {
                assert!(
                    steps.len() < 50 && expected.iter().all(|step| steps.contains(step)),
                    "{arrivals:?}: {steps:?}"
                );
            } else {
                assert_eq!(steps, expected, "{arrivals:?}");
            }
            let (rate, first) = arrivals.at_least();
            assert!((1..100).all(|length| arrivals.number(length) as f64 >= rate * length as f64 + first - 1e-9));
        }
    }

    #[test]
    fn sums_are_exact_until_they_are_long() {
        let parts = vec![
            Arrivals::every(7).later(3),
            Arrivals::every(7),
            Arrivals::listed(&[0, 4], 1),
            Arrivals::Sum(vec![Arrivals::every(7), Arrivals::every(5).later(9)]),
        ];
        let (plain, sum) = (Arrivals::Sum(parts.clone()), Arrivals::sum(parts));
        assert_eq!(sum.weight(), 4);
        assert!((0..100).all(|length| sum.number(length) == plain.number(length)));
        let many: Vec<_> = (0..1_000).map(|late| Arrivals::every(1_000).later(late)).collect();
        let (plain, sum) = (Arrivals::Sum(many.clone()), Arrivals::sum(many));
        assert_eq!(sum.weight(), 1);
        assert!((0..5_000).all(|length| sum.number(length) >= plain.number(length)));
    }

    #[test]
    fn listed_arrivals_end() {
        let arrivals = Arrivals::listed(&[0, 10, 11], 1);
        assert_eq!([1, 2, 11, 12, 9999].map(|length| arrivals.number(length)), [1, 2, 2, 3, 3]);
        assert!(Arrivals::listed(&[], 1).is_never());
    }

    #[test]
    fn long_lists_are_never_below_what_arrives() {
        let times: Vec<u64> = (0..3_000_u64).map(|number| number * 100 + number * number % 97).collect();
        let arrivals = Arrivals::listed(&times, 1);
        for length in [1, 150, 1_000, 99_999, 100_000, 123_456, 299_000, 400_000] {
            let within = |from: &u64| times.iter().filter(|at| (*from..from + length).contains(at)).count() as u64;
            assert!(arrivals.number(length) >= times.iter().map(within).max().unwrap(), "{length}");
        }
        assert_eq!(arrivals.number(1 << 40), 3_000);
    }
}
