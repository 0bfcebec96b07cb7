//! Messages that never arrived, counted by gaps in the numbers of those that did.
//!
//! The library does not report them, so each message's number is read where it is decoded from the network
//! (`c/sample.c`).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::cyclone::{Handle, Sample};

/// Largest number of writers that are followed. With more of them, one is forgotten, and begins anew with its next
/// message.
const WRITERS_MAX: usize = 1024;

/// Last message number of each writer.
#[derive(Default)]
pub(crate) struct Gaps {
    last: BTreeMap<Handle, u64>,
}

impl Gaps {
    /// Returns the number of messages that are missing before that sample, as far as its number tells; 0 if it has no
    /// number.
    pub(crate) fn before(gaps: &Mutex<Self>, sample: &Sample, writer: Handle) -> u64 {
        let Some(number) = sample.number() else { return 0 };
        gaps.lock().unwrap_or_else(PoisonError::into_inner).arrived(writer, number)
    }

    /// Notes a message. Returns the number of messages that are missing before it; 0 for a writer's first one.
    pub(crate) fn arrived(&mut self, writer: Handle, number: u64) -> u64 {
        if self.last.len() == WRITERS_MAX && !self.last.contains_key(&writer) {
            self.last.pop_first();
        }
        let last = self.last.entry(writer).or_insert(number);
        // A message that arrives late or twice makes no gap.
        let gap = number.saturating_sub(*last).saturating_sub(1);
        *last = number.max(*last);
        gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_gaps_count() {
        let mut gaps = Gaps::default();
        for (id, number) in [(1, 7), (1, 8), (2, 1), (1, 9), (2, 2), (1, 9), (1, 3)] {
            assert_eq!(gaps.arrived(id, number), 0, "{id} {number}");
        }
        assert_eq!(gaps.arrived(1, 13), 3);
        assert_eq!(gaps.arrived(2, 4), 1);
        assert_eq!(gaps.arrived(3, 0), 0);
        assert!(gaps.arrived(3, u64::MAX) > 0);
    }

    #[test]
    fn writers_that_come_and_go_are_forgotten() {
        let mut gaps = Gaps::default();
        for id in 0..5000 {
            assert_eq!(gaps.arrived(id, 1), 0);
        }
        assert_eq!(gaps.last.len(), WRITERS_MAX);
    }
}
