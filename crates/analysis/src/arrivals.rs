//! Arrival curves: how many activations can be released in any interval of a length.

use response_time_analysis::arrival::{ArrivalBound, Sporadic};
use response_time_analysis::time::Duration;

/// A bound on what arrives in any interval.
///
/// One type of our own over those of `response-time-analysis`, since arrivals are compared, cloned and given jitter in
/// every round of the analysis, and since listed arrivals end, which its curves do not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Arrivals {
    /// `burst` at a time, `gap` apart, each up to `jitter` late.
    Repeated { gap: u64, jitter: u64, burst: u64 },
    /// Listed: the shortest interval lengths from the first to the last of 1, 2, 3... arrivals.
    Listed { spans: Vec<u64>, jitter: u64 },
    /// From several sources.
    Sum(Vec<Arrivals>),
}

impl Arrivals {
    /// One at a time.
    pub(crate) const fn every(gap: u64) -> Self {
        Self::Repeated { gap, jitter: 0, burst: 1 }
    }

    /// At these times, in any order; `burst` each.
    pub(crate) fn listed(times: &[u64], burst: u64) -> Self {
        let mut sorted: Vec<u64> = times.iter().flat_map(|at| (0..burst).map(move |_| *at)).collect();
        sorted.sort_unstable();
        let shortest = |count: usize| sorted.windows(count).map(|part| part[count - 1] - part[0]).min();
        Self::Listed { spans: (1..=sorted.len()).filter_map(shortest).collect(), jitter: 0 }
    }

    /// Whether nothing ever arrives.
    pub(crate) fn is_never(&self) -> bool {
        self.number(1) == 0
    }

    /// At most so many arrive in an interval of this length.
    pub(crate) fn number(&self, length: u64) -> u64 {
        if length == 0 {
            return 0;
        }
        match self {
            Self::Repeated { burst, .. } => self.sporadic().number_arrivals(Duration::from(length)) as u64 * burst,
            Self::Listed { spans, jitter } => spans.partition_point(|span| *span < length + jitter) as u64,
            Self::Sum(parts) => parts.iter().map(|part| part.number(length)).sum(),
        }
    }

    /// The same, each arrival up to `late` later.
    pub(crate) fn later(&self, late: u64) -> Self {
        match self {
            Self::Repeated { gap, jitter, burst } => Self::Repeated { gap: *gap, jitter: jitter + late, burst: *burst },
            Self::Listed { spans, jitter } => Self::Listed { spans: spans.clone(), jitter: jitter + late },
            Self::Sum(parts) => Self::Sum(parts.iter().map(|part| part.later(late)).collect()),
        }
    }

    /// Arrivals a nanosecond in the long run.
    pub(crate) fn rate(&self) -> f64 {
        match self {
            Self::Repeated { gap, burst, .. } => *burst as f64 / *gap as f64,
            Self::Listed { .. } => 0.0,
            Self::Sum(parts) => parts.iter().map(Self::rate).sum(),
        }
    }

    /// The interval lengths above which one more may arrive, below `limit`: the steps of [`number`](Self::number).
    pub(crate) fn steps(&self, limit: u64) -> impl Iterator<Item = u64> + '_ {
        self.steps_iter().map(u64::from).take_while(move |step| *step <= limit)
    }

    fn sporadic(&self) -> Sporadic {
        match self {
            Self::Repeated { gap, jitter, .. } => Sporadic::new(Duration::from(*gap), Duration::from(*jitter)),
            _ => Sporadic::new(Duration::from(1), Duration::from(0)),
        }
    }
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
            Self::Sum(parts) => parts.steps_iter(),
        }
    }

    fn clone_with_jitter(&self, jitter: Duration) -> Box<dyn ArrivalBound> {
        Box::new(self.later(jitter.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_where_the_number_grows() {
        let cases = [
            Arrivals::every(7),
            Arrivals::every(7).later(3),
            Arrivals::every(7).later(20),
            Arrivals::every(7).later(21),
            Arrivals::listed(&[30, 0, 4, 5], 1),
            Arrivals::listed(&[30, 0, 4, 5], 2).later(2),
            Arrivals::Sum(vec![Arrivals::every(4), Arrivals::every(6).later(5)]),
        ];
        for arrivals in cases {
            let expected: Vec<u64> =
                (1..100).filter(|length| arrivals.number(*length) > arrivals.number(length - 1)).collect();
            assert_eq!(arrivals.steps(99).collect::<Vec<_>>(), expected, "{arrivals:?}");
        }
    }

    #[test]
    fn listed_arrivals_end() {
        let arrivals = Arrivals::listed(&[0, 10, 11], 1);
        assert_eq!([1, 2, 11, 12, 9999].map(|length| arrivals.number(length)), [1, 2, 2, 3, 3]);
        assert!(Arrivals::listed(&[], 1).is_never());
    }
}
