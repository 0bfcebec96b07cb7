//! The longest response over all offsets of a busy window, without a look at each of them.
//!
//! In a busy window, an activation that is released later ends later. So no activation that is released in a stretch of
//! offsets takes longer than from the first offset of the stretch to the end of the activation at its last offset. A
//! stretch for which that time is no longer than the longest response so far is left out. Any other stretch is halved,
//! the most promising one first (branch and bound, Land and Doig 1960). Windows have millions of offsets where periods
//! differ by as much; a few dozen decide.
//!
//! Theorems and proofs: `book/src/analysis/budgets.md`.

use std::collections::BinaryHeap;

use crate::budget::Budget;

/// Stretch of offsets that may still have a longer response.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Stretch {
    /// Upper limit of the responses in this stretch.
    ceiling: u64,
    from: u64,
    to: u64,
    /// End of an activation that is released at `to`.
    end: u64,
}

/// Parameters of a search.
pub(crate) struct Search<'a> {
    pub(crate) budget: &'a Budget,
    /// First and last offsets of stretches. In each, `end` grows with the offset.
    pub(crate) stretches: Vec<(u64, u64)>,
    /// Threshold. Unless it is 0, the search only finds out if a response is longer than this. The result is the
    /// threshold if none is, and something longer otherwise.
    pub(crate) enough: u64,
}

impl<'a> Search<'a> {
    /// Returns the search for the longest response in a window of this length.
    pub(crate) fn of_window(budget: &'a Budget, length: u64) -> Self {
        Self { budget, stretches: vec![(0, length.max(1) - 1)], enough: 0 }
    }

    /// Returns the longest time from an offset to its `end`, or something longer if the budget runs out; `None` if
    /// there is an offset without an end. `next` returns the first offset after the given one from which on ends may be
    /// later.
    pub(crate) fn longest(
        self,
        mut end: impl FnMut(u64) -> Option<u64>,
        next: impl Fn(u64) -> Option<u64>,
    ) -> Option<u64> {
        let mut open = BinaryHeap::new();
        for (from, to) in self.stretches {
            let end = end(to)?;
            open.push(Stretch { ceiling: end.saturating_sub(from), from, to, end });
        }
        let mut longest = self.enough;
        while let Some(Stretch { ceiling, from, to, end: last }) = open.pop() {
            if ceiling <= longest || longest > self.enough && self.enough > 0 {
                break;
            }
            if self.budget.is_out() {
                return Some(ceiling);
            }
            let first = if from == to { last } else { end(from)? };
            longest = longest.max(first.saturating_sub(from));
            let Some(from) = next(from).filter(|from| *from <= to) else { continue };
            if first == last {
                continue;
            }
            let middle = from + (to - from) / 2;
            let middle_end = if middle == to { last } else { end(middle)? };
            open.push(Stretch { ceiling: middle_end.saturating_sub(from), from, to: middle, end: middle_end });
            if let Some(from) = next(middle).filter(|from| *from <= to) {
                open.push(Stretch { ceiling: last.saturating_sub(from), from, to, end: last });
            }
        }
        Some(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the end of an activation that is released at a multiple of 10: the later its release, the longer it
    /// takes.
    fn end(at: u64) -> Option<u64> {
        let number = at / 10;
        Some(number * 9 + 13 + if number >= 40 { 30 } else { 0 })
    }

    #[test]
    fn finds_the_longest_and_is_above_it_without_work() {
        let next = |at: u64| Some((at / 10 + 1) * 10);
        let exact = (0..=999).map(|at| end(at).unwrap().saturating_sub(at)).max();
        let search = |budget: &Budget, enough| Search { budget, stretches: vec![(0, 999)], enough }.longest(end, next);
        assert_eq!(search(&Budget::of(1, None), 0), exact);
        assert_eq!(search(&Budget::of(1, None), 100), Some(100));
        assert!(search(&Budget::of(0, None), 0) > exact);
    }
}
