//! Places of ready activations: each activation has a place of its own, and is found by its entity.

use crate::activation::Activation;
use crate::entity::EntitySpec;
use crate::id::EntityId;

/// Number that stands for the end of a chain of places: no place has it.
const NONE: u32 = u32::MAX;

/// Value in a free place, instead of an activation's sequence number.
const NOBODY: u64 = u64::MAX;

/// The ready activations by place. The place of an activation stays the same while it is ready, and is reused afterwards.
///
/// The activations of one entity are chained, so that an activation is found without searching those of other entities. Most
/// entities have only one.
pub(super) struct Places {
    slots: Vec<Slot>,
    /// The free places.
    free: Vec<u32>,
    /// The first place of each entity's chain, by entity index.
    first: Vec<u32>,
    /// The number of activations that can be ready at once.
    room: usize,
}

/// Place of a ready activation, or a free place.
pub(super) struct Slot {
    /// The activation. While the place is free, only its sequence number is valid, which is [`NOBODY`].
    pub(super) activation: Activation,
    /// The next place in the chain of the same entity.
    next: u32,
    /// True if the activation waits for its group, in policies that keep such activations apart.
    pub(super) is_blocked: bool,
}

/// Returns the number of places that an entity needs: for its released activation and its resumed segments.
pub(super) fn room_for(spec: &EntitySpec) -> usize {
    spec.max_in_flight as usize + 1
}

impl Places {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), first: Vec::new(), room: 0 }
    }

    /// Makes room for the activations of one more entity. Returns the number of activations, of all entities together, that
    /// there is room for now.
    pub(super) fn register(&mut self, id: EntityId, spec: &EntitySpec) -> usize {
        self.room += room_for(spec);
        self.slots.reserve(self.room.saturating_sub(self.slots.len()));
        self.free.reserve(self.room.saturating_sub(self.free.len()));
        self.know(id);
        self.room
    }

    pub(super) fn unregister(&mut self, spec: &EntitySpec) {
        self.room = self.room.saturating_sub(room_for(spec));
    }

    /// Adds an activation. Returns its place.
    #[inline(always)]
    pub(super) fn insert(&mut self, activation: &Activation) -> u32 {
        if activation.entity.index() >= self.first.len() {
            self.know(activation.entity);
        }
        let first = &mut self.first[activation.entity.index()];
        let place = match self.free.pop() {
            Some(place) => {
                let slot = &mut self.slots[place as usize];
                slot.activation = *activation;
                slot.next = *first;
                slot.is_blocked = false;
                place
            }
            None => {
                self.slots.push(Slot { activation: *activation, next: *first, is_blocked: false });
                // The number fits: four billion ready activations would not fit into memory.
                (self.slots.len() - 1) as u32
            }
        };
        *first = place;
        place
    }

    /// Returns the slot of the place; `None` if another activation than the one with that sequence number has it by now, or
    /// none.
    #[inline]
    pub(super) fn get(&mut self, place: u32, sequence: u64) -> Option<&mut Slot> {
        self.slots.get_mut(place as usize).filter(|slot| slot.activation.sequence == sequence)
    }

    /// Returns the activation at a place that is taken.
    pub(super) fn activation(&self, place: u32) -> &Activation {
        &self.slots[place as usize].activation
    }

    /// Frees a place that is taken. Returns its activation.
    #[inline(always)]
    pub(super) fn remove(&mut self, place: u32) -> Activation {
        let slot = &mut self.slots[place as usize];
        let (activation, after) = (slot.activation, slot.next);
        slot.activation.sequence = NOBODY;
        let first = &mut self.first[activation.entity.index()];
        if *first == place {
            *first = after;
        } else {
            let first = *first;
            self.unchain(place, first, after);
        }
        self.free.push(place);
        activation
    }

    /// Takes a place out of the middle of its chain, which begins at `first` and goes on at `after`.
    #[cold]
    fn unchain(&mut self, place: u32, first: u32, after: u32) {
        let mut before = first as usize;
        while self.slots[before].next != place {
            before = self.slots[before].next as usize;
        }
        self.slots[before].next = after;
    }

    /// Returns the place of a ready activation; `None` if it is not here.
    pub(super) fn find(&self, activation: &Activation) -> Option<u32> {
        let mut place = *self.first.get(activation.entity.index())?;
        while place != NONE {
            let slot = &self.slots[place as usize];
            if slot.activation.sequence == activation.sequence {
                return Some(place);
            }
            place = slot.next;
        }
        None
    }

    /// Returns true if no activation is ready.
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Makes room for the chain of an entity.
    #[cold]
    fn know(&mut self, id: EntityId) {
        if self.first.len() <= id.index() {
            self.first.resize(id.index() + 1, NONE);
        }
    }
}
