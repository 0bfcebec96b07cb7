//! The scheduler's groups and entities come and go.

use super::timers::TimerState;
use super::{EntityState, Scheduler};
use crate::entity::EntitySpec;
use crate::group::GroupKind;
use crate::id::{EntityId, GroupId};

/// Why an entity could not be added.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// The group was removed or belongs to another scheduler.
    #[error("`{entity}` names a callback group that is not there (any more); create the group first")]
    UnknownGroup {
        /// The entity.
        entity: String,
    },
    /// `max_in_flight` is 0: it could never run.
    #[error("`{entity}` allows no activation at all; max_in_flight must be at least 1")]
    NothingInFlight {
        /// The entity.
        entity: String,
    },
    /// A timer's period is 0: it would always be due.
    #[error("timer `{entity}` has a period of zero; give it a positive one, or none to fire once")]
    ZeroPeriod {
        /// The entity.
        entity: String,
    },
}

impl Scheduler {
    /// Adds a callback group.
    pub fn add_group(&mut self, kind: GroupKind) -> GroupId {
        self.groups.add(kind)
    }

    /// Removes a group and all of its entities; says whether it was there.
    pub fn remove_group(&mut self, group: GroupId) -> bool {
        let members: Vec<EntityId> = self.members(group).collect();
        for entity in members {
            self.remove_entity(entity);
        }
        self.groups.remove(group)
    }

    /// The entities of a group, in no particular order.
    pub fn members(&self, group: GroupId) -> impl Iterator<Item = EntityId> {
        self.entities
            .iter()
            .filter(move |(_, _, entity)| entity.spec.group == group)
            .map(|(index, generation, _)| EntityId::new(index, generation))
    }

    /// Adds an entity that is released by [`release`](Self::release).
    ///
    /// # Errors
    /// If its group is unknown or it could never run.
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
        let (index, generation) = self.entities.insert(EntityState {
            spec,
            registration,
            pending: None,
            in_flight: 0,
            suspended: Vec::new(),
            resumed: Vec::new(),
            timer,
        });
        let id = EntityId::new(index, generation);
        if let Some(entity) = self.entities.get(index, generation) {
            self.ready.register(id, &entity.spec);
        }
        Ok(id)
    }

    /// Removes an entity; says whether it was there.
    ///
    /// What was ready of it is not run any more. An activation that is running must still be completed; a suspended one
    /// must not: it ends here.
    pub fn remove_entity(&mut self, id: EntityId) -> bool {
        let Some(entity) = self.entities.remove(id.index(), id.generation()) else {
            return false;
        };
        if let Some(timer) = &entity.timer {
            let clock = timer.spec.clock.index();
            self.timer_counts[clock] -= 1;
            self.timers[clock].disarm(id);
        }
        let pending = entity.pending.as_ref().filter(|_| entity.may_start());
        for ready in pending.into_iter().chain(&entity.resumed) {
            self.ready.withdraw(ready);
        }
        self.ready.unregister(id, &entity.spec);
        for ended in entity.suspended.iter().chain(&entity.resumed) {
            self.free_group(ended);
        }
        true
    }

    /// The description that the entity was added with.
    #[must_use]
    pub fn entity(&self, id: EntityId) -> Option<&EntitySpec> {
        self.entities.get(id.index(), id.generation()).map(|entity| &entity.spec)
    }
}
