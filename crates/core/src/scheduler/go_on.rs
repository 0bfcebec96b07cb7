//! The short way from an activation to the next one of its entity.

use super::Scheduler;
use crate::activation::Activation;
use crate::id::ThreadIndex;
use crate::time::Instant;
use crate::trace::TraceEvent;

impl Scheduler {
    /// Completes `activation` and makes it the next one of its entity, which has something to do since `release`, if that is what
    /// [`release`](Self::release), [`complete`](Self::complete) and [`next`](Self::next) would come to: nothing else runs first.
    ///
    /// Says whether it is so; if not, or if that cannot be told so quickly, nothing has changed. No timer may be due at `now`,
    /// which need not be exact otherwise.
    pub fn go_on(&mut self, now: Instant, thread: ThreadIndex, activation: &mut Activation, release: Instant) -> bool {
        let id = activation.entity;
        let Some(entity) = self.entities.get(id.index(), id.generation()) else {
            return false;
        };
        // One at a time, and nothing of it waits: then its group is held by this one, or need not be held.
        let is_alone = entity.spec.max_in_flight == 1 && entity.pending.is_none() && entity.timer.is_none();
        if !is_alone || entity.spec.precedes_all || entity.spec.releases_group_at_await {
            return false;
        }
        let deadline = entity.deadline_of(release);
        let next = Activation { release, deadline, sequence: self.sequence, segment: 0, ..*activation };
        if !self.ready.would_pick(&next) {
            return false;
        }
        self.sequence += 1;
        self.groups.hand_on(&next);
        // Before anybody is told: should the trace panic, the driver still has what holds the group.
        let completed = std::mem::replace(activation, next);
        if self.trace.is_some() {
            self.record(release, TraceEvent::Released(next));
            self.record(now, TraceEvent::Completed(completed));
            self.record(now, TraceEvent::Dispatched(thread, next));
        }
        true
    }
}
