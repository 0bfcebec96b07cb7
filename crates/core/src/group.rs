//! Callback groups and who holds them.

use crate::activation::Activation;
use crate::id::{EntityId, GroupId, Slots};

/// Whether callbacks of a group exclude each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum GroupKind {
    /// One callback at a time.
    MutuallyExclusive,
    /// Any number at a time.
    Reentrant,
}

/// Instead of the sequence number of an activation. All activations of a scheduler have different ones.
const NOBODY: u64 = u64::MAX;

/// A mutually exclusive group is free, or held: by an activation that runs, or by one that is suspended. While its holder is
/// suspended, one that [precedes all](crate::EntitySpec::precedes_all) may run in it as a guest, and the holder waits.
#[derive(Debug)]
struct GroupState {
    kind: GroupKind,
    /// A sequence number: from the start of that activation to its end, or to its suspension if its entity gives the group
    /// away then. Of a reentrant group, always nobody.
    holder: u64,
    /// A sequence number: the holder's or a guest's, while a thread has it. Of a reentrant group, always nobody.
    running: u64,
    /// Its entities, in no particular order.
    members: Vec<EntityId>,
}

/// The groups of a scheduler, as a policy sees them.
#[derive(Debug)]
pub struct Groups {
    slots: Slots<GroupState>,
}

impl Groups {
    pub(crate) const fn new() -> Self {
        Self { slots: Slots::new() }
    }

    /// Whether `activation` may start or go on now: its group is reentrant, or none of its callbacks runs and nobody else holds
    /// it. Who holds it does not matter to what [precedes all](crate::EntitySpec::precedes_all).
    #[must_use]
    pub fn admits(&self, activation: &Activation) -> bool {
        self.get(activation.group).is_some_and(|group| group.admits(activation))
    }

    /// Whether a new activation of the group may start.
    #[must_use]
    pub fn is_free(&self, group: GroupId) -> bool {
        self.get(group).is_some_and(|group| group.holder == NOBODY && group.running == NOBODY)
    }

    /// The kind of the group, `None` if it was removed.
    #[must_use]
    pub fn kind(&self, group: GroupId) -> Option<GroupKind> {
        self.get(group).map(|group| group.kind)
    }

    pub(crate) fn add(&mut self, kind: GroupKind) -> GroupId {
        let (index, generation) =
            self.slots.insert(GroupState { kind, holder: NOBODY, running: NOBODY, members: Vec::new() });
        GroupId::new(index, generation)
    }

    pub(crate) fn remove(&mut self, group: GroupId) -> bool {
        self.slots.remove(group.index(), group.generation()).is_some()
    }

    /// The group's entities, in no particular order.
    pub(crate) fn members(&self, group: GroupId) -> &[EntityId] {
        self.get(group).map_or(&[], |group| &group.members)
    }

    /// Enters an entity of the group; returns its place among the [members](Self::members).
    pub(crate) fn add_member(&mut self, group: GroupId, entity: EntityId) -> usize {
        let Some(group) = self.get_mut(group) else {
            return 0;
        };
        group.members.push(entity);
        group.members.len() - 1
    }

    /// Strikes out the member at `place`; returns the entity that is there now, if it is another one.
    pub(crate) fn remove_member(&mut self, group: GroupId, place: usize) -> Option<EntityId> {
        let group = self.get_mut(group).filter(|group| place < group.members.len())?;
        group.members.swap_remove(place);
        group.members.get(place).copied()
    }

    /// Has `activation` run in its group, if that [admits](Self::admits) it, and hold it unless it is held; says whether it runs.
    pub(crate) fn try_run(&mut self, activation: &Activation) -> bool {
        let Some(group) = self.get_mut(activation.group).filter(|group| group.admits(activation)) else {
            return false;
        };
        if group.kind == GroupKind::MutuallyExclusive {
            group.running = activation.sequence;
            if group.holder == NOBODY {
                group.holder = activation.sequence;
            }
        }
        true
    }

    /// The activation that runs in the group and holds it hands both on to `next`; nothing to do for a reentrant one.
    pub(crate) fn hand_on(&mut self, next: &Activation) {
        if let Some(group) = self.get_mut(next.group)
            && group.kind == GroupKind::MutuallyExclusive
        {
            group.running = next.sequence;
            group.holder = next.sequence;
        }
    }

    /// `activation` is suspended and keeps what it holds; says whether something else may run in the group meanwhile.
    pub(crate) fn pause(&mut self, activation: &Activation) -> bool {
        match self.get_mut(activation.group) {
            Some(group) if group.running == activation.sequence => {
                group.running = NOBODY;
                true
            }
            _ => false,
        }
    }

    /// `activation` neither runs nor holds its group any more; says whether it did either.
    pub(crate) fn leave(&mut self, activation: &Activation) -> bool {
        let Some(group) = self.get_mut(activation.group) else {
            return false;
        };
        let (ran, held) = (group.running == activation.sequence, group.holder == activation.sequence);
        if ran {
            group.running = NOBODY;
        }
        if held {
            group.holder = NOBODY;
        }
        ran || held
    }

    fn get(&self, group: GroupId) -> Option<&GroupState> {
        self.slots.get(group.index(), group.generation())
    }

    fn get_mut(&mut self, group: GroupId) -> Option<&mut GroupState> {
        self.slots.get_mut(group.index(), group.generation())
    }
}

impl GroupState {
    fn admits(&self, activation: &Activation) -> bool {
        let is_for_it = self.holder == NOBODY || self.holder == activation.sequence || activation.precedes_all;
        self.running == NOBODY && is_for_it
    }
}
