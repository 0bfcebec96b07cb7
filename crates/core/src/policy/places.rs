//! Places of ready activations: each entity has places of its own, so that an activation is found by its entity.

use std::collections::BTreeMap;

use crate::activation::Activation;
use crate::entity::{EntityKind, EntitySpec, Priority};
use crate::id::{EntityId, GroupId};
use crate::time::Instant;

/// Value in a free place, instead of an activation's sequence number.
const NOBODY: u64 = u64::MAX;

/// The ready activations by place. The place of an activation stays the same while it is ready, and is reused
/// afterwards.
///
/// An entity has a block of places: the first one is for its released activation, of which there is one at most, and
/// the others are for its resumed segments.
pub(super) struct Places {
    /// The release and the number of the activation at each place. Most steps need nothing else of it, so that they are
    /// in a list of their own.
    latest: Vec<Latest>,
    /// All other data of the activation at each place.
    slots: Vec<Slot>,
    /// The block of each entity, by entity index.
    blocks: Vec<Block>,
    /// The first places of blocks that no entity has, by the length of the block.
    unused: BTreeMap<u32, Vec<u32>>,
    /// The number of places that are taken.
    taken: usize,
    /// The number of places of all entities.
    room: usize,
}

/// The places of an entity.
#[derive(Clone, Copy)]
struct Block {
    first: u32,
    /// The number of places; 0 if no entity has the block.
    len: u32,
}

/// The release and the number of the activation at a place. In a free place, the number is [`NOBODY`].
#[derive(Clone, Copy)]
struct Latest {
    release: Instant,
    sequence: u64,
}

/// An activation, without what [`Latest`] has of it: a cache line.
#[repr(align(64))]
struct Slot(Activation);

/// Returns the number of places that an entity needs: for its released activation and its resumed segments.
pub(super) fn room_for(spec: &EntitySpec) -> usize {
    spec.max_in_flight as usize + 1
}

impl Places {
    pub(super) const fn new() -> Self {
        Self { latest: Vec::new(), slots: Vec::new(), blocks: Vec::new(), unused: BTreeMap::new(), taken: 0, room: 0 }
    }

    /// Makes room for the activations of one more entity. Returns the number of activations, of all entities together,
    /// that there is room for now.
    pub(super) fn register(&mut self, id: EntityId, spec: &EntitySpec) -> usize {
        let len = room_for(spec) as u32;
        self.room += len as usize;
        let first = self.unused.get_mut(&len).and_then(Vec::pop).unwrap_or_else(|| {
            // The number fits: four billion ready activations would not fit into memory.
            let first = self.slots.len() as u32;
            let places = self.slots.len() + len as usize;
            self.slots.resize_with(places, || Slot(nobody(id, spec.group)));
            self.latest.resize(places, Latest { release: Instant::ZERO, sequence: NOBODY });
            first
        });
        if self.blocks.len() <= id.index() {
            self.blocks.resize(id.index() + 1, Block { first: 0, len: 0 });
        }
        self.blocks[id.index()] = Block { first, len };
        self.room
    }

    /// Takes the places of an entity back, none of which is taken.
    pub(super) fn unregister(&mut self, id: EntityId) {
        let Block { first, len } = std::mem::replace(&mut self.blocks[id.index()], Block { first: 0, len: 0 });
        self.room = self.room.saturating_sub(len as usize);
        self.unused.entry(len).or_default().push(first);
    }

    /// Returns the number of places that there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Adds an activation. Returns its place.
    ///
    /// # Panics
    /// If its entity is not registered, or has more activations than its [`EntitySpec`] allows.
    #[inline(always)]
    pub(super) fn insert(&mut self, activation: &Activation) -> u32 {
        let Block { first, len } = self.blocks[activation.entity.index()];
        let place = if activation.segment == 0 { first } else { self.free_place(first, len) };
        let slot = &mut self.slots[place as usize].0;
        if slot.registration == activation.registration {
            // Everything else is the same for all activations of an entity.
            (slot.deadline, slot.segment) = (activation.deadline, activation.segment);
        } else {
            *slot = *activation;
        }
        self.latest[place as usize] = Latest { release: activation.release, sequence: activation.sequence };
        self.taken += 1;
        place
    }

    /// Returns a free place for a resumed segment in the block of an entity.
    #[cold]
    fn free_place(&self, first: u32, len: u32) -> u32 {
        let mut places = first + 1..first + len;
        let free = places.find(|place| self.latest[*place as usize].sequence == NOBODY);
        free.expect("an entity has no more resumed segments than activations in flight")
    }

    /// Returns true if the activation with that sequence number has the place.
    #[inline(always)]
    pub(super) fn has(&self, place: u32, sequence: u64) -> bool {
        self.latest.get(place as usize).is_some_and(|latest| latest.sequence == sequence)
    }

    /// Returns the activation at a place that is taken.
    #[inline(always)]
    pub(super) fn activation(&self, place: u32) -> Activation {
        let Latest { release, sequence } = self.latest[place as usize];
        Activation { release, sequence, ..self.slots[place as usize].0 }
    }

    /// Replaces the released activation at the place by the next one of the same entity, which must have the same
    /// deadline.
    #[inline(always)]
    pub(super) fn replace(&mut self, place: u32, next: &Activation) {
        debug_assert!(self.slots[place as usize].0.deadline == next.deadline, "the deadline stays the same");
        self.latest[place as usize] = Latest { release: next.release, sequence: next.sequence };
    }

    /// Frees a place that is taken.
    #[inline(always)]
    pub(super) fn free(&mut self, place: u32) {
        self.latest[place as usize].sequence = NOBODY;
        self.taken -= 1;
    }

    /// Frees a place that is taken. Returns its activation.
    #[inline(always)]
    pub(super) fn remove(&mut self, place: u32) -> Activation {
        let activation = self.activation(place);
        self.free(place);
        activation
    }

    /// Returns the place of a ready activation; `None` if it is not here.
    pub(super) fn find(&self, activation: &Activation) -> Option<u32> {
        let Block { first, len } = *self.blocks.get(activation.entity.index())?;
        (first..first + len).find(|place| self.has(*place, activation.sequence))
    }

    /// Returns the address of what is written whenever an activation comes or goes, besides its place.
    pub(super) const fn written(&self) -> *const usize {
        &raw const self.taken
    }
}

/// Returns what a place has that was never taken. No activation has this registration.
fn nobody(entity: EntityId, group: GroupId) -> Activation {
    Activation {
        entity,
        group,
        kind: EntityKind::Waitable,
        priority: Priority(0),
        release: Instant::ZERO,
        deadline: Instant::MAX,
        registration: u64::MAX,
        sequence: NOBODY,
        segment: 0,
        precedes_all: false,
    }
}
