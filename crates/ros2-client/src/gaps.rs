//! What never came out of the middleware, told by gaps in the numbers of what did.

use std::collections::BTreeMap;

use ros2_client::{Gid, MessageInfo, ReadError};

/// How many publishers are followed; with more of them, those that are forgotten begin anew.
const PUBLISHERS_MAX: usize = 1024;

/// Counts the gaps.
#[derive(Default)]
pub(crate) struct Gaps {
    /// The last number of each publisher.
    last: BTreeMap<Gid, i64>,
    /// What came and could not be decoded: it has no number, and is counted elsewhere.
    failed: u64,
    missed: u64,
}

impl Gaps {
    /// What came, if something did.
    pub(crate) fn note<T>(&mut self, sample: &Result<(T, MessageInfo), ReadError>) {
        match sample {
            Ok((_, info)) => self.taken(info.publisher_gid(), info.sequence_number()),
            Err(ReadError::Closed) => {}
            Err(_) => self.failed(),
        }
    }

    /// A message came.
    fn taken(&mut self, publisher: Gid, number: i64) {
        if self.last.len() == PUBLISHERS_MAX && !self.last.contains_key(&publisher) {
            self.last.pop_first();
        }
        let last = self.last.entry(publisher).or_insert(number);
        // What comes late, or twice, makes no gap.
        let gap = u64::try_from(number.saturating_sub(*last).saturating_sub(1)).unwrap_or(0);
        *last = number.max(*last);
        let explained = gap.min(self.failed);
        self.failed -= explained;
        self.missed = self.missed.saturating_add(gap - explained);
    }

    /// How many are missing, since this was asked last.
    pub(crate) const fn take(&mut self) -> u64 {
        std::mem::replace(&mut self.missed, 0)
    }

    /// A message came that could not be decoded.
    const fn failed(&mut self) {
        self.failed = self.failed.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publisher(id: u32) -> Gid {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&id.to_be_bytes());
        Gid::from(bytes)
    }

    #[test]
    fn only_gaps_count() {
        let mut gaps = Gaps::default();
        for (id, number) in [(1, 7), (1, 8), (2, 1), (1, 9), (2, 2), (1, 9), (1, 3)] {
            gaps.taken(publisher(id), number);
        }
        assert_eq!(gaps.take(), 0);
        gaps.taken(publisher(1), 13);
        assert_eq!(gaps.take(), 3);
        gaps.failed();
        gaps.failed();
        gaps.taken(publisher(2), 6);
        assert_eq!((gaps.take(), gaps.take()), (1, 0));
        gaps.taken(publisher(2), i64::MAX);
        gaps.taken(publisher(3), i64::MIN);
        gaps.taken(publisher(3), i64::MAX);
    }

    #[test]
    fn publishers_that_come_and_go_are_forgotten() {
        let mut gaps = Gaps::default();
        for id in 0..5000 {
            gaps.taken(publisher(id), 1);
        }
        assert_eq!((gaps.last.len(), gaps.take()), (PUBLISHERS_MAX, 0));
    }
}
