//! Adding and removing the scheduler's groups and entities.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::Scheduler;
use super::entity_state::{EntityState, Rest};
use super::timers::TimerState;
use crate::entity::EntitySpec;
use crate::group::GroupKind;
use crate::id::{EntityId, GroupId};

/// Errors of adding an entity.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// The group was removed or belongs to another scheduler.
    #[error("`{entity}` names a callback group that is not there (any more); create the group first")]
    UnknownGroup {
        /// The name of the entity.
        entity: String,
    },
    /// `max_in_flight` is 0, so that the entity could never run.
    #[error("`{entity}` allows no activation at all; max_in_flight must be at least 1")]
    NothingInFlight {
        /// The name of the entity.
        entity: String,
    },
    /// The timer's period is zero, so that it would always be due.
    #[error("timer `{entity}` has a period of zero; give it a positive one, or none to fire once")]
    ZeroPeriod {
        /// The name of the entity.
        entity: String,
    },
}

impl Scheduler {
    /// Adds a callback group.
    pub fn add_group(&mut self, kind: GroupKind) -> GroupId {
        self.groups.add(kind)
    }

    /// Removes a group and all of its entities. Returns true if the group existed.
    pub fn remove_group(&mut self, group: GroupId) -> bool {
        let mut panic = FirstPanic::default();
        while let Some(entity) = self.groups.members(group).last().copied() {
            panic.catch(|| self.remove_entity(entity));
        }
        let was_there = self.groups.remove(group);
        panic.resume();
        was_there
    }

    /// Returns the entities of a group, in no particular order.
    pub fn members(&self, group: GroupId) -> impl Iterator<Item = EntityId> {
        self.groups.members(group).iter().copied()
    }

    /// Adds an entity that is released by [`release`](Self::release).
    ///
    /// # Errors
    /// If the group was removed or belongs to another scheduler, or if `max_in_flight` is 0.
    pub fn add_entity(&mut self, spec: EntitySpec) -> Result<EntityId, AddError> {
        self.add(spec, None)
    }

    pub(super) fn add(&mut self, spec: EntitySpec, timer: Option<TimerState>) -> Result<EntityId, AddError> {
        if self.groups.kind(spec.group).is_none() {
            return Err(AddError::UnknownGroup { entity: spec.name });
        }
        if spec.max_in_flight == 0 {
            return Err(AddError::NothingInFlight { entity: spec.name });
        }
        let registration = self.registrations;
        self.registrations += 1;
        let add = |index, generation| EntityState::new(EntityId::new(index, generation), registration, spec, timer);
        let (index, generation) = self.entities.insert_with(add);
        let id = EntityId::new(index, generation);
        if let Some(entity) = self.entities.get_mut(index, generation) {
            entity.rest.place_in_group = self.groups.add_member(entity.rest.spec.group, id);
            self.ready.register(id, &entity.rest.spec);
        }
        Ok(id)
    }

    /// Removes an entity. Returns true if it existed.
    ///
    /// Its ready activations do not run any more. An activation that is running must still be completed. A suspended
    /// one ends here, and must not be completed.
    pub fn remove_entity(&mut self, id: EntityId) -> bool {
        let Some(mut entity) = self.entities.remove(id.index(), id.generation()) else {
            return false;
        };
        let may_start = entity.may_start();
        let pending = entity.take_pending();
        let Rest { spec, place_in_group, suspended, resumed, timer } = *entity.rest;
        if let Some(moved) = self.groups.remove_member(spec.group, place_in_group)
            && let Some(moved) = self.entity_mut(moved)
        {
            moved.rest.place_in_group = place_in_group;
        }
        if let Some(timer) = &timer {
            let clock = timer.spec.clock.index();
            self.timer_counts[clock] -= 1;
            self.timers[clock].disarm(id);
        }
        // The groups are updated before the policy is called, which is foreign code. It is told everything, also if it
        // panics meanwhile.
        let mut is_freed = false;
        for ended in suspended.iter().chain(&resumed) {
            is_freed |= self.groups.leave(ended);
        }
        let mut panic = FirstPanic::default();
        for ready in pending.iter().filter(|_| may_start).chain(&resumed) {
            panic.catch(|| self.ready.withdraw(ready));
        }
        panic.catch(|| self.ready.unregister(id, &spec));
        if is_freed {
            panic.catch(|| self.ready.group_freed(spec.group));
        }
        panic.catch(|| self.record_withdrawn(pending.into_iter().chain(resumed).chain(suspended)));
        panic.resume();
        true
    }

    /// Returns the description that the entity was added with; `None` if it was removed. The kind of a timer is
    /// [`EntityKind::Timer`](crate::EntityKind::Timer) in any case.
    #[must_use]
    pub fn entity(&self, id: EntityId) -> Option<&EntitySpec> {
        self.entities.get(id.index(), id.generation()).map(|entity| &entity.rest.spec)
    }
}

/// The first panic of several calls of foreign code, each of which is made although an earlier one has panicked.
#[derive(Default)]
struct FirstPanic(Option<Box<dyn Any + Send>>);

impl FirstPanic {
    fn catch<R>(&mut self, foreign_code: impl FnOnce() -> R) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(foreign_code)) {
            self.0.get_or_insert(panic);
        }
    }

    /// Goes on with the panic, if there was one.
    fn resume(self) {
        if let Some(panic) = self.0 {
            resume_unwind(panic);
        }
    }
}
