//! Runs that failed: the callback panicked, or its source has ended or could not be taken from.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use rospin_core::recording::Event;
use rospin_core::{Activation, EntityId, Instant};

use super::State;
use super::slots::{EntitySlot, RunSlot};
use crate::body::Ran;
use crate::incident::{Incident, IncidentKind, OnPanic};
use crate::loss::LossCause;
use crate::shared::Shared;
use crate::source::TakeError;
use crate::work::Label;
use crate::work::Run;

impl State {
    /// Gives back a run that failed, ends its activation, and [judges](Self::judge) the failure, also if a policy or a
    /// trace panics meanwhile.
    #[cold]
    pub(crate) fn fail(&mut self, executor: &Shared, run: Run, now: Instant) {
        let Run { activation, mut callback } = run;
        let label = Arc::clone(&callback.label);
        let result = std::mem::replace(&mut callback.result, Ok(Ran::Nothing));
        let ended = catch_unwind(AssertUnwindSafe(|| self.end_activation(&activation, callback, now)));
        let is_removed = self.judge(executor, &activation, &label, result);
        if !is_removed {
            self.remove_if_over(activation.entity);
        }
        if let Err(panic) = ended {
            resume_unwind(panic);
        }
    }

    /// Removes the entity if its source has ended and nothing of it is under way.
    #[cold]
    pub(crate) fn remove_if_over(&mut self, id: EntityId) {
        let is_over = |entity: &mut EntitySlot| entity.closing && entity.slots.iter().all(RunSlot::is_free);
        if self.entity_mut(id).is_some_and(is_over) {
            self.remove_entity(id);
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
        let panicked = matches!(incident.kind, IncidentKind::Panicked(_));
        if panicked && label.on_panic == OnPanic::Halt {
            self.fatal.get_or_insert_with(|| incident.clone());
        }
        executor.scribe.note(|| Event::Incident {
            executor: executor.number.get(),
            entity: activation.entity.to_bits(),
            kind: incident.kind.index(),
        });
        self.leftovers.incidents.push(incident);
        let is_removed = panicked && label.on_panic == OnPanic::Remove;
        if is_removed {
            // Last, since the policy and the trace are told, and may panic.
            self.remove_entity(activation.entity);
        }
        is_removed
    }
}
