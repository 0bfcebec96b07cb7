//! The numbers of the newest messages of a topic: periods, sizes, delays.

use std::collections::VecDeque;

/// The newest numbers, at most as many as the window has room for.
#[derive(Debug)]
pub(super) struct Window {
    values: VecDeque<f64>,
    max: usize,
}

/// The figures that `rospin topic hz` and its like print of a window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Summary {
    pub(super) count: usize,
    pub(super) sum: f64,
    pub(super) mean: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) deviation: f64,
}

impl Window {
    pub(super) fn new(max: usize) -> Self {
        Self { values: VecDeque::new(), max: max.max(1) }
    }

    pub(super) fn push(&mut self, value: f64) {
        if self.values.len() >= self.max {
            self.values.pop_front();
        }
        self.values.push_back(value);
    }

    pub(super) fn clear(&mut self) {
        self.values.clear();
    }

    pub(super) fn oldest(&self) -> Option<f64> {
        self.values.front().copied()
    }

    /// Returns the summary of the window; `None` if it is empty.
    pub(super) fn summary(&self) -> Option<Summary> {
        let count = self.values.len();
        if count == 0 {
            return None;
        }
        let sum: f64 = self.values.iter().sum();
        let mean = sum / count as f64;
        let mut squares = 0.0;
        let mut min = f64::INFINITY;
        let mut max = f64::NEG_INFINITY;
        for &value in &self.values {
            squares += (value - mean) * (value - mean);
            min = min.min(value);
            max = max.max(value);
        }
        Some(Summary { count, sum, mean, min, max, deviation: (squares / count as f64).sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_values_count() {
        let mut window = Window::new(2);
        assert_eq!(window.summary(), None);
        for value in [9.0, 1.0, 3.0] {
            window.push(value);
        }
        let expected = Summary { count: 2, sum: 4.0, mean: 2.0, min: 1.0, max: 3.0, deviation: 1.0 };
        assert_eq!(window.summary(), Some(expected));
        assert_eq!(window.oldest(), Some(1.0));
    }
}
