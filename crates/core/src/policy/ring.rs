//! Ready activations in a row: the part of a lane in which they are in order.

use super::queue::{EntityOf, Entry, TieBreaker, precedes};
use crate::time::Instant;

/// The number of places before the end of a row at which an entry may still be put: moving so many takes less time than
/// a heap does. Entities whose items pile up become ready again a little out of order.
const REACH: usize = 8;

/// An entry of a lane: the order of an activation within the lane, and its place.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) tie_breaker: TieBreaker,
    pub(super) place: u32,
    /// The index of the entity, and whether the activation is resumed.
    pub(super) entity: EntityOf,
}

impl Item {
    #[inline(always)]
    pub(super) fn of<K>(entry: &Entry<K>) -> Self {
        Self { tie_breaker: entry.tie_breaker, place: entry.place, entity: entry.entity }
    }
}

/// Result of taking out the first entry and adding it again.
pub(super) struct Rotated {
    /// The place of that entry.
    pub(super) place: u32,
    /// The release of the entry that is first now.
    pub(super) release: Instant,
    /// The entity of the entry that is first now.
    pub(super) entity: EntityOf,
}

impl Rotated {
    /// Returns what is told of the entry that had `place`, when `first` is the first one now.
    #[inline(always)]
    pub(super) const fn before(first: &Item, place: u32) -> Self {
        Self { place, release: first.tie_breaker.0, entity: first.entity }
    }
}

/// Items in order, which come at the end and leave at the front.
pub(super) struct Ring {
    /// As many as a power of two, or none at all.
    items: Box<[Item]>,
    /// The index of the first item, before it is wrapped. It may wrap itself, since the number of items divides the
    /// number of indices.
    head: usize,
    pub(super) len: usize,
}

impl Ring {
    pub(super) fn new() -> Self {
        Self { items: Box::new([]), head: 0, len: 0 }
    }

    /// Returns the item at the position, counted from the front. There must be room for so many.
    #[inline(always)]
    pub(super) fn at(&self, position: usize) -> &Item {
        &self.items[self.head.wrapping_add(position) & (self.items.len() - 1)]
    }

    /// Returns the item at the front; `None` if the ring is empty.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<&Item> {
        if self.len == 0 { None } else { Some(self.at(0)) }
    }

    /// Returns the item at the end; `None` if the ring is empty.
    #[inline(always)]
    pub(super) fn last(&self) -> Option<&Item> {
        if self.len == 0 { None } else { Some(self.at(self.len - 1)) }
    }

    /// Returns true if there is room for the item, and no item comes after it.
    #[inline(always)]
    pub(super) fn ends_with(&self, item: &Item) -> bool {
        let is_in_order = self.last().is_none_or(|last| !precedes(&item.tie_breaker, &last.tie_breaker));
        is_in_order && self.len < self.items.len()
    }

    /// Appends an item, which the row may [end with](Self::ends_with).
    #[inline(always)]
    pub(super) fn append(&mut self, item: Item) {
        self.set(self.len, item);
        self.len += 1;
    }

    /// Adds an item that comes before the last one, if there is room, and if it belongs to the front or near the end.
    /// Returns true if it did.
    pub(super) fn insert(&mut self, item: Item) -> bool {
        if self.len == 0 || self.len == self.items.len() {
            return false;
        }
        if precedes(&item.tie_breaker, &self.at(0).tie_breaker) {
            self.head = self.head.wrapping_sub(1);
            self.set(0, item);
            self.len += 1;
            return true;
        }
        if self.len > REACH && precedes(&item.tie_breaker, &self.at(self.len - 1 - REACH).tie_breaker) {
            return false;
        }
        self.move_in(item);
        true
    }

    /// Adds an item where it belongs. The later ones move back. There must be room.
    #[inline(always)]
    fn move_in(&mut self, item: Item) {
        let items = &mut *self.items;
        let head = self.head;
        let mask = items.len() - 1;
        let mut place = self.len;
        while place > 0 {
            let before = items[head.wrapping_add(place - 1) & mask];
            if !precedes(&item.tie_breaker, &before.tie_breaker) {
                break;
            }
            items[head.wrapping_add(place) & mask] = before;
            place -= 1;
        }
        items[head.wrapping_add(place) & mask] = item;
        self.len += 1;
    }

    #[inline(always)]
    fn set(&mut self, position: usize, item: Item) {
        let at = self.head.wrapping_add(position) & (self.items.len() - 1);
        self.items[at] = item;
    }

    /// Takes out the first item, and appends it again with that tie-breaker, if that does not come before the one of
    /// the last item. Returns `None`, with nothing changed, if it does, or if there are no items.
    #[inline(always)]
    pub(super) fn rotate(&mut self, tie_breaker: TieBreaker) -> Option<Rotated> {
        if self.len == 0 {
            return None;
        }
        let mask = self.items.len().wrapping_sub(1);
        if self.len == 1 {
            let only = self.items.get_mut(self.head & mask)?;
            only.tie_breaker = tie_breaker;
            return Some(Rotated::before(only, only.place));
        }
        let end = self.head.wrapping_add(self.len);
        if precedes(&tie_breaker, &self.items.get(end.wrapping_sub(1) & mask)?.tie_breaker) {
            let (release, registration, sequence) = tie_breaker;
            return self.rotate_back(release, registration, sequence);
        }
        let Item { place, entity, .. } = *self.items.get(self.head & mask)?;
        *self.items.get_mut(end & mask)? = Item { tie_breaker, place, entity };
        self.head = self.head.wrapping_add(1);
        Some(Rotated::before(self.items.get(self.head & mask)?, place))
    }

    /// Does what [`rotate`](Self::rotate) does with a tie-breaker that comes before that of the last item, if it
    /// belongs near the end. It is given numbers, which fit into registers.
    #[inline(never)]
    fn rotate_back(&mut self, release: Instant, registration: u64, sequence: u64) -> Option<Rotated> {
        let tie_breaker = (release, registration, sequence);
        if self.len > REACH + 1 && precedes(&tie_breaker, &self.at(self.len - 1 - REACH).tie_breaker) {
            return None;
        }
        let Item { place, entity, .. } = *self.at(0);
        self.drop_first();
        self.move_in(Item { tie_breaker, place, entity });
        Some(Rotated::before(self.at(0), place))
    }

    /// Takes out the first item. There must be one.
    #[inline(always)]
    pub(super) const fn drop_first(&mut self) {
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
    }

    /// Makes room for so many items.
    pub(super) fn reserve(&mut self, room: usize) {
        if self.items.len() < room {
            let nothing = Item { tie_breaker: TieBreaker::default(), place: 0, entity: EntityOf::default() };
            let mut items = vec![nothing; room.next_power_of_two()].into_boxed_slice();
            for position in 0..self.len {
                items[position] = *self.at(position);
            }
            (self.items, self.head) = (items, 0);
        }
    }

    /// Keeps only the items for which `keep` returns true.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Item) -> bool) {
        let mut kept = 0;
        for position in 0..self.len {
            let item = *self.at(position);
            if keep(&item) {
                let at = self.head.wrapping_add(kept) & (self.items.len() - 1);
                self.items[at] = item;
                kept += 1;
            }
        }
        self.len = kept;
    }
}
