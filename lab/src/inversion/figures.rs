//! Results of the cases: a row for each.

use rospin_measure::stats::percentile;

use super::interference::Case;

/// Percentiles of one of a row's times, in microseconds. `p999` is the 99.9th.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub(crate) struct Percentiles {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
}

impl Percentiles {
    /// Returns the percentiles of these times; `None` if there are none.
    fn of(us: &[f64]) -> Option<Self> {
        let at = |percent| percentile(us, percent);
        Some(Self { p50: at(50.0)?, p99: at(99.0)?, p999: at(99.9)?, max: at(100.0)? })
    }
}

/// Results of a case.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) case: Case,
    /// Number of due times, and so of starts that are expected.
    pub(crate) expected: u64,
    /// Lateness of each start of the timer's callback after its due time, ascending, in microseconds.
    pub(crate) timer_us: Vec<f64>,
    /// Percentiles of `timer_us`; `None` if nothing started. For the ordinary lock, the urgent loop stands for the
    /// timer.
    pub(crate) timer: Option<Percentiles>,
    /// Time that the timer's callback took to publish, and to do once each other operation that the ordinary threads
    /// repeat. For the ordinary lock: time until the loop had got the lock, held it and released it.
    pub(crate) own: Option<Percentiles>,
    /// Time from just before a publication to the start of the subscription's callback; `None` for the ordinary lock.
    pub(crate) message: Option<Percentiles>,
    /// Number of operations that the ordinary threads finished, without their first ones, before the measurement.
    pub(crate) operations: u64,
    /// Number of bursts of the hog.
    pub(crate) bursts: u64,
}

impl Row {
    /// Returns the results of a case. The times in `timer_us`, `own_ns` and `message_ns` may be in any order, and may
    /// be missing.
    pub(crate) fn new(
        case: Case,
        expected: u64,
        mut timer_us: Vec<f64>,
        own_ns: &[u64],
        message_ns: &[u64],
        operations: u64,
        bursts: u64,
    ) -> Self {
        let us = |ns: &[u64]| Percentiles::of(&ns.iter().map(|ns| *ns as f64 / 1e3).collect::<Vec<_>>());
        timer_us.sort_by(f64::total_cmp);
        let timer = Percentiles::of(&timer_us);
        Self { case, expected, timer, timer_us, own: us(own_ns), message: us(message_ns), operations, bursts }
    }

    /// Returns the number of starts of the timer's callback.
    pub(crate) fn fired(&self) -> u64 {
        self.timer_us.len() as u64
    }

    /// Returns true if the timer fired as often as it should, give or take one.
    pub(crate) fn is_complete(&self) -> bool {
        self.fired().abs_diff(self.expected) <= 1
    }

    /// Returns the longest of the three 99.9th percentiles, of timer, own calls and message, in microseconds; `None` if
    /// nothing was measured.
    pub(crate) fn worst_p999(&self) -> Option<f64> {
        let all = [self.timer, self.own, self.message];
        all.into_iter().flatten().map(|waits| waits.p999).max_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_of_timer_message_and_own_calls() {
        let row = Row::new(Case::All, 4, vec![3.0, 1.0, 2.0], &[5000, 1000], &[4000], 1, 1);
        assert_eq!((row.timer_us.clone(), row.worst_p999()), (vec![1.0, 2.0, 3.0], Some(5.0)));
        assert!(row.is_complete());
        assert_eq!(Row::new(Case::All, 4, Vec::new(), &[], &[], 0, 0).worst_p999(), None);
    }
}
