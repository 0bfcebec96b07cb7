//! Repetition of recorded events: what releases, ends and losses of activations did to another scheduler is done to
//! this one, so that it can be asked what it would run next.

use super::Scheduler;
use super::entity_state::NOBODY;
use crate::activation::Activation;
use crate::id::EntityId;
use crate::time::Instant;

/// A segment of an activation, as another scheduler recorded it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repeated {
    /// The entity in this scheduler.
    pub entity: EntityId,
    /// The sequence number of the activation.
    pub sequence: u64,
    /// The number of the segment, from 0.
    pub segment: u32,
    /// The release of the segment.
    pub release: Instant,
    /// The absolute deadline of the activation, [`Instant::MAX`] if it has none.
    pub deadline: Instant,
}

impl Scheduler {
    /// Releases a segment as it was recorded. If it `antedates`, it takes the place of the entity's activation that is
    /// ready. Timers of recordings are entities here that are released like others.
    ///
    /// Returns false, and does nothing, if that cannot be:
    /// - the entity is not there;
    /// - the first segment of an activation does not antedate, and the entity has an activation that is ready;
    /// - it antedates, and the entity has none that is ready;
    /// - a later segment antedates, or the segment before it is not suspended;
    /// - the sequence number is the largest one, which no activation has.
    ///
    /// Sequence numbers must differ from those of activations that have not ended.
    pub fn repeat_release(&mut self, repeated: &Repeated, antedates: bool) -> bool {
        let Some(entity) = self.entities.get_mut(repeated.entity.index(), repeated.entity.generation()) else {
            return false;
        };
        let Repeated { sequence, segment, release, deadline, .. } = *repeated;
        if sequence == NOBODY {
            return false;
        }
        let activation = entity.recorded(release, deadline, sequence, segment);
        if segment > 0 {
            let is_former = |former: &Activation| (former.sequence, former.segment + 1) == (sequence, segment);
            let Some(place) = entity.rest.suspended.iter().position(is_former).filter(|_| !antedates) else {
                return false;
            };
            entity.rest.suspended.swap_remove(place);
            entity.rest.resumed.push(activation);
            self.ready.release(&activation);
            return true;
        }
        if entity.is_pending() != antedates {
            return false;
        }
        let may_start = entity.may_start();
        let former = entity.take_pending();
        let activation = entity.set_pending(release, deadline, sequence);
        if may_start {
            if let Some(former) = former {
                self.ready.withdraw(&former);
            }
            self.ready.release(activation);
        }
        true
    }

    /// Dispatches a segment as it was recorded, whatever the policy would pick. Returns `None` if it is not ready, or
    /// if its group does not admit it.
    pub fn repeat_dispatch(&mut self, entity: EntityId, sequence: u64, segment: u32) -> Option<Activation> {
        let ready = self.find_ready(entity, sequence, segment)?;
        if !self.groups.admits(&ready) {
            return None;
        }
        self.ready.withdraw(&ready);
        self.groups.try_run(&ready);
        let entity = self.entity_mut(entity)?;
        if segment > 0 {
            entity.rest.resumed.retain(|resumed| resumed.sequence != sequence);
        } else {
            entity.begin();
        }
        Some(ready)
    }

    /// Makes these segments, each an entity, a sequence number and the number of the segment, the rest of the policy's
    /// ready set of the last polling point, as it was recorded. Those that are not ready are left out.
    pub fn repeat_ready_set(&mut self, ready_set: &[(EntityId, u64, u32)]) {
        let find = |(entity, sequence, segment): &(EntityId, u64, u32)| self.find_ready(*entity, *sequence, *segment);
        let ready: Vec<Activation> = ready_set.iter().filter_map(find).collect();
        self.ready.policy.restore_ready_set(&ready);
    }

    /// Removes an activation that was ready or suspended and did not go on, as it was recorded. Returns true if it was
    /// there.
    pub fn repeat_withdrawal(&mut self, entity: EntityId, sequence: u64) -> bool {
        let Some(state) = self.entity_mut(entity) else {
            return false;
        };
        if state.pending().is_some_and(|pending| pending.sequence == sequence)
            && let Some(pending) = state.take_pending()
        {
            if state.may_start() {
                self.ready.withdraw(&pending);
            }
            return true;
        }
        let resumed = state.rest.resumed.iter().position(|resumed| resumed.sequence == sequence);
        let suspended = state.rest.suspended.iter().position(|suspended| suspended.sequence == sequence);
        let (over, was_ready) = match (resumed, suspended) {
            (Some(place), _) => (state.rest.resumed.swap_remove(place), true),
            (None, Some(place)) => (state.rest.suspended.swap_remove(place), false),
            (None, None) => return false,
        };
        state.in_flight = state.in_flight.saturating_sub(1);
        if was_ready {
            self.ready.withdraw(&over);
        }
        self.free_group(&over);
        true
    }

    /// Returns the entity's activation that is ready or waits for another one of the entity to end; `None` if it has
    /// none.
    #[must_use]
    pub fn pending(&self, entity: EntityId) -> Option<&Activation> {
        self.entities.get(entity.index(), entity.generation())?.pending()
    }

    /// Returns the ready segments, in the order of registration: those that may run, and those that wait for their
    /// group or for an activation of their own entity. Allocates.
    #[must_use]
    pub fn ready(&self) -> Vec<Activation> {
        let states = self.entities.ids().filter_map(|(index, generation)| self.entities.get(index, generation));
        let mut ready: Vec<Activation> =
            states.flat_map(|entity| entity.pending().into_iter().chain(&entity.rest.resumed).copied()).collect();
        ready.sort_unstable_by_key(|activation| (activation.registration, activation.sequence));
        ready
    }

    /// Returns true if the group of the activation would let it run now, and its entity has not too many under way.
    #[must_use]
    pub fn may_run(&self, activation: &Activation) -> bool {
        let entity = self.entities.get(activation.entity.index(), activation.entity.generation());
        let is_held_back = entity.is_some_and(|entity| activation.segment == 0 && !entity.may_start());
        !is_held_back && self.groups.admits(activation)
    }

    fn find_ready(&self, entity: EntityId, sequence: u64, segment: u32) -> Option<Activation> {
        let state = self.entities.get(entity.index(), entity.generation())?;
        let ready = if segment > 0 {
            state.rest.resumed.iter().find(|resumed| resumed.sequence == sequence)
        } else {
            state.pending().filter(|pending| pending.sequence == sequence && state.may_start())
        };
        ready.copied()
    }
}
