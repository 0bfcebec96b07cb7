//! A ready set in a total order, for policies that only differ in how they compare activations.

use super::holders::Holders;
use super::places::{Places, room_for};
use super::private::Hooks;
use super::queue::{EntityOf, Entry, First, Queue};
use super::ring::Rotated;
use super::{Named, Order, Policy, View};
use crate::activation::Activation;
use crate::entity::EntitySpec;
use crate::group::Groups;
use crate::id::{EntityId, GroupId};
use crate::time::Instant;

/// The policy that runs the ready activation with the smallest key of an [`Order`].
///
/// It has priority inheritance (Sha, Rajkumar and Lehoczky 1990). A suspended callback may hold its mutually exclusive
/// group while other activations of the group are ready. Once it is resumed, it has the order of the most urgent of
/// them, tie-breakers included, if that is more urgent than its own. Without that, less urgent callbacks of other
/// groups could keep an urgent activation waiting without bound: priority inversion. The inheritance ends when the
/// callback ends or is suspended again, or when no activation waits any more. Callbacks that [release their
/// group](EntitySpec::releases_group_at_await) hold nothing and inherit nothing.
///
/// Activations that wait for a held group have a queue of their own, so that a pick never searches past them. The
/// invariant: if a group is free and has ready activations, the best of them is in `ready`. The group is checked only
/// when an activation comes to the top of `ready`. If the group is held, the activation goes to the group's queue, and
/// the holder inherits its order.
pub struct Ordered<O: Order> {
    order: O,
    places: Places,
    /// The activations that may run, or were not found to be blocked yet, without the holders.
    ready: Queue<O::Key>,
    /// Resumed segments that hold their group, and at most one of each reentrant group.
    holders: Holders<O::Key>,
    /// The activations that wait for each group, by group index.
    groups: Vec<Waiting<O::Key>>,
    /// True if the entity's suspended activations hold their group, provided that the group is mutually exclusive; by
    /// entity index.
    keeps_group: Vec<bool>,
    /// True if the activation at a place waits for its group, by place.
    is_blocked: Vec<bool>,
    /// The number of activations that wait for their groups, without stale ones. In most executors none waits most of
    /// the time.
    waiting: usize,
}

/// The activations that wait for a group.
struct Waiting<K> {
    /// Ready activations that found the group held.
    blocked: Queue<K>,
    /// The number of activations of the group that can be ready at once, for which `blocked` needs room.
    room: usize,
    /// The place of the resumed segment that holds the group, while it waits for an activation that [precedes
    /// all](EntitySpec::precedes_all) and runs in the group meanwhile.
    parked: Option<u32>,
}

impl<O: Order + Default> Ordered<O> {
    /// Creates an empty ready set.
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
    /// Creates an empty ready set in the given order.
    #[must_use]
    pub const fn with(order: O) -> Self {
        Self {
            order,
            places: Places::new(),
            ready: Queue::new(),
            holders: Holders::new(),
            groups: Vec::new(),
            keeps_group: Vec::new(),
            is_blocked: Vec::new(),
            waiting: 0,
        }
    }

    #[inline(always)]
    fn entry(&self, activation: &Activation, place: u32) -> Entry<O::Key> {
        let key = self.order.key(activation);
        let entity = EntityOf::new(activation);
        Entry { key, tie_breaker: activation.tie_breaker(), place, entity }
    }

    /// Makes an activation of the group a candidate again: the holder if it is parked, or else the best blocked
    /// activation. Called when the group was freed, or may be free although its candidate was withdrawn. If it is held
    /// after all, the next pick blocks the activation again.
    fn promote(&mut self, group: GroupId) {
        let Some(waiting) = self.groups.get_mut(group.index()) else {
            return;
        };
        if let Some(place) = waiting.parked.take() {
            self.waiting -= 1;
            let entry = self.with_inheritance(group, place);
            self.holders.push(group, entry);
        } else if let Some(First { place, .. }) = waiting.blocked.first_valid(&self.places) {
            waiting.blocked.drop_first();
            self.is_blocked[place as usize] = false;
            self.waiting -= 1;
            self.ready.push(self.entry(&self.places.activation(place), place));
        }
    }

    /// Returns the entry of the resumed segment at `place`, which holds its group: with its own order, or with the
    /// order of the best activation that is known to be blocked by it.
    fn with_inheritance(&mut self, group: GroupId, place: u32) -> Entry<O::Key> {
        let own = self.entry(&self.places.activation(place), place);
        let blocked = self.groups.get_mut(group.index()).and_then(|waiting| waiting.blocked.first_valid(&self.places));
        match blocked.filter(|blocked| !own.precedes(blocked)).map(|blocked| blocked.place) {
            Some(blocked) => self.entry(&self.places.activation(blocked), place),
            None => own,
        }
    }

    /// Puts the activation at `place`, which was just taken from the top of `ready`, into the queue of its group, which
    /// is held.
    #[cold]
    fn block(&mut self, place: u32) {
        self.is_blocked[place as usize] = true;
        self.waiting += 1;
        let activation = self.places.activation(place);
        let group = activation.group;
        if self.holders.has(group) {
            // The activation came before everything that is ready, so also before the holder, which inherits its order.
            let inherited = self.entry(&activation, place);
            self.holders.change(group, |place| Entry { place, ..inherited });
        }
        let entry = self.entry(&activation, place);
        self.groups[group.index()].blocked.push(entry);
    }

