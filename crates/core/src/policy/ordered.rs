//! A ready set in a total order: what all of rospin's own policies share.

use super::holders::Holders;
use super::places::{Places, room_for};
use super::queue::{Entry, Queue};
use super::{Policy, View};
use crate::activation::Activation;
use crate::entity::EntitySpec;
use crate::id::{EntityId, GroupId};

/// How a policy compares activations.
///
/// ```
/// use rospin_core::{Activation, EntityKind, Order, policy::Ordered};
///
/// /// Services before everything else.
/// #[derive(Default)]
/// struct ServicesFirst;
///
/// impl Order for ServicesFirst {
///     type Key = bool;
///     fn name(&self) -> &'static str {
///         "services-first"
///     }
///     fn key(&self, activation: &Activation) -> bool {
///         activation.kind != EntityKind::Service
///     }
/// }
///
/// let policy = Ordered::<ServicesFirst>::new();
/// # let _: Box<dyn rospin_core::Policy> = Box::new(policy);
/// ```
pub trait Order: Send {
    /// The smallest key runs first; equal keys by release, registration, sequence.
    type Key: Ord + Send;

    /// Name for tables and traces.
    fn name(&self) -> &'static str;

    /// The key of an activation; must stay the same while it is ready.
    fn key(&self, activation: &Activation) -> Self::Key;
}

/// The policy that runs the ready activation with the smallest key of an [`Order`].
///
/// A suspended callback that holds its mutually exclusive group inherits: once it is resumed, it is as urgent as the most
/// urgent of itself and the ready activations of that group, for these wait for it; with all that orders them, tie-breakers
/// included. Otherwise what is neither as urgent as they, nor waits for anybody, could keep them waiting without bound (the
/// priority inheritance protocol of Sha, Rajkumar and Lehoczky 1990). It ends when the callback ends or is suspended again,
/// or when nobody waits any more. Callbacks that
/// [give their group away](EntitySpec::releases_group_at_await) hold nothing, and inherit nothing.
///
/// Activations of a group that is held wait in a queue of their own, so that picking never searches past them. The
/// invariant: if a group is free and has ready activations, the best of them is in `ready`. Nobody looks whether a group is
/// held before an activation comes to the top of `ready`; then it goes to that queue, and its holder inherits.
pub struct Ordered<O: Order> {
    order: O,
    places: Places,
    /// What may run, and what has not been found to be blocked; without the holders.
    ready: Queue<O::Key>,
    /// Resumed segments that hold their group.
    holders: Holders<O::Key>,
    /// By group index.
    groups: Vec<Waiting<O::Key>>,
    /// By entity index: whether its suspended activations hold their group, should it be mutually exclusive.
    keeps_group: Vec<bool>,
}

/// What waits for a group.
struct Waiting<K> {
    /// Ready activations that found the group held.
    blocked: Queue<K>,
    /// How many activations of the group can be ready at once: the room to keep in `blocked`.
    room: usize,
    /// The place of the resumed segment that holds the group, while it waits for a guest to leave.
    parked: Option<u32>,
}

impl<O: Order + Default> Ordered<O> {
    /// An empty ready set.
    #[must_use]
    pub fn new() -> Self {
        Self::with(O::default())
    }
}

impl<O: Order + Default> Default for Ordered<O> {
    fn default() -> Self {
        Self::new()
    }
}

impl<O: Order> Ordered<O> {
    /// An empty ready set in the given order.
    #[must_use]
    pub const fn with(order: O) -> Self {
        Self {
            order,
            places: Places::new(),
            ready: Queue::new(),
            holders: Holders::new(),
            groups: Vec::new(),
            keeps_group: Vec::new(),
        }
    }

    /// Whether nothing is ready.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn entry(&self, activation: &Activation, place: u32) -> Entry<O::Key> {
        Entry { key: self.order.key(activation), tie_breaker: activation.tie_breaker(), place }
    }

    /// Makes the best blocked activation of a group that may be free a candidate again, or its holder, which must come first.
    fn promote(&mut self, group: GroupId) {
        let Some(waiting) = self.groups.get_mut(group.index()) else {
            return;
        };
        if let Some(place) = waiting.parked.take() {
            let entry = self.with_inheritance(group, place);
            self.holders.push(group, entry);
        } else if let Some(entry) = waiting.blocked.pop(&mut self.places) {
            if let Some(slot) = self.places.get(entry.place, entry.sequence()) {
                slot.is_blocked = false;
            }
            self.ready.push(entry);
        }
    }

    /// A resumed segment at `place`, which holds its group, in the order that it runs in: its own, or the order of the best
    /// that is known to be blocked by it.
    fn with_inheritance(&mut self, group: GroupId, place: u32) -> Entry<O::Key> {
        let own = self.entry(self.places.activation(place), place);
        let blocked = self.groups.get_mut(group.index()).and_then(|waiting| waiting.blocked.first(&mut self.places));
        match blocked.filter(|blocked| **blocked < own).map(|blocked| blocked.place) {
            Some(blocked) => self.entry(self.places.activation(blocked), place),
            None => own,
        }
    }

    /// What was the first of `ready` finds its group held.
    #[cold]
    fn block(&mut self, entry: Entry<O::Key>) {
        let Some(slot) = self.places.get(entry.place, entry.sequence()) else {
            return;
        };
        slot.is_blocked = true;
        let activation = &slot.activation;
        let group = activation.group;
        if self.holders.has(group) {
            // It came before all that is ready, and so before its holder.
            let (key, tie_breaker) = (self.order.key(activation), activation.tie_breaker());
            self.holders.change(group, |place| Entry { key, tie_breaker, place });
        }
        self.groups[group.index()].blocked.push(entry);
    }

    /// Whether a holder comes before everything in `ready`.
    fn holder_is_next(&self) -> bool {
        match (self.holders.first(), self.ready.peek()) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(holder), Some(ready)) => holder < ready,
        }
    }
}

