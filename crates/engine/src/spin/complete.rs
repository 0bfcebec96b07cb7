//! Complete: the thread gives back callback and payload, and the activation ends or is suspended.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rospin_core::{Activation, EntityId, Instant};

use super::run::Run;
use crate::body::Ran;
use crate::incident::contain;
use crate::loss::LossCause;
use crate::shared::Shared;
use crate::source::Pending;
use crate::state::State;
use crate::work::Callback;

/// Events of an entity while its callback was lent.
struct GivenBack {
    /// True if the activation's waker was called.
    is_woken: bool,
    /// True if the entity's source has ended.
    is_closing: bool,
}

impl State {
    /// Gives back a run, and ends or suspends its activation, as the outcome says. Returns true if the callback itself
    /// ran.
    pub(crate) fn complete(&mut self, executor: &Shared, run: Run, now: Instant) -> bool {
        match &run.callback.result {
            Ok(Ran::Done) => {
                self.note_if_missed(executor, &run, now);
                self.end(run, now);
                true
            }
            Ok(Ran::Suspended) => {
                self.suspend(run, now);
                true
            }
            Ok(Ran::Nothing) => {
                self.end(run, now);
                false
            }
            Ok(Ran::Failed(_)) => {
                self.fail(executor, run, now);
                false
            }
            Err(_) => {
                self.note_if_missed(executor, &run, now);
                self.fail(executor, run, now);
                true
            }
        }
    }

    /// Counts the deadline of a run if it was missed.
    #[inline(always)]
    fn note_if_missed(&mut self, executor: &Shared, run: &Run, now: Instant) {
        if run.activation.deadline < now {
            self.leftovers.note_miss(executor, &self.scheduler, &run.callback.label, &run.activation, now);
        }
    }

    /// Gives back a run and ends its activation. Removes the entity if its source has ended and nothing of it is under
    /// way any more.
    #[inline(always)]
    fn end(&mut self, run: Run, now: Instant) {
        let Run { activation, callback } = run;
        if self.end_activation(&activation, callback, now) {
            self.remove_if_over(activation.entity);
        }
    }

    /// Gives back a callback with its payload, and ends its activation. Returns true if the entity's source has ended.
    #[inline(always)]
    pub(crate) fn end_activation(&mut self, activation: &Activation, callback: Box<Callback>, now: Instant) -> bool {
        let pending = callback.cx.pending;
        // The scheduler is called last: its policy and trace may be user code and panic.
        let is_closing = self.give_back(activation, callback, false).is_closing;
        // Items that arrived while it ran were released already, and must not count as older than the items that were
        // left. So the entity is released before the activation ends.
        let mut is_released = false;
        let ended = catch_unwind(AssertUnwindSafe(|| {
            self.release_pending(activation.entity, pending, now);
            is_released = true;
            self.scheduler.complete(now, activation);
        }));
        if ended.is_err() {
            self.end_after_panic(activation, is_released, is_closing, now);
        }
        self.end_orphan(activation);
        if let Err(panic) = ended {
            resume_unwind(panic);
        }
        is_closing
    }

    /// Does what is left of the end of an activation after a policy or a trace panicked, at the release or later. The
    /// activation ends nevertheless, since its group must be free, and the entity goes if its source has ended.
    #[cold]
    fn end_after_panic(&mut self, activation: &Activation, is_released: bool, is_closing: bool, now: Instant) {
        if !is_released {
            contain(|| self.scheduler.complete(now, activation));
        }
        if is_closing {
            contain(|| self.remove_if_over(activation.entity));
        }
    }

    /// Suspends the activation of a run whose callback waits, or resumes it if its waker was called already.
    fn suspend(&mut self, run: Run, now: Instant) {
        let Run { activation, callback } = run;
        let pending = callback.cx.pending;
        let is_woken = self.give_back(&activation, callback, true).is_woken;
        let released = catch_unwind(AssertUnwindSafe(|| self.release_pending(activation.entity, pending, now)));
        let suspended = catch_unwind(AssertUnwindSafe(|| self.scheduler.suspend(now, &activation)));
        self.end_orphan(&activation);
        // A wake-up counts also if a policy or a trace has panicked: nobody tells of it again.
        if is_woken {
            self.scheduler.resume(now, activation.entity, activation.sequence);
        } else {
            self.note_suspended(&activation, now);
        }
        if let Err(panic) = released.and(suspended) {
            resume_unwind(panic);
        }
    }

    /// Gives the callback of an activation and the payload of its group back to their places, or puts them among the
    /// leftovers if the entity or the group was removed meanwhile.
    #[inline(always)]
    fn give_back(&mut self, activation: &Activation, mut callback: Box<Callback>, is_suspended: bool) -> GivenBack {
        if let Some(payload) = callback.payload.take() {
            match self.group_mut(activation.group) {
                Some(group) => group.payload = Some(payload),
                None => self.leftovers.garbage.push(payload),
            }
        }
        let Some(entity) = self.entity_mut(activation.entity) else {
            if is_suspended {
                callback.label.losses.add(LossCause::Cancelled, 1);
            }
            self.drop_later(callback);
            return GivenBack { is_woken: false, is_closing: false };
        };
        let is_closing = entity.closing;
        let slot = &mut entity.slots[callback.slot];
        let is_woken = slot.woken;
        if is_suspended {
            slot.suspend(callback);
        } else {
            slot.end(callback);
        }
        GivenBack { is_woken, is_closing }
    }

    /// Releases an entity whose source has left something.
    #[inline(always)]
    pub(crate) fn release_pending(&mut self, id: EntityId, pending: Pending, now: Instant) {
        if let Some(release) = pending.since(|| now) {
            self.scheduler.release(release, id);
        }
    }
}
