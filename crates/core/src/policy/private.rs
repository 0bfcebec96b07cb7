//! Hooks of the policies in this crate. A policy without them costs more, and is not told when a ready activation turns
//! out to have an earlier release; otherwise it makes the same decisions.

use super::{Named, Policy, View};
use crate::activation::Activation;
use crate::entity::EntitySpec;
use crate::group::Groups;
use crate::id::{EntityId, GroupId};

/// A policy with hooks: shorter ways to its decisions, and what recordings need of a wait set.
pub trait Hooks: Policy {
    /// Returns true if an activation that turns out to have an earlier release is withdrawn and released again. False
    /// is for wait sets: the activation would leave the ready set of the last polling point.
    fn orders_by_release(&self) -> bool {
        true
    }

    /// Passes `visit` what is left of the ready set of the last polling point, in the order in which it will be served.
    /// Not called on the dispatch path.
    fn visit_ready_set(&self, _visit: &mut dyn FnMut(&Activation)) {}

    /// Makes these activations, all of which are ready, the rest of the last polling point's ready set, in a replay.
    fn restore_ready_set(&mut self, _ready_set: &[Activation]) {}

    /// Returns true if the policy implements [`first`](Self::first). The answer stays the same.
    fn names_first(&self) -> bool {
        false
    }

    /// Names the ready activation that a [`pick`](Policy::pick) would return now, if that is the first segment of its
    /// entity's activation and its group admits it. May return `None` in any case.
    fn first(&self, _groups: &Groups) -> Option<Named> {
        None
    }

    /// Takes out the activation that was [named](Self::first), and adds the `next` one of the same entity, if it has
    /// one, with the same deadline. Nothing has happened in between, and all groups are free. Returns what
    /// [`first`](Self::first) would name now.
    fn replace_first(&mut self, _next: Option<&Activation>) -> Option<Named> {
        None
    }

    /// Returns the index of the entity that probably runs so many picks after the [`first`](Self::first) one; `None` if
    /// that is not known. The engine prefetches its data.
    fn upcoming(&self, _distance: usize) -> Option<usize> {
        None
    }

    /// Passes `visit` the addresses of what almost every step writes, one for each cache line. Threads that take turns
    /// prefetch these lines, also later, when the memory may be gone.
    fn visit_written(&self, _visit: &mut dyn FnMut(*const u8)) {}
}

/// A policy without hooks.
pub(super) struct Plain<P: ?Sized>(pub(super) Box<P>);

impl<P: Policy + ?Sized> Hooks for Plain<P> {
    /// False, since the policy may order by something else than releases. Then an activation that is released anew
    /// would lose its place.
    fn orders_by_release(&self) -> bool {
        false
    }
}

impl<P: Policy + ?Sized> Policy for Plain<P> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn register(&mut self, id: EntityId, spec: &EntitySpec) {
        self.0.register(id, spec);
    }

    fn unregister(&mut self, id: EntityId, spec: &EntitySpec) {
        self.0.unregister(id, spec);
    }

    fn release(&mut self, activation: &Activation) {
        self.0.release(activation);
    }

    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        self.0.pick(view)
    }

    fn group_freed(&mut self, group: GroupId) {
        self.0.group_freed(group);
    }

    fn withdraw(&mut self, activation: &Activation) {
        self.0.withdraw(activation);
    }

    fn has_candidates(&self) -> bool {
        self.0.has_candidates()
    }

    fn with_hooks(self: Box<Self>) -> Box<dyn Hooks>
    where
        Self: 'static,
    {
        self
    }
}
