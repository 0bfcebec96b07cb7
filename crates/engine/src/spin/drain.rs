//! Drain: the flags that notifiers raised become releases.

use rospin_core::{EntityId, Instant, Scheduler};

use crate::lock_free::inbox::Inbox;
use crate::state::{EntitySlot, NOBODY, State, Target};

impl State {
    /// Passes the flags that were raised since the last drain on to the scheduler, in the order of arrival: a ready set
    /// takes fewer steps for what comes in order. If neither the flag nor a queue has a time of arrival, the flag
    /// counts as one that was raised now, for which `now` reads the clock.
    ///
    /// Returns the latest of the publication times that it found in queues; zero if it found none.
    #[inline(never)]
    pub(crate) fn drain(&mut self, inbox: &Inbox, now: impl Fn() -> Instant) -> Instant {
        if !self.drained.is_empty() {
            self.release_drained();
        }
        let mut latest = Instant::ZERO;
        let Self { books, targets, drained, .. } = self;
        inbox.drain(books, |signal, arrival_ns| {
            // Without a target, the entity is not added yet, and adding it will look at the source; or the entity was
            // removed.
            if let Some(target) = targets.get(signal).and_then(Option::as_ref) {
                // A source may have a queue among others, and may notify for reasons of its own: a time that was noted
                // counts.
                let arrival = match arrival_ns {
                    Some(noted) => Instant::from_nanos(noted),
                    None => target.oldest_ns().map_or_else(&now, |published| {
                        let published = Instant::from_nanos(published);
                        latest = latest.max(published);
                        published
                    }),
                };
                drained.push((arrival, signal));
            }
        });
        if drained.len() > 1 {
            drained.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.release_drained();
        latest
    }

    /// Releases what was drained. If a policy or a trace panics, the rest is left for the next drain.
    #[inline]
    fn release_drained(&mut self) {
        let Self { scheduler, entities, targets, drained, .. } = self;
        while let Some((arrival, signal)) = drained.pop() {
            match targets.get(signal).and_then(Option::as_ref) {
                Some(Target::Source(id, _)) => {
                    scheduler.release(arrival, *id);
                }
                Some(Target::Segment(id, slot)) => wake(scheduler, entities, *id, *slot, arrival),
                None => {}
            }
        }
    }

    /// Returns true if a panic has left something that was drained and not released yet.
    pub(crate) fn has_drained(&self) -> bool {
        !self.drained.is_empty()
    }
}

/// Resumes the activation in a slot of an entity, which was woken at `now`.
fn wake(scheduler: &mut Scheduler, entities: &mut [Option<EntitySlot>], id: EntityId, slot: usize, now: Instant) {
    let entity = entities.get_mut(id.index()).and_then(Option::as_mut).filter(|entity| entity.id == id);
    let Some(run) = entity.and_then(|entity| entity.slots.get_mut(slot)) else {
        return;
    };
    let sequence = run.sequence;
    if sequence == NOBODY {
        // The waker belongs to an activation that has ended.
        return;
    }
    if run.suspended {
        run.suspended = false;
        scheduler.resume(now, id, sequence);
    } else {
        // If the activation runs, it is polled once more. If it was resumed already, it will be polled anyway.
        run.woken = run.callback.is_none();
    }
}
