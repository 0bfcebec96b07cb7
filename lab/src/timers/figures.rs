//! Results of the turns, each of which is one measurement of a contender: a row for each contender, load and rate.

use rospin_measure::stats::percentile;

use super::contender::{Contender, Load};

/// Percentiles of the lateness of starts (jitter), in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub(crate) struct Jitter {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl Jitter {
    /// Returns the percentiles; `None` if there are no values.
    fn of(late_us: &[f64]) -> Option<Self> {
        let at = |percent| percentile(late_us, percent);
        Some(Self { p50: at(50.0)?, p99: at(99.0)?, max: at(100.0)? })
    }
}

/// Results of all turns of one contender under one load at one rate.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) contender: Contender,
    pub(crate) load: Load,
    pub(crate) rate_hz: u32,
    /// Number of starts in all turns.
    pub(crate) fired: u64,
    /// Number of due times in all turns.
    pub(crate) expected: u64,
    /// Jitter of each turn in which the timer fired.
    pub(crate) turns: Vec<Jitter>,
    /// Lateness of each start in microseconds, of all turns, ascending.
    pub(crate) late_us: Vec<f64>,
}

impl Row {
    /// Returns a row without turns.
    pub(crate) const fn new(contender: Contender, load: Load, rate_hz: u32) -> Self {
        Self { contender, load, rate_hz, fired: 0, expected: 0, turns: Vec::new(), late_us: Vec::new() }
    }

    /// Adds a turn with the lateness of its starts. `expected` is the number of starts that it should have.
    pub(crate) fn add(&mut self, expected: u64, late_us: &[f64]) {
        self.expected += expected;
        self.fired += late_us.len() as u64;
        self.turns.extend(Jitter::of(late_us));
        self.late_us.extend_from_slice(late_us);
        self.late_us.sort_by(f64::total_cmp);
    }

    /// Returns the median of each percentile over the turns, and the largest lateness of all turns; `None` if nothing
    /// started.
    pub(crate) fn jitter(&self) -> Option<Jitter> {
        let median = |of: fn(&Jitter) -> f64| percentile(&self.turns.iter().map(of).collect::<Vec<_>>(), 50.0);
        let max = self.late_us.last().copied()?;
        Some(Jitter { p50: median(|turn| turn.p50)?, p99: median(|turn| turn.p99)?, max })
    }

    /// Returns the 99th percentile of [`jitter`](Self::jitter).
    pub(crate) fn p99(&self) -> Option<f64> {
        self.jitter().map(|jitter| jitter.p99)
    }

    /// Returns true if the timer fired as often as it should, give or take one over all turns.
    pub(crate) const fn is_complete(&self) -> bool {
        self.fired.abs_diff(self.expected) <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_summed_and_percentiles_are_medians() {
        let mut row = Row::new(Contender::Rospin, Load::Idle, 1000);
        for turn in [[1.0, 2.0, 3.0], [2.0, 3.0, 90.0], [1.0, 1.0, 4.0]] {
            row.add(4, &turn);
        }
        row.add(4, &[]);
        assert_eq!((row.fired, row.expected, row.is_complete()), (9, 16, false));
        assert_eq!(row.jitter(), Some(Jitter { p50: 2.0, p99: 4.0, max: 90.0 }));
        assert!(row.late_us.is_sorted());
    }

    #[test]
    fn one_more_or_less_is_complete() {
        for (fired, complete) in [(8, false), (9, true), (10, true), (11, true), (12, false)] {
            let row = Row { fired, expected: 10, ..Row::new(Contender::Floor, Load::Idle, 1) };
            assert_eq!(row.is_complete(), complete);
        }
        assert_eq!(Row::new(Contender::Floor, Load::Idle, 1).jitter(), None);
    }
}
