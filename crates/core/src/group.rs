//! Callback groups, and the activations that hold them.

use crate::activation::Activation;
use crate::id::{EntityId, GroupId, Slots};

/// The kind of a callback group: its callbacks exclude each other or not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum GroupKind {
    /// One callback runs at a time.
    MutuallyExclusive,
    /// Any number of callbacks run at a time.
    Reentrant,
}

/// Value in place of an activation's sequence number if no activation holds the group, or none runs in it. No
/// activation has this number.
const NOBODY: u64 = u64::MAX;

/// A group. A mutually exclusive one is free, or held by an activation that runs or is suspended. While the holder is
/// suspended, an activation that [precedes all](crate::EntitySpec::precedes_all) may run in the group as a guest. The
/// holder waits for it.
///
/// It has a cache line to itself: threads write the groups of the callbacks that they run, and each its own most of the
/// time.
#[derive(Debug)]
#[repr(align(64))]
struct GroupState {
    kind: GroupKind,
    /// The sequence number of the holder, from its start to its end, or to its suspension if its entity frees the group
    /// then. Always [`NOBODY`] for a reentrant group.
    holder: u64,
    /// The sequence number of the holder or the guest that a thread runs. Always [`NOBODY`] for a reentrant group.
    running: u64,
    /// The group's entities, in no particular order.
    members: Vec<EntityId>,
}

/// The groups of a scheduler, as a policy sees them.
#[derive(Debug)]
pub struct Groups {
    slots: Slots<GroupState>,
    /// The number of groups that are not free.
    held: usize,
}

impl Groups {
    pub(crate) const fn new() -> Self {
        Self { slots: Slots::new(), held: 0 }
    }

    /// Returns true if `activation` may start or continue now: its group is reentrant, or none of the group's callbacks
    /// runs and no other activation holds the group. An activation that [precedes all](crate::EntitySpec::precedes_all)
    /// may start even if another one holds the group.
    #[must_use]
    #[inline]
    pub fn admits(&self, activation: &Activation) -> bool {
        self.get(activation.group).is_some_and(|group| group.admits(activation))
    }

    /// Returns true if no activation holds the group or runs in it, as is always the case for a reentrant group.
    /// Returns false if the group was removed.
    ///
    /// An activation that [precedes all](crate::EntitySpec::precedes_all) may start in a group that is not free:
    /// [`admits`](Self::admits) tells.
    #[must_use]
    pub fn is_free(&self, group: GroupId) -> bool {
        self.get(group).is_some_and(GroupState::is_free)
    }

    /// Returns true if the activation holds its group. Nobody holds a reentrant group.
    pub(crate) fn is_held_by(&self, activation: &Activation) -> bool {
        self.get(activation.group).is_some_and(|group| group.holder == activation.sequence)
    }

    /// Returns true if any group is not [free](Self::is_free). Takes constant time.
    #[must_use]
    #[inline]
    pub const fn any_held(&self) -> bool {
        self.held > 0
    }

    /// Returns the kind of the group; `None` if it was removed.
    #[must_use]
    pub fn kind(&self, group: GroupId) -> Option<GroupKind> {
        self.get(group).map(|group| group.kind)
    }

    /// Returns the address of what is written whenever a group is held or freed, besides the group.
    pub(crate) const fn written(&self) -> *const usize {
        &raw const self.held
    }

    /// Adds a group.
    pub(crate) fn add(&mut self, kind: GroupKind) -> GroupId {
        let (index, generation) =
            self.slots.insert(GroupState { kind, holder: NOBODY, running: NOBODY, members: Vec::new() });
        GroupId::new(index, generation)
    }

    /// Removes a group. Returns true if it was there.
    pub(crate) fn remove(&mut self, group: GroupId) -> bool {
        let removed = self.slots.remove(group.index(), group.generation());
        self.held -= usize::from(removed.as_ref().is_some_and(|group| !group.is_free()));
        removed.is_some()
    }

    /// Returns the group's entities, in no particular order.
    pub(crate) fn members(&self, group: GroupId) -> &[EntityId] {
        self.get(group).map_or(&[], |group| &group.members)
    }

    /// Adds an entity to the group. Returns its place among the [members](Self::members), or 0 if the group was
    /// removed.
    pub(crate) fn add_member(&mut self, group: GroupId, entity: EntityId) -> usize {
        let Some(group) = self.get_mut(group) else {
            return 0;
        };
        group.members.push(entity);
        group.members.len() - 1
    }

    /// Removes the member at `place`. Returns the entity that takes its place, if there is one.
    pub(crate) fn remove_member(&mut self, group: GroupId, place: usize) -> Option<EntityId> {
        let group = self.get_mut(group).filter(|group| place < group.members.len())?;
        group.members.swap_remove(place);
        group.members.get(place).copied()
    }

    /// Lets `activation` run in its group, if the group [admits](Self::admits) it. The activation then also holds the
    /// group, unless another one does. Returns true if it runs.
    #[inline(always)]
    pub(crate) fn try_run(&mut self, activation: &Activation) -> bool {
        let Some(group) = self.get_mut(activation.group).filter(|group| group.admits(activation)) else {
            return false;
        };
        if group.kind == GroupKind::MutuallyExclusive {
            let was_free = group.is_free();
            group.running = activation.sequence;
            if group.holder == NOBODY {
                group.holder = activation.sequence;
            }
            self.held += usize::from(was_free);
        }
        true
    }

    /// Suspends `activation`, which keeps holding the group. Returns true if a guest may run in the group meanwhile;
    /// false for a reentrant group, which nobody holds.
    pub(crate) fn pause(&mut self, activation: &Activation) -> bool {
        match self.get_mut(activation.group) {
            Some(group) if group.running == activation.sequence => {
                group.running = NOBODY;
                let is_free = group.is_free();
                self.held -= usize::from(is_free);
                true
            }
            _ => false,
        }
    }

    /// Ends `activation`'s part in its group. Returns true if it ran in the group or held it.
    #[inline(always)]
    pub(crate) fn leave(&mut self, activation: &Activation) -> bool {
        let Some(group) = self.get_mut(activation.group) else {
            return false;
        };
        let ran = group.running == activation.sequence;
        let held = group.holder == activation.sequence;
        if ran {
            group.running = NOBODY;
        }
        if held {
            group.holder = NOBODY;
        }
        let is_freed = (ran || held) && group.is_free();
        self.held -= usize::from(is_freed);
        ran || held
    }

    #[inline(always)]
    fn get(&self, group: GroupId) -> Option<&GroupState> {
        self.slots.get(group.index(), group.generation())
    }

    #[inline(always)]
    fn get_mut(&mut self, group: GroupId) -> Option<&mut GroupState> {
        self.slots.get_mut(group.index(), group.generation())
    }
}

impl GroupState {
    const fn is_free(&self) -> bool {
        self.holder == NOBODY && self.running == NOBODY
    }

    #[inline(always)]
    fn admits(&self, activation: &Activation) -> bool {
        let is_for_it = self.holder == NOBODY || self.holder == activation.sequence || activation.precedes_all;
        self.running == NOBODY && is_for_it
    }
}
