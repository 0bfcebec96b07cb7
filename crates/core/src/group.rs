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

/// The activation that holds a mutually exclusive group.
type Holder = (EntityId, u64);

#[derive(Debug)]
struct GroupState {
    kind: GroupKind,
    holder: Option<Holder>,
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

    /// Whether `activation` may start or go on now: its group is reentrant, free, or held by itself.
    #[must_use]
    pub fn admits(&self, activation: &Activation) -> bool {
        match self.get(activation.group) {
            None => false,
            Some(group) => match group.holder {
                None => true,
                Some(holder) => holder == (activation.entity, activation.sequence),
            },
        }
    }

    /// Whether a new activation of the group may start.
    #[must_use]
    pub fn is_free(&self, group: GroupId) -> bool {
        self.get(group).is_some_and(|group| group.holder.is_none())
    }

    /// The kind of the group, `None` if it was removed.
    #[must_use]
    pub fn kind(&self, group: GroupId) -> Option<GroupKind> {
        self.get(group).map(|group| group.kind)
    }

    pub(crate) fn add(&mut self, kind: GroupKind) -> GroupId {
        let (index, generation) = self.slots.insert(GroupState { kind, holder: None });
        GroupId::new(index, generation)
    }

    pub(crate) fn remove(&mut self, group: GroupId) -> bool {
        self.slots.remove(group.index(), group.generation()).is_some()
    }

    /// Marks the group as held by `activation`; nothing to do for a reentrant one.
    pub(crate) fn hold(&mut self, activation: &Activation) {
        if let Some(group) = self.get_mut(activation.group)
            && group.kind == GroupKind::MutuallyExclusive
        {
            group.holder = Some((activation.entity, activation.sequence));
        }
    }

    /// Frees the group if `activation` holds it; says whether it did.
    pub(crate) fn free(&mut self, activation: &Activation) -> bool {
        match self.get_mut(activation.group) {
            Some(group) if group.holder == Some((activation.entity, activation.sequence)) => {
                group.holder = None;
                true
            }
            _ => false,
        }
    }

    fn get(&self, group: GroupId) -> Option<&GroupState> {
        self.slots.get(group.index(), group.generation())
    }

    fn get_mut(&mut self, group: GroupId) -> Option<&mut GroupState> {
        self.slots.get_mut(group.index(), group.generation())
    }
}
