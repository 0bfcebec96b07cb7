//! Losses on the network: gaps in the numbers of the messages that arrived.

use std::collections::BTreeMap;

use crate::attachment::Gid;

/// Largest number of publishers that are followed. With more of them one is forgotten, and begins anew with its next
/// message.
const PUBLISHERS_MAX: usize = 1024;

/// Last message number of each publisher.
#[derive(Default)]
pub(crate) struct Gaps {
    last: BTreeMap<Gid, i64>,
}

impl Gaps {
    /// Notes a message. Returns the number of messages that are missing before it.
    pub(crate) fn arrived(&mut self, publisher: Gid, number: i64) -> u64 {
        if self.last.len() == PUBLISHERS_MAX && !self.last.contains_key(&publisher) {
            self.last.pop_first();
        }
        let last = self.last.entry(publisher).or_insert(number);
        // A message that arrives late or twice makes no gap.
        let gap = u64::try_from(number.saturating_sub(*last).saturating_sub(1)).unwrap_or(0);
        *last = number.max(*last);
        gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publisher(id: u16) -> Gid {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&id.to_be_bytes());
        bytes
    }

    #[test]
    fn only_gaps_count() {
        let mut gaps = Gaps::default();
        for (id, number) in [(1, 7), (1, 8), (2, 1), (1, 9), (2, 2), (1, 9), (1, 3)] {
            assert_eq!(gaps.arrived(publisher(id), number), 0, "{id} {number}");
        }
        assert_eq!(gaps.arrived(publisher(1), 13), 3);
        assert_eq!(gaps.arrived(publisher(2), 4), 1);
        assert_eq!(gaps.arrived(publisher(3), i64::MIN), 0);
        assert!(gaps.arrived(publisher(3), i64::MAX) > 0);
    }

    #[test]
    fn publishers_that_come_and_go_are_forgotten() {
        let mut gaps = Gaps::default();
        for id in 0..5000 {
            assert_eq!(gaps.arrived(publisher(id), 1), 0);
        }
        assert_eq!(gaps.last.len(), PUBLISHERS_MAX);
    }
}
