//! The cache lines of the state that the threads of an executor hand on to each other.

use smallvec::SmallVec;

use super::State;
use crate::lock_free::prefetch::{LINE, prefetch_to_write_at};
use crate::sync::brief::{Brief, Guard};

/// The most lines that are noted.
const MOST: usize = 12;

/// The cache lines that almost every step writes. Another thread has probably written them last. So a thread
/// prefetches all of them when it locks the state; otherwise it would wait for one after the other while it has the
/// lock.
///
/// Each thread notes the addresses, since even to look them up would take longer than the rest of the fetching.
/// Fetching a line that the state has no more does no harm.
pub(crate) struct WrittenLines {
    lines: SmallVec<[usize; MOST]>,
    /// The number of places for entities that the state had when the lines were noted.
    entities: usize,
    /// True if the lock was not free last time.
    has_waited: bool,
}

impl WrittenLines {
    /// Notes none.
    pub(crate) fn new() -> Self {
        Self { lines: SmallVec::new(), entities: 0, has_waited: false }
    }

    /// Locks the state, and prefetches its lines.
    #[inline(always)]
    pub(crate) fn fetch_and_lock<'a, 'b>(&mut self, state: &'a Brief<&'b mut State>) -> Guard<'a, &'b mut State> {
        // Before the lock, the lines come while it does. But if another thread has the lock, that one needs them.
        let had_waited = self.has_waited;
        if !had_waited {
            self.prefetch();
        }
        let locked = state.try_lock();
        self.has_waited = locked.is_none();
        let locked = locked.unwrap_or_else(|| state.wait());
        if had_waited || self.has_waited {
            self.prefetch();
        }
        locked
    }

    #[inline(always)]
    fn prefetch(&self) {
        self.lines.iter().copied().for_each(prefetch_to_write_at);
    }

    /// Notes the lines of the state in place of those that were noted before, unless they are probably the same.
    #[inline]
    pub(crate) fn note(&mut self, state: &State) {
        if self.entities != state.entities.len() {
            self.note_anew(state);
        }
    }

    #[cold]
    fn note_anew(&mut self, state: &State) {
        let Self { lines, entities, .. } = self;
        *entities = state.entities.len();
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

    fn state(policy: &str) -> Box<State> {
        let mut scheduler = Scheduler::new(by_name(policy).unwrap());
        let group = scheduler.add_group(GroupKind::MutuallyExclusive);
        scheduler.add_entity(EntitySpec::new("one", EntityKind::Subscription, group)).unwrap();
        let mut state = Box::new(State::new(scheduler));
        state.entities.push(None);
        state
    }

    fn lines_of(state: &State) -> Vec<usize> {
        let mut lines = WrittenLines::new();
        lines.note(state);
        lines.lines.to_vec()
    }

    #[test]
    fn each_line_is_noted_once() {
        let of_wait_set = lines_of(&state("wait-set-e1"));
        let of_fifo = lines_of(&state("fifo"));
        assert!(!of_wait_set.is_empty() && of_fifo.len() > of_wait_set.len(), "a policy may have lines of its own");
        for lines in [of_wait_set, of_fifo] {
            let mut once = lines.clone();
            once.sort_unstable();
            once.dedup();
            assert!(once.len() == lines.len() && lines.iter().all(|line| line % LINE == 0));
        }
    }

    #[test]
    fn lines_are_noted_anew_when_entities_were_added() {
        let before = state("fifo");
        let mut after = state("fifo");
        let mut lines = WrittenLines::new();
        lines.note(&before);
        lines.note(&after);
        assert_eq!(lines.lines.to_vec(), lines_of(&before), "as many entities: probably the same lines");
        after.entities.push(None);
        lines.note(&after);
        assert_eq!(lines.lines.to_vec(), lines_of(&after), "none of the former lines is left");
    }
}
