//! Recording of an executor: the tap before its trace, the definitions of what it has, and its state when the recording
//! begins.

use std::sync::Arc;

use rospin_core::recording::{Definition, DefinitionKey, Event, Rules};
use rospin_core::trace::Trace;
use rospin_core::{Activation, EntityId, GroupKind};

use super::State;
use super::slots::RunSlot;
use crate::recorder::Tap;
use crate::shared::Shared;

/// An activation that still runs although its entity was removed. It may hold its group, so that a recording which
/// begins meanwhile needs it.
pub(super) struct Orphan {
    id: EntityId,
    sequence: u64,
    executor: Arc<Shared>,
    /// The definition of its entity.
    definition: Definition,
}

impl State {
    /// Sets the user's trace in place of the former one, behind a tap if the executor is recorded.
    pub(crate) fn set_users_trace(&mut self, executor: &Shared, threads: u16, trace: Option<Box<dyn Trace>>) {
        let former = self.scheduler.take_trace();
        self.scheduler.set_trace(trace);
        let was_tapped = std::mem::take(&mut self.tapped);
        if executor.scribe.recorder.is_on() {
            self.tap(executor, threads, was_tapped);
        }
        // Its drop is user code.
        self.leftovers.garbage.extend(former.map(|former| Box::new(former) as _));
    }

    /// Puts a tap before the trace if the recorder is on, or else takes it away. Defines everything that there is, and
    /// records the state for sinks that have nothing of this executor yet.
    pub(crate) fn follow_recorder(&mut self, executor: &Shared, threads: u16) {
        self.tap(executor, threads, self.tapped);
    }

    /// Puts the tap before the trace if the recorder is on, or else takes it away. Defines everything that there is,
    /// and records the state. Nothing else happens meanwhile, and the tap records everything that happens from then on.
    /// `was_tapped` is true if the recording has events of this executor already.
    fn tap(&mut self, executor: &Shared, threads: u16, was_tapped: bool) {
        let recorder = &executor.scribe.recorder;
        let trace = self.scheduler.take_trace();
        let users = if self.tapped { trace.and_then(Trace::into_inner) } else { trace };
        self.tapped = recorder.is_on() && executor.number.is_recordable();
        if !self.tapped {
            self.scheduler.set_trace(users);
            return;
        }
        let mut tap = Tap::new(recorder.clone(), executor.number.get(), users, was_tapped);
        self.define_all(executor, threads);
        tap.begin(executor.now(), &self.snapshot(executor.number.get()));
        self.scheduler.set_trace(Some(Box::new(tap)));
    }

    fn define_all(&self, executor: &Shared, threads: u16) {
        let recorder = &executor.scribe.recorder;
        recorder.define(Definition::Executor {
            executor: executor.number.get(),
            name: executor.name.clone(),
            policy: self.scheduler.policy_name().to_owned(),
            threads,
        });
        // Another entity may have the place of one that was removed, and its definition replaces the earlier one.
        for orphan in &self.orphans {
            recorder.define(orphan.definition.clone());
        }
        for id in self.scheduler.entities() {
            self.define_entity(executor, id);
        }
    }

    /// Returns the state of the scheduler as events.
    fn snapshot(&self, executor: u16) -> Vec<Event> {
        let of_entities = self.entities.iter().flatten().flat_map(|entity| {
            let lent = entity.slots.iter().filter(|slot| slot.is_lent());
            lent.map(|slot| (entity.id, slot.sequence))
        });
        let orphans = self.orphans.iter().map(|orphan| (orphan.id, orphan.sequence));
        self.scheduler.snapshot(executor, of_entities.chain(orphans))
    }

    /// Notes the activations of an entity that run while it is removed.
    pub(super) fn note_orphans(&mut self, id: EntityId) {
        let Some(entity) = self.entities.get(id.index()).and_then(Option::as_ref).filter(|entity| entity.id == id)
        else {
            return;
        };
        let executor = &entity.details.membership.executor;
        let lent = entity.slots.iter().filter(|slot| slot.is_lent());
        let orphan = |run: &RunSlot| {
            let executor = Arc::clone(executor);
            let definition = self.definition(executor.number.get(), id)?;
            Some(Orphan { id, sequence: run.sequence, executor, definition })
        };
        let orphans: Vec<Orphan> = lent.filter_map(orphan).collect();
        self.orphans.extend(orphans);
    }

    /// Notes that the activation has ended, if it is one whose entity was removed while it ran.
    #[inline(always)]
    pub(crate) fn end_orphan(&mut self, activation: &Activation) {
        if !self.orphans.is_empty() {
            self.end_if_orphan(activation);
        }
    }

    #[cold]
    fn end_if_orphan(&mut self, activation: &Activation) {
        let is_it = |orphan: &Orphan| orphan.id == activation.entity && orphan.sequence == activation.sequence;
        if let Some(place) = self.orphans.iter().position(is_it) {
            let executor = self.orphans.swap_remove(place).executor;
            self.forget_entity(&executor, activation.entity);
        }
    }

    /// Tells the recorder that the entity is gone, unless an activation of it still runs.
    pub(super) fn forget_entity(&self, executor: &Shared, id: EntityId) {
        if self.tapped && !self.orphans.iter().any(|orphan| orphan.id == id) {
            executor.scribe.recorder.forget(DefinitionKey::Entity(executor.number.get(), id.to_bits()));
        }
    }

    /// Tells the recorder that the executor is gone, with everything that it has.
    pub(crate) fn forget_all(&mut self, executor: &Shared) {
        self.orphans.clear();
        for id in self.scheduler.entities() {
            self.forget_entity(executor, id);
        }
        if self.tapped {
            executor.scribe.recorder.forget(DefinitionKey::Executor(executor.number.get()));
        }
    }

    /// Passes the definition of an entity on to the recorder.
    pub(super) fn define_entity(&self, executor: &Shared, id: EntityId) {
        if let Some(definition) = self.definition(executor.number.get(), id) {
            executor.scribe.recorder.define(definition);
        }
    }

    /// Returns the definition of an entity of the executor with that number; `None` if the entity is gone.
    fn definition(&self, executor: u16, id: EntityId) -> Option<Definition> {
        let spec = self.scheduler.entity(id)?;
        let slot = self.entities.get(id.index()).and_then(Option::as_ref);
        let group = self.groups.get(spec.group.index()).and_then(Option::as_ref);
        Some(Definition::Entity {
            executor,
            entity: id.to_bits(),
            account: slot.map_or(0, |slot| slot.details.losses.number),
            name: spec.name.clone(),
            group: group.map_or_else(String::new, |group| group.name.to_string()),
            excludes: self.scheduler.group_kind(spec.group) == Some(GroupKind::MutuallyExclusive),
            kind: spec.kind,
            priority: spec.priority.0,
            deadline: spec.deadline,
            period: self.scheduler.timer_period(id),
            rules: Some(Rules {
                group: spec.group.to_bits(),
                registration: self.scheduler.registration(id).unwrap_or(0),
                max_in_flight: spec.max_in_flight,
                frees_group: spec.releases_group_at_await,
                precedes_all: spec.precedes_all,
            }),
        })
    }
}
