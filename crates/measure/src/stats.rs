//! Summaries of measured values.

use serde::Serialize;

/// Count, mean, spread and range of some values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Number of values.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the sample (divided by count - 1); 0 for a single value.
    pub sd: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

impl Summary {
    /// Summarises `values` by Welford's method; `None` if there are no values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut count = 0_usize;
        let mut mean = 0.0;
        let mut squares = 0.0;
        let mut min = f64::INFINITY;
        let mut max = f64::NEG_INFINITY;
        for value in values {
            count += 1;
            let before = value - mean;
            mean += before / count as f64;
            squares += before * (value - mean);
            min = min.min(value);
            max = max.max(value);
        }
        let sd = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        if count > 0 { Some(Self { count, mean, sd, min, max }) } else { None }
    }
}

/// Returns the percentile of `values` by nearest rank: the smallest value such that at least `percent` per cent of all
/// values are not above it. Returns `None` if there are no values. Sorts a copy of them.
pub fn percentile(values: &[f64], percent: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_of_known_values() {
        let summary = Summary::of([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((summary.count, summary.min, summary.max), (8, 2.0, 9.0));
        assert!((summary.mean - 5.0).abs() < 1e-12);
        assert!((summary.sd - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn nothing_and_one() {
        assert_eq!(Summary::of([]), None);
        let one = Summary::of([3.0]).unwrap();
        assert_eq!((one.mean, one.sd), (3.0, 0.0));
        assert_eq!(percentile(&[], 50.0), None);
        assert_eq!(percentile(&[3.0], 99.0), Some(3.0));
    }

    #[test]
    fn percentile_is_nearest_rank() {
        let values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(percentile(&values, 50.0), Some(100.0));
        assert_eq!(percentile(&values, 99.0), Some(198.0));
        assert_eq!(percentile(&values, 100.0), Some(200.0));
        assert_eq!(percentile(&values, 0.0), Some(1.0));
    }
}