    /// Takes out the first ready activation that may run in its group now. Returns `None` if there is none.
    fn pick_best(&mut self, view: &mut View<'_>) -> Option<Activation> {
        loop {
            if !self.holders.is_empty() && self.holder_is_next() {
                let place = self.holders.pop()?;
                let activation = self.places.activation(place);
                if view.groups.admits(&activation) {
                    self.places.free(place);
                    return Some(activation);
                }
                self.groups[activation.group.index()].parked = Some(place);
                self.waiting += 1;
                continue;
            }
            let (place, sequence) = self.ready.pop()?;
            if !self.places.has(place, sequence) {
                self.ready.was_stale();
                continue;
            }
            let activation = self.places.activation(place);
            if view.groups.admits(&activation) {
                self.places.free(place);
                return Some(activation);
            }
            self.block(place);
        }
    }

    /// Returns the first activation of `ready`, unless that is a resumed one.
    #[inline(always)]
    fn named(&self) -> Option<Named> {
        let First { tie_breaker: (release, ..), entity, .. } = self.ready.first()?;
        self.name(*release, entity)
    }

    /// Names an activation, unless it is a resumed one.
    #[inline(always)]
    fn name(&self, release: Instant, entity: EntityOf) -> Option<Named> {
        let named = Named::new(entity.index(), release).with_later_behind(self.ready.begins_with_least_key());
        (!entity.is_resumed()).then_some(named)
    }

    /// Returns true if a holder comes before everything in `ready`.
    fn holder_is_next(&self) -> bool {
        match (self.holders.first(), self.ready.first()) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(holder), Some(ready)) => holder.precedes(&ready),
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
        self.is_blocked.resize(self.places.len(), false);
        if let Some(key) = self.order.key_of_all(spec) {
            self.ready.lanes().widen(key, room_for(spec));
        } else {
            self.ready.lanes().have_not_all();
        }
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
        // An activation that precedes all can run while another one holds the group. It does not inherit.
        self.keeps_group[id.index()] = !spec.releases_group_at_await && !spec.precedes_all;
    }

    fn unregister(&mut self, id: EntityId, spec: &EntitySpec) {
        self.places.unregister(id);
        if let Some(key) = self.order.key_of_all(spec) {
            self.ready.lanes().narrow(&key, room_for(spec));
        }
        self.groups[spec.group.index()].room -= room_for(spec);
    }

    fn release(&mut self, activation: &Activation) {
        let place = self.places.insert(activation);
        let group = activation.group;
        let holds = activation.segment > 0
            && self.keeps_group.get(activation.entity.index()).is_some_and(|keeps| *keeps)
            // A mutually exclusive group has at most one holder. In a reentrant group nothing waits, so that the order
            // does not matter.
            && !self.holders.has(group);
        if holds {
            let entry = self.with_inheritance(group, place);
            self.holders.push(group, entry);
        } else {
            self.ready.push(self.entry(activation, place));
        }
    }

    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        self.pick_best(view)
    }

    fn group_freed(&mut self, group: GroupId) {
        if self.waiting > 0 {
            self.promote(group);
        }
    }

    fn withdraw(&mut self, activation: &Activation) {
        let Some(place) = self.places.find(activation) else {
            return;
        };
        let group = activation.group;
        let was_blocked = std::mem::take(&mut self.is_blocked[place as usize]);
        self.places.remove(place);
        let waiting = &mut self.groups[group.index()];
        if waiting.parked.take_if(|parked| *parked == place).is_some() {
            self.waiting -= 1;
            return;
        }
        if self.holders.remove(group, place) {
            return;
        }
        if was_blocked {
            self.waiting -= 1;
            self.groups[group.index()].blocked.one_is_stale(&self.places);
        } else {
            self.ready.one_is_stale(&self.places);
            // The withdrawn activation may have been the group's candidate.
            self.promote(group);
        }
        if let Some(holder) = self.holders.of(group) {
            // The holder may have inherited from the withdrawn activation.
            let entry = self.with_inheritance(group, holder);
            self.holders.change(group, |_| entry);
        }
    }

    fn has_candidates(&self) -> bool {
        self.ready.has_some() || !self.holders.is_empty()
    }

    fn with_hooks(self: Box<Self>) -> Box<dyn Hooks>
    where
        Self: 'static,
    {
        self
    }
}

impl<O: Order> Hooks for Ordered<O> {
    fn names_first(&self) -> bool {
        true
    }

    fn first(&self, groups: &Groups) -> Option<Named> {
        // While a group is held, its activations may have to wait.
        if self.waiting > 0 || !self.holders.is_empty() || self.ready.has_stale() || groups.any_held() {
            return None;
        }
        self.named()
    }

    fn replace_first(&mut self, next: Option<&Activation>) -> Option<Named> {
        // Nothing else has changed since the first one was named, so that the new first one can be named, too.
        let Some(next) = next else {
            let (place, _) = self.ready.pop()?;
            self.places.free(place);
            return self.named();
        };
        // The key may be a user's code. If it panics, nothing has changed.
        let Rotated { place, release, entity } = self.ready.replace_first(self.order.key(next), next.tie_breaker())?;
        self.places.replace(place, next);
        self.name(release, entity)
    }

    fn upcoming(&self, distance: usize) -> Option<usize> {
        self.ready.upcoming(distance)
    }

    fn visit_written(&self, visit: &mut dyn FnMut(*const u8)) {
        visit(self.places.written().cast());
        self.ready.visit_written(visit);
    }
}
