//! The cache lines of the state that the threads of an executor hand on to each other.

use smallvec::SmallVec;

use super::State;
use crate::lock_free::prefetch::{LINE, prefetch_to_write_at};

/// The most lines that are noted.
const MOST: usize = 12;

/// The cache lines that almost every step writes. Another thread has probably written them last. A thread that has just locked the
/// state has all of them fetched at once; otherwise it would wait for one after the other while it has the lock.
///
/// Each thread notes the addresses, since even to look them up would take longer than the rest of the fetching. Fetching a line that
/// the state has no more does no harm.
pub(crate) struct WrittenLines(SmallVec<[usize; MOST]>);

impl WrittenLines {
    /// Notes none.
    pub(crate) fn new() -> Self {
        Self(SmallVec::new())
    }

    /// Has the processor fetch the lines that were noted last.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        self.0.iter().copied().for_each(prefetch_to_write_at);
    }

    /// Notes the lines of the state in place of those that were noted before.
    pub(crate) fn note(&mut self, state: &State) {
        let Self(lines) = self;
        lines.clear();
        let mut note = |written: *const u8| {
            let line = written.addr() & !(LINE - 1);
            if lines.len() < MOST && !lines.contains(&line) {
                lines.push(line);
            }
        };
        note((&raw const state.drained).cast());
        state.scheduler.visit_written(&mut note);
    }
}

#[cfg(test)]
mod tests {
    use rospin_core::policy::by_name;
    use rospin_core::{EntityKind, EntitySpec, GroupKind, Scheduler};

    use super::*;

    fn lines_of(policy: &str) -> Vec<usize> {
        let mut scheduler = Scheduler::new(by_name(policy).unwrap());
        let group = scheduler.add_group(GroupKind::MutuallyExclusive);
        scheduler.add_entity(EntitySpec::new("one", EntityKind::Subscription, group)).unwrap();
        let state = State::new(scheduler);
        let mut lines = WrittenLines::new();
        lines.note(&state);
        let first = lines.0.to_vec();
        lines.note(&state);
        assert_eq!(lines.0.to_vec(), first, "the lines are noted anew, and not once more");
        first
    }

    #[test]
    fn each_line_is_noted_once() {
        let (of_wait_set, of_fifo) = (lines_of("wait-set-e1"), lines_of("fifo"));
        assert!(!of_wait_set.is_empty() && of_fifo.len() > of_wait_set.len(), "a policy may have lines of its own");
        for lines in [of_wait_set, of_fifo] {
            let mut once = lines.clone();
            once.sort_unstable();
            once.dedup();
            assert!(once.len() == lines.len() && lines.iter().all(|line| line % LINE == 0));
        }
    }
}
