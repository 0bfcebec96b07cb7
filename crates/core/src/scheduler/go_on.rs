//! Short way from an activation to the next one of its entity.
//!
//! Order and trace are those of the long way, which random scenarios check. It pays where the items of one entity pile
//! up. Where entities take turns, the next activation is always another entity's, so drivers try this only after a step
//! that led to a further item of the same entity.

use super::Scheduler;
use crate::activation::Activation;
use crate::id::ThreadIndex;
use crate::time::Instant;
use crate::trace::TraceEvent;

impl Scheduler {
    /// Completes `activation` and replaces it by the next one of its entity, which has a further item since `release`.
    /// Does so only if [`release`](Self::release), [`complete`](Self::complete) and [`next`](Self::next) would lead to
    /// the same, because nothing else would run first.
    ///
    /// Returns true if it did. Otherwise nothing has changed, and the caller must use those three. That includes cases
    /// in which the answer would take too long to find. The caller has made sure that no timer is due at `now`.
    /// Otherwise `now` only goes into the trace, and need not be exact while nothing is traced.
    pub fn go_on(&mut self, now: Instant, thread: ThreadIndex, activation: &mut Activation, release: Instant) -> bool {
        let id = activation.entity;
        let Some(entity) = self.entities.get(id.index(), id.generation()) else {
            return false;
        };
        // The entity has one activation at a time, and no further one is ready. So this activation holds the group, or
        // the group is reentrant.
        if !entity.may_go_on || entity.is_pending() {
            return false;
        }
        let deadline = entity.deadline_of(release);
        let mut next = *activation;
        (next.release, next.deadline, next.sequence, next.segment) = (release, deadline, self.sequence, 0);
        if !self.ready.would_pick(&next) {
            return false;
        }
        self.sequence += 1;
        self.groups.replace_holder(&next);
        // The activation is replaced before the trace is called. If the trace panics, the driver still has the
        // activation that holds the group.
        if self.trace.is_none() {
            // All other fields are the same, and without the trace nobody needs the old activation.
            (activation.release, activation.deadline) = (next.release, next.deadline);
            (activation.sequence, activation.segment) = (next.sequence, next.segment);
            return true;
        }
        let completed = std::mem::replace(activation, next);
        self.record(release, TraceEvent::Released(next));
        self.record(now, TraceEvent::Completed(completed));
        self.record(now, TraceEvent::Dispatched(thread, next));
        true
    }
}
