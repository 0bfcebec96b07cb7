//! The end of a run: its callback has returned, failed, or was suspended.

use std::sync::Arc;

use rospin_core::recording::Event;
use rospin_core::{Activation, EntityId, GroupId, Instant};

use super::slots::{EntitySlot, RunSlot};
use super::{GivenBack, State};
use crate::body::{AnyPayload, Ran};
use crate::incident::{Incident, IncidentKind, OnPanic};
use crate::loss::LossCause;
use crate::shared::Shared;
use crate::source::{Pending, TakeError};
use crate::work::{Callback, Label, Run};

impl State {
    /// Takes back what was lent for a run, and ends or suspends its activation, as the outcome says. Returns true if the
    /// callback itself ran.
    pub(crate) fn finish(&mut self, executor: &Shared, run: Run, now: Instant) -> bool {
        let is_late = run.activation.deadline < now;
        match &run.callback.result {
            Ok(Ran::Done) => {
                if is_late {
                    self.leftovers.note_miss((executor, &self.scheduler), &run.callback.label, (&run.activation, now));
                }
                self.complete(run, now);
                true
            }
            Ok(Ran::Suspended) => {
                self.suspend(run, now);
                true
            }
            Ok(Ran::Nothing) => {
                self.complete(run, now);
                false
            }
            Ok(Ran::Failed(_)) => {
                self.fail(executor, run, now);
                false
            }
            Err(_) => {
                if is_late {
                    self.leftovers.note_miss((executor, &self.scheduler), &run.callback.label, (&run.activation, now));
                }
                self.fail(executor, run, now);
                true
            }
        }
    }

    /// Ends the activation of a run whose callback returned, or found nothing to take. Removes the entity if its source
    /// has ended and this was the last activation.
    #[inline(always)]
    fn complete(&mut self, run: Run, now: Instant) {
        let Run { activation, callback } = run;
        if self.end(&activation, callback, now) {
            self.remove_if_over(activation.entity);
        }
    }

    /// Gives back what was lent for an activation, and ends it. Returns true if the entity's source has ended.
    #[inline(always)]
    fn end(&mut self, activation: &Activation, callback: Box<Callback>, now: Instant) -> bool {
        let pending = callback.cx.pending;
        // The scheduler is called last: its policy and trace may be user code and panic.
        let is_closing = self.give_back(activation, callback, false).closing;
        // Items that arrived while it ran were released already, and must not count as older than the items that were
        // left. So the entity is released before the activation ends.
        self.release_pending(activation.entity, pending, now);
        self.scheduler.complete(now, activation);
        if self.has_orphans() {
            self.end_orphan(activation);
        }
        is_closing
    }

    /// Suspends the activation of a run whose callback waits, or resumes it if its waker was called already.
    fn suspend(&mut self, run: Run, now: Instant) {
        let Run { activation, callback } = run;
        let pending = callback.cx.pending;
        let is_woken = self.give_back(&activation, callback, true).woken;
        self.release_pending(activation.entity, pending, now);
        self.scheduler.suspend(now, &activation);
        if self.has_orphans() {
            self.end_orphan(&activation);
        }
        if is_woken {
            self.scheduler.resume(now, activation.entity, activation.sequence);
        } else {
            self.note_suspended(&activation, now);
        }
    }

    /// Ends the activation of a run that failed, and [judges](Self::judge) the failure.
    #[cold]
    fn fail(&mut self, executor: &Shared, run: Run, now: Instant) {
        let Run { activation, mut callback } = run;
        let label = Arc::clone(&callback.label);
        let result = std::mem::replace(&mut callback.result, Ok(Ran::Nothing));
        self.end(&activation, callback, now);
        let is_removed = self.judge(executor, &activation, &label, result);
        if !is_removed {
            self.remove_if_over(activation.entity);
        }
    }

    /// Removes the entity if its source has ended and it has no activation under way.
    #[cold]
    fn remove_if_over(&mut self, id: EntityId) {
        let is_over = |entity: &mut EntitySlot| entity.closing && entity.slots.iter().all(RunSlot::is_free);
        if self.entity_mut(id).is_some_and(is_over) {
            self.remove_entity(id);
        }
    }

    /// Gives back what a thread has after a policy or a trace panicked, and ends the activation.
    pub(crate) fn give_back_and_end(&mut self, lent: Option<Run>) {
        if let Some(Run { activation, callback }) = lent {
            self.end(&activation, callback, activation.release);
        }
    }

    /// Gives the callback of an entity and the payload of its group back to their places, or puts them among the
    /// leftovers if the entity or the group was removed meanwhile.
    #[inline(always)]
    fn give_back(&mut self, activation: &Activation, mut callback: Box<Callback>, suspended: bool) -> GivenBack {
        self.give_back_payload(activation.group, callback.payload.take());
        let Some(entity) = self.entity_mut(activation.entity) else {
            // The entity was removed meanwhile.
            if suspended {
                callback.label.losses.add(LossCause::Cancelled, 1);
            }
            self.discard(callback);
            return GivenBack { woken: false, closing: false };
        };
        let closing = entity.closing;
        let run = &mut entity.slots[callback.slot];
        let woken = run.woken;
        if suspended {
            run.callback = Some(callback);
            (run.suspended, run.woken) = (!woken, false);
        } else {
            run.end(callback);
        }
        GivenBack { woken, closing }
    }

    #[inline(always)]
    fn give_back_payload(&mut self, group: GroupId, payload: Option<AnyPayload>) {
        let Some(payload) = payload else {
            return;
        };
        match self.group_mut(group) {
            Some(group) => group.payload = Some(payload),
            None => self.leftovers.garbage.push(payload),
        }
    }

    /// Handles the failure of a run. An entity whose source has ended is marked as closing. A panic, or an item that
    /// could not be taken, is reported; after a panic, the group's [`OnPanic`] says if the entity continues, is
    /// removed, or the executor halts. Returns true if the entity was removed.
    fn judge(
        &mut self,
        executor: &Shared,
        activation: &Activation,
        label: &Label,
        result: Result<Ran, String>,
    ) -> bool {
        let kind = match result {
            Ok(Ran::Failed(TakeError::Closed)) => {
                if let Some(entity) = self.entity_mut(activation.entity) {
                    entity.closing = true;
                }
                return false;
            }
            Ok(Ran::Failed(error)) => {
                label.losses.add(LossCause::TakeFailed, 1);
                IncidentKind::TakeFailed(error.to_string())
            }
            Ok(_) => return false,
            Err(message) => IncidentKind::Panicked(message),
        };
        let incident = Incident {
            executor: executor.name.clone(),
            group: label.group.to_string(),
            entity: label.entity.to_string(),
            kind,
        };
        let mut is_removed = false;
        if matches!(incident.kind, IncidentKind::Panicked(_)) {
            match label.on_panic {
                OnPanic::Continue => {}
                OnPanic::Remove => {
                    self.remove_entity(activation.entity);
                    is_removed = true;
                }
                OnPanic::Halt => {
                    self.fatal.get_or_insert_with(|| incident.clone());
                }
            }
        }
        executor.scribe.note(|| Event::Incident {
            executor: executor.number.get(),
            entity: activation.entity.to_bits(),
            kind: incident.kind.index(),
        });
        self.leftovers.incidents.push(incident);
        is_removed
    }

    #[inline(always)]
    pub(super) fn release_pending(&mut self, id: EntityId, pending: Pending, now: Instant) {
        if let Some(release) = pending.since(|| now) {
            self.scheduler.release(release, id);
        }
    }
}
