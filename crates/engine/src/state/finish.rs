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
    /// Gives back a run, and tells the scheduler the outcome. Returns true if the callback itself ran.
    pub(crate) fn finish(&mut self, executor: &Shared, finished: Run, now: Instant) -> bool {
        let Run { activation, mut callback } = finished;
        let id = activation.entity;
        let pending = callback.cx.pending;
        let result = std::mem::replace(&mut callback.result, Ok(Ran::Nothing));
        let suspended = matches!(result, Ok(Ran::Suspended));
        let ran = !matches!(result, Ok(Ran::Nothing | Ran::Failed(_)));
        // The label is needed only if the callback failed.
        let failed = matches!(result, Err(_) | Ok(Ran::Failed(_))).then(|| Arc::clone(&callback.label));
        if activation.deadline < now && ran && !suspended {
            self.leftovers.note_miss((executor, &self.scheduler), &callback.label, (&activation, now));
        }
        // This precedes the calls of the scheduler, whose policy and trace may be user code and panic.
        let GivenBack { woken, closing } = self.give_back((id, activation.group), callback, suspended);
        // This precedes the end of the activation. Items that arrived while it ran were released already, and must not
        // count as older than the items that were left.
        self.release_pending(id, pending, now);
        if suspended {
            self.scheduler.suspend(now, &activation);
        } else {
            self.scheduler.complete(now, &activation);
        }
        self.end_orphan(&activation);
        let has_failed = failed.is_some();
        if failed.is_some_and(|label| self.judge(executor, &activation, &label, result)) {
            // The entity was removed because of the panic.
            return ran;
        }
        if suspended && woken {
            self.scheduler.resume(now, id, activation.sequence);
        } else if suspended {
            self.note_suspended(&activation, now);
        }
        if !closing && !has_failed {
            return ran;
        }
        let is_done = |entity: &mut EntitySlot| entity.closing && entity.slots.iter().all(RunSlot::is_free);
        if self.entity_mut(id).is_some_and(is_done) {
            self.remove_entity(id);
        }
        ran
    }

    /// Gives back a run after a policy or a trace panicked, and ends its activation.
    pub(crate) fn give_back_and_end(&mut self, lent: Option<Run>) {
        if let Some(Run { activation, callback }) = lent {
            let pending = callback.cx.pending;
            self.give_back((activation.entity, activation.group), callback, false);
            self.release_pending(activation.entity, pending, activation.release);
            self.scheduler.complete(activation.release, &activation);
            self.end_orphan(&activation);
        }
    }

    /// Gives back a run whose activation the scheduler has ended already.
    pub(crate) fn give_back_ended(&mut self, lent: Option<Run>) {
        if let Some(Run { activation, callback }) = lent {
            self.give_back((activation.entity, activation.group), callback, false);
            self.end_orphan(&activation);
        }
    }

    /// Gives the callback of an entity and the payload of its group back to their places, or puts them among the
    /// leftovers if the entity or the group was removed meanwhile.
    pub(super) fn give_back(
        &mut self,
        (id, group): (EntityId, GroupId),
        mut callback: Box<Callback>,
        suspended: bool,
    ) -> GivenBack {
        self.give_back_payload(group, callback.payload.take());
        let Some(entity) = self.entity_mut(id) else {
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

    pub(super) fn give_back_payload(&mut self, group: GroupId, payload: Option<AnyPayload>) {
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

    pub(super) fn release_pending(&mut self, id: EntityId, pending: Pending, now: Instant) {
        if let Some(release) = pending.since(|| now) {
            self.scheduler.release(release, id);
        }
    }
}
