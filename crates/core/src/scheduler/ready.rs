//! The ready activations: those that precede all, and behind them the policy's ready set.

use crate::activation::Activation;
use crate::entity::EntitySpec;
use crate::id::{EntityId, GroupId};
use crate::policy::private::Hooks;
use crate::policy::{Fifo, Policy, View};

/// The released activations. Those of entities that [precede all](EntitySpec::precedes_all) never get to the policy.
pub(super) struct Ready {
    pub(super) policy: Box<dyn Hooks>,
    /// The policy's [`names_first`](Hooks::names_first), which is asked only once, since each step needs it.
    pub(super) names_first: bool,
    /// The activations that precede all, in the order of their release.
    ahead: Fifo,
    /// The number of entities that precede all. If it is zero, as in most programs, `ahead` is not used.
    preceding: usize,
}

impl Ready {
    pub(super) fn new(policy: Box<dyn Policy>) -> Self {
        let policy = policy.with_hooks();
        let names_first = policy.names_first();
        Self { policy, names_first, ahead: Fifo::new(), preceding: 0 }
    }

    /// Returns true if there are entities that precede all.
    pub(super) const fn has_preceding(&self) -> bool {
        self.preceding > 0
    }

    pub(super) fn register(&mut self, id: EntityId, spec: &EntitySpec) {
        if spec.precedes_all {
            self.ahead.register(id, spec);
            self.preceding += 1;
        }
        self.policy.register(id, spec);
    }

    pub(super) fn unregister(&mut self, id: EntityId, spec: &EntitySpec) {
        if spec.precedes_all {
            self.ahead.unregister(id, spec);
            self.preceding -= 1;
        }
        self.policy.unregister(id, spec);
    }

    pub(super) fn release(&mut self, activation: &Activation) {
        if activation.precedes_all {
            self.ahead.release(activation);
        } else {
            self.policy.release(activation);
        }
    }

    /// Takes out the activation that runs now; `None` if none may run. Its group admits it, unless the policy breaks
    /// its promise.
    pub(super) fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        if self.preceding > 0
            && let Some(first) = self.ahead.pick(view)
        {
            return Some(first);
        }
        self.policy.pick(view)
    }

    /// Notes that no callback of the group runs any more, although one holds it. Activations that precede all may run
    /// in it now.
    pub(super) fn group_paused(&mut self, group: GroupId) {
        if self.preceding > 0 {
            self.ahead.group_freed(group);
        }
    }

    /// Notes that the group is free again, or that its holder may go on because an activation that precedes all has
    /// ended.
    pub(super) fn group_freed(&mut self, group: GroupId) {
        self.group_paused(group);
        self.policy.group_freed(group);
    }

    pub(super) fn orders_by_release(&self, activation: &Activation) -> bool {
        activation.precedes_all || self.policy.orders_by_release()
    }

    pub(super) fn withdraw(&mut self, activation: &Activation) {
        if activation.precedes_all {
            self.ahead.withdraw(activation);
        } else {
            self.policy.withdraw(activation);
        }
    }

    pub(super) fn has_candidates(&self) -> bool {
        self.policy.has_candidates() || (self.preceding > 0 && self.ahead.has_candidates())
    }
}
