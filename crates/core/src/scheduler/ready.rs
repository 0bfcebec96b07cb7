//! What is ready: the policy's ready set, and ahead of it what no policy decides about.

use crate::activation::Activation;
use crate::entity::EntitySpec;
use crate::group::Groups;
use crate::id::EntityId;
use crate::policy::{Policy, View};

/// The released activations. Those of entities that [precede all](EntitySpec::precedes_all) never get to the policy.
pub(super) struct Ready {
    pub(super) policy: Box<dyn Policy>,
    /// In order of release. Few: entities of that kind are rare, and so are their activations.
    ahead: Vec<Activation>,
    /// How many can be in `ahead` at once.
    room: usize,
}

/// An entity's released activation and its resumed segments.
fn room_for(spec: &EntitySpec) -> usize {
    if spec.precedes_all { spec.max_in_flight as usize + 1 } else { 0 }
}

impl Ready {
    pub(super) fn new(policy: Box<dyn Policy>) -> Self {
        Self { policy, ahead: Vec::new(), room: 0 }
    }

    pub(super) fn register(&mut self, id: EntityId, spec: &EntitySpec) {
        self.room += room_for(spec);
        self.ahead.reserve(self.room.saturating_sub(self.ahead.len()));
        self.policy.register(id, spec);
    }

    pub(super) fn unregister(&mut self, id: EntityId, spec: &EntitySpec) {
        self.room -= room_for(spec);
        self.policy.unregister(id, spec);
    }

    pub(super) fn release(&mut self, activation: Activation, precedes_all: bool) {
        if precedes_all {
            self.ahead.push(activation);
        } else {
            self.policy.release(activation);
        }
    }

    /// Takes out what runs now; it is one that its group admits, unless the policy breaks its promise.
    pub(super) fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        if !self.ahead.is_empty()
            && let Some(at) = self.ahead.iter().position(|activation| view.groups.admits(activation))
        {
            return Some(self.ahead.remove(at));
        }
        self.policy.pick(view)
    }

    pub(super) fn would_pick(&self, activation: &Activation) -> bool {
        self.ahead.is_empty() && self.policy.would_pick(activation)
    }

    pub(super) fn withdraw(&mut self, activation: &Activation) {
        match self.ahead.iter().position(|ahead| ahead.sequence == activation.sequence) {
            Some(at) => _ = self.ahead.remove(at),
            None => self.policy.withdraw(activation),
        }
    }

    pub(super) fn has_candidates(&self, groups: &Groups) -> bool {
        self.policy.has_candidates() || self.ahead.iter().any(|activation| groups.admits(activation))
    }
}
