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
        let Count { boot, number, unmatched, .. } = count;
        let unmatched_with = count.unmatched_with();
        self.last = Some(count);
        let Some(heard) = self.heard.get_mut(&boot) else {
            let first = Heard { boot, first: number, last: number, count: 1, ..Heard::default() };
            self.heard.insert(boot, Heard { unmatched_before: unmatched, unmatched_with, ..first });
            return true;
        };
        let is_right = number > heard.last || (is_latched && number == heard.last);
        if number > heard.last {
            heard.count += 1;
            heard.unmatched_missing += unmatched - heard.unmatched_with;
            heard.unmatched_with = unmatched_with;
        }
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
        let count = |number| Count { boot: 1, number, ..Count::default() };
        assert!([3, 4, 7].into_iter().all(|number| ear.hear(count(number), false)));
        assert_eq!(ear.snapshot(0).missing(), 2);
        assert!(ear.hear(count(7), true) && !ear.hear(count(7), false) && !ear.hear(count(5), false));
        assert!(ear.hear(Count { boot: 2, number: 1, ..Count::default() }, false));
    }

    #[test]
    fn messages_that_nobody_was_there_for_are_counted_by_their_publisher() {
        let mut ear = Ear::default();
        let mut count = Count { boot: 1, ..Count::default() };
        // Published to nobody: 1, 2, 4 and 6. Heard: 3, 4 and 7.
        for (is_unmatched, is_heard) in
            [(true, false), (true, false), (false, true), (true, true), (false, false), (true, false), (false, true)]
        {
            count = count.next(is_unmatched);
            assert!(!is_heard || ear.hear(count, false));
        }
        let [heard] = ear.snapshot(0).heard[..] else { panic!("one publisher") };
        assert_eq!((heard.unmatched_before, heard.unmatched_with, heard.unmatched_missing), (2, 4, 1));
        assert_eq!(heard.missing(), 2);
    }
}
