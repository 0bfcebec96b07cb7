//! What a subscription has heard.

use std::collections::BTreeMap;

use super::super::words::{Count, EarSnapshot, Heard};

/// Counts that were heard, by the starts of their publishers.
#[derive(Default)]
pub(super) struct Ear {
    heard: BTreeMap<i64, Heard>,
    last: Option<Count>,
    /// Publishers that match now, and matches so far.
    matched: (usize, u64),
}

impl Ear {
    /// Notes a count. Returns false if it came twice or too late. A latched one may come once more.
    pub(super) fn hear(&mut self, count: Count, is_latched: bool) -> bool {
        let Count { boot, number } = count;
        self.last = Some(count);
        let Some(heard) = self.heard.get_mut(&boot) else {
            self.heard.insert(boot, Heard { boot, first: number, last: number, count: 1 });
            return true;
        };
        let is_right = number > heard.last || (is_latched && number == heard.last);
        heard.count += i64::from(number != heard.last);
        heard.last = number;
        is_right
    }

    /// Notes how many publishers match now, and how many have matched so far.
    pub(super) fn note_matches(&mut self, current: usize, total: u64) {
        self.matched = (current, total);
    }

    /// Returns what was heard, beside the number of messages that the subscription has counted as lost.
    pub(super) fn snapshot(&self, counted: u64) -> EarSnapshot {
        let (matched, matches) = self.matched;
        let heard = self.heard.values().copied().collect();
        EarSnapshot { last: self.last, heard, counted: counted as i64, matched, matches }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_twice_or_late_is_wrong_and_gaps_are_missing() {
        let mut ear = Ear::default();
        let count = |number| Count { boot: 1, number };
        assert!([3, 4, 7].into_iter().all(|number| ear.hear(count(number), false)));
        assert_eq!(ear.snapshot(0).missing(), 2);
        assert!(ear.hear(count(7), true) && !ear.hear(count(7), false) && !ear.hear(count(5), false));
        assert!(ear.hear(Count { boot: 2, number: 1 }, false));
    }
}
