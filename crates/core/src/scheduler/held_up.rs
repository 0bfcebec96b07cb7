//! Activations that are ready and cannot start before a suspended one ends. If that one awaits what they do, both wait
//! for ever.

use super::Scheduler;
use super::entity_state::EntityState;
use crate::activation::Activation;
use crate::id::EntityId;
use crate::time::Instant;

impl Scheduler {
    /// Returns true if other activations wait for the end of `activation`, which is suspended: it holds its group, or
    /// its entity has as many activations under way as it may have.
    #[must_use]
    pub fn holds_up(&self, activation: &Activation) -> bool {
        self.groups.is_held_by(activation) || self.state_of(activation.entity).is_some_and(|entity| !entity.may_start())
    }

    /// Returns true if `activation` is suspended, or was resumed and has not run since, or holds its group.
    #[must_use]
    pub fn is_under_way(&self, activation: &Activation) -> bool {
        let is_it = |other: &Activation| other.sequence == activation.sequence;
        self.groups.is_held_by(activation)
            || self
                .state_of(activation.entity)
                .is_some_and(|entity| entity.rest.suspended.iter().any(is_it) || entity.rest.resumed.iter().any(is_it))
    }

    /// Calls `found` with each entity that has something ready which cannot start before `activation` goes on, and
    /// since when. Finds nothing unless `activation` is suspended.
    pub fn held_up_by(&self, activation: &Activation, mut found: impl FnMut(EntityId, Instant)) {
        let Some(holder) = self.state_of(activation.entity) else {
            return;
        };
        let suspended = &holder.rest.suspended;
        if !suspended.iter().any(|suspended| suspended.sequence == activation.sequence) {
            return;
        }
        if self.groups.is_held_by(activation) {
            for id in self.members(activation.group) {
                if let Some(since) = self.state_of(id).and_then(ready_since) {
                    found(id, since);
                }
            }
        } else if !holder.may_start()
            && holder.in_flight as usize == suspended.len()
            && let Some(pending) = holder.pending()
        {
            found(activation.entity, pending.release);
        }
    }

    fn state_of(&self, id: EntityId) -> Option<&EntityState> {
        self.entities.get(id.index(), id.generation())
    }
}

/// Returns the time since which the entity has something ready; `None` if it has nothing, or does not wait for the
/// group's holder.
fn ready_since(entity: &EntityState) -> Option<Instant> {
    if entity.rest.spec.precedes_all {
        return None;
    }
    let resumed = entity.rest.resumed.iter().map(|resumed| resumed.release);
    entity.pending().map(|pending| pending.release).into_iter().chain(resumed).min()
}
