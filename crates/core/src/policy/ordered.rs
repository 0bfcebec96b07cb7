//! A ready set in a total order: what all of rospin's own policies share.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::{Policy, View};
use crate::activation::Activation;
use crate::entity::EntitySpec;
use crate::id::{EntityId, GroupId};
use crate::time::Instant;

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

/// What orders an activation, and where it is. Small, since a heap moves its entries about.
struct Entry<K> {
    key: K,
    tie_breaker: (Instant, u64, u64),
    /// In [`Ordered::activations`].
    at: u32,
}

impl<K: Ord> Entry<K> {
    fn precedes(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Greater
    }
}

impl<K: Ord> Ord for Entry<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        // Reversed: `BinaryHeap` pops the greatest.
        other.key.cmp(&self.key).then_with(|| other.tie_breaker.cmp(&self.tie_breaker))
    }
}

impl<K: Ord> PartialOrd for Entry<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord> PartialEq for Entry<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<K: Ord> Eq for Entry<K> {}

type Heap<K> = BinaryHeap<Entry<K>>;

/// The policy that runs the ready activation with the smallest key of an [`Order`].
///
/// Activations of a group that is held wait in a heap of their own, so that picking never searches past them. The
/// invariant: if a group is free and has ready activations, the best of them is in `ready`.
pub struct Ordered<O: Order> {
    order: O,
    /// Those that are ready, and stale ones in the places that are free.
    activations: Vec<Activation>,
    /// Free places in `activations`.
    free: Vec<u32>,
    ready: Heap<O::Key>,
    /// By group index.
    blocked: Vec<Heap<O::Key>>,
    /// How many activations can be ready at once: the room to keep in `ready`.
    room: usize,
    /// The same by group index, for `blocked`.
    room_by_group: Vec<usize>,
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
            activations: Vec::new(),
            free: Vec::new(),
            ready: BinaryHeap::new(),
            blocked: Vec::new(),
            room: 0,
            room_by_group: Vec::new(),
        }
    }

    fn entry(&self, activation: &Activation, at: u32) -> Entry<O::Key> {
        Entry { key: self.order.key(activation), tie_breaker: activation.tie_breaker(), at }
    }

    /// Makes the best blocked activation of a group that may be free a candidate again.
    fn promote(&mut self, group: GroupId) {
        if let Some(entry) = self.blocked.get_mut(group.index()).and_then(BinaryHeap::pop) {
            self.ready.push(entry);
        }
    }
}

/// An entity's released activation and its resumed segments.
fn room_for(spec: &EntitySpec) -> usize {
    spec.max_in_flight as usize + 1
}

impl<O: Order> Policy for Ordered<O> {
    fn name(&self) -> &'static str {
        self.order.name()
    }

    fn register(&mut self, _: EntityId, spec: &EntitySpec) {
        let group = spec.group.index();
        if self.blocked.len() <= group {
            self.blocked.resize_with(group + 1, BinaryHeap::new);
            self.room_by_group.resize(group + 1, 0);
        }
        self.room += room_for(spec);
        self.room_by_group[group] += room_for(spec);
        self.activations.reserve(self.room.saturating_sub(self.activations.len()));
        self.free.reserve(self.room.saturating_sub(self.free.len()));
        reserve(&mut self.ready, self.room);
        reserve(&mut self.blocked[group], self.room_by_group[group]);
    }

    fn unregister(&mut self, _: EntityId, spec: &EntitySpec) {
        self.room -= room_for(spec);
        self.room_by_group[spec.group.index()] -= room_for(spec);
    }

    fn release(&mut self, activation: Activation) {
        let at = match self.free.pop() {
            Some(at) => {
                self.activations[at as usize] = activation;
                at
            }
            None => {
                self.activations.push(activation);
                // Four billion ready activations do not fit in memory.
                (self.activations.len() - 1) as u32
            }
        };
        self.ready.push(self.entry(&activation, at));
    }

    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        while let Some(entry) = self.ready.pop() {
            let activation = &self.activations[entry.at as usize];
            if view.groups.admits(activation) {
                self.free.push(entry.at);
                return Some(*activation);
            }
            self.blocked[activation.group.index()].push(entry);
        }
        None
    }

    fn group_freed(&mut self, group: GroupId) {
        self.promote(group);
    }

    fn withdraw(&mut self, activation: &Activation) {
        let Self { activations, free, ready, blocked, .. } = self;
        let mut keep = |entry: &Entry<O::Key>| {
            let is_it = activations[entry.at as usize].sequence == activation.sequence;
            if is_it {
                free.push(entry.at);
            }
            !is_it
        };
        ready.retain(&mut keep);
        if let Some(blocked) = blocked.get_mut(activation.group.index()) {
            blocked.retain(keep);
        }
        // It may have been the group's candidate.
        self.promote(activation.group);
    }

    fn has_candidates(&self) -> bool {
        !self.ready.is_empty()
    }

    fn would_pick(&self, activation: &Activation) -> bool {
        let entry = self.entry(activation, 0);
        let precedes = |other: Option<&Entry<O::Key>>| other.is_none_or(|other| entry.precedes(other));
        // The best of another group that is held counts, too: then the answer is no although it might be yes.
        precedes(self.ready.peek()) && precedes(self.blocked.get(activation.group.index()).and_then(BinaryHeap::peek))
    }
}

fn reserve<K: Ord>(heap: &mut Heap<K>, room: usize) {
    heap.reserve(room.saturating_sub(heap.len()));
}