impl<O: Order> Policy for Ordered<O> {
    fn name(&self) -> &'static str {
        self.order.name()
    }

    fn register(&mut self, id: EntityId, spec: &EntitySpec) {
        let room = self.places.register(id, spec);
        self.ready.reserve(room);
        let group = spec.group.index();
        if self.groups.len() <= group {
            self.groups.resize_with(group + 1, || Waiting { blocked: Queue::new(), room: 0, parked: None });
            self.holders.reserve(group + 1);
        }
        let waiting = &mut self.groups[group];
        waiting.room += room_for(spec);
        waiting.blocked.reserve(waiting.room);
        if self.keeps_group.len() <= id.index() {
            self.keeps_group.resize(id.index() + 1, false);
        }
        // What precedes all can run while somebody else holds the group, and inherits from nobody.
        self.keeps_group[id.index()] = !spec.releases_group_at_await && !spec.precedes_all;
    }

    fn unregister(&mut self, _: EntityId, spec: &EntitySpec) {
        self.places.unregister(spec);
        self.groups[spec.group.index()].room -= room_for(spec);
    }

    fn release(&mut self, activation: Activation) {
        let place = self.places.insert(&activation);
        let group = activation.group;
        let holds = activation.segment > 0
            && self.keeps_group.get(activation.entity.index()).is_some_and(|keeps| *keeps)
            // There is one in a mutually exclusive group. In a reentrant one nobody waits, and any order of theirs will do.
            && !self.holders.has(group);
        if holds {
            let entry = self.with_inheritance(group, place);
            self.holders.push(group, entry);
        } else {
            self.ready.push(self.entry(&activation, place));
        }
    }

    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        loop {
            if !self.holders.is_empty() && self.holder_is_next() {
                let place = self.holders.pop()?;
                let activation = self.places.activation(place);
                if view.groups.admits(activation) {
                    return Some(self.places.remove(place));
                }
                self.groups[activation.group.index()].parked = Some(place);
                continue;
            }
            let entry = self.ready.pop_any()?;
            let Some(slot) = self.places.get(entry.place, entry.sequence()) else {
                self.ready.was_stale();
                continue;
            };
            if view.groups.admits(&slot.activation) {
                return Some(self.places.remove(entry.place));
            }
            self.block(entry);
        }
    }

    fn group_freed(&mut self, group: GroupId) {
        // Most groups have nothing that waits.
        let waits = |waiting: &Waiting<O::Key>| !waiting.blocked.is_empty() || waiting.parked.is_some();
        if self.groups.get(group.index()).is_some_and(waits) {
            self.promote(group);
        }
    }

    fn withdraw(&mut self, activation: &Activation) {
        let Some(place) = self.places.find(activation) else {
            return;
        };
        let group = activation.group;
        let was_blocked = self.places.get(place, activation.sequence).is_some_and(|slot| slot.is_blocked);
        self.places.remove(place);
        let waiting = &mut self.groups[group.index()];
        if self.holders.remove(group, place) || waiting.parked.take_if(|parked| *parked == place).is_some() {
            return;
        }
        if was_blocked {
            self.groups[group.index()].blocked.one_is_stale(&mut self.places);
        } else {
            self.ready.one_is_stale(&mut self.places);
            // It may have been the group's candidate.
            self.promote(group);
        }
        if let Some(holder) = self.holders.of(group) {
            // It may have been the one that was inherited from.
            let entry = self.with_inheritance(group, holder);
            self.holders.change(group, |_| entry);
        }
    }

    fn has_candidates(&self) -> bool {
        self.ready.has_some() || !self.holders.is_empty()
    }

    fn orders_by_release(&self) -> bool {
        // Ties are broken by it, whatever the order is.
        true
    }

    fn would_pick(&self, activation: &Activation) -> bool {
        let entry = self.entry(activation, 0);
        let precedes = |other: Option<&Entry<O::Key>>| other.is_none_or(|other| entry < *other);
        // The best of another group that is held counts, too, and so does one that was withdrawn: then the answer is no
        // although it might be yes.
        precedes(self.ready.peek())
            && precedes(self.holders.first())
            && precedes(self.groups.get(activation.group.index()).and_then(|waiting| waiting.blocked.peek()))
    }
}
