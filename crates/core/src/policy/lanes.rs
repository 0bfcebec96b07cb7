//! Ready activations in lanes: one lane for each key that is the same for all activations of an entity, such as its priority.
//!
//! Activations of one key mostly become ready in the order in which they run. Then adding one and taking out the first one take
//! the same few instructions, however many are ready. A lane has two rows, each in order: where items pile up, entities become ready
//! again for items that came long before those that others are just notified of. What fits at the end of neither row goes
//! elsewhere.

use super::queue::{EntityOf, Entry, First, TieBreaker, precedes};
use crate::time::Instant;

/// The largest number of lanes: the bits of a word.
const MOST: usize = 64;

/// The number of places before the end of a row at which an entry may still be put: moving so many takes less time than a heap
/// does. Entities whose items pile up become ready again a little out of order.
const REACH: usize = 8;

/// Lanes in the order of their keys.
pub(super) struct Lanes<K> {
    /// The lanes, at most [`MOST`].
    lanes: Vec<Lane<K>>,
    /// A bit for each lane, in the order of the lanes: 1 if the lane has entries.
    taken: u64,
}

/// Entries of one key.
struct Lane<K> {
    /// The key of all entries.
    key: K,
    rows: [Ring; 2],
    /// The number of ready activations that the lane has room for.
    room: usize,
}

/// An entry of a lane: the order of an activation within the lane, and its place.
#[derive(Clone, Copy)]
struct Item {
    tie_breaker: TieBreaker,
    place: u32,
    /// The index of the entity, and whether the activation is resumed.
    entity: EntityOf,
}

impl Item {
    #[inline(always)]
    fn of<K>(entry: &Entry<K>) -> Self {
        Self { tie_breaker: entry.tie_breaker, place: entry.place, entity: entry.entity }
    }
}

/// The first entry was taken out and added again.
pub(super) struct Rotated {
    /// Its place.
    pub(super) place: u32,
    /// The release of the entry that is first now.
    pub(super) release: Instant,
    /// The entity of that entry.
    pub(super) entity: EntityOf,
}

/// Items in order, which come at the end and leave at the front.
struct Ring {
    /// As many as a power of two, or none at all.
    items: Box<[Item]>,
    /// The index of the first item, before it is wrapped. It may wrap itself, since the number of items divides the number of indices.
    head: usize,
    len: usize,
}

impl Ring {
    fn new() -> Self {
        Self { items: Box::new([]), head: 0, len: 0 }
    }

    /// Returns the item at the position, counted from the front. There must be room for so many.
    #[inline(always)]
    fn at(&self, position: usize) -> &Item {
        &self.items[self.head.wrapping_add(position) & (self.items.len() - 1)]
    }

    #[inline(always)]
    fn first(&self) -> Option<&Item> {
        if self.len == 0 { None } else { Some(self.at(0)) }
    }

    /// Returns the last item; `None` if there is none.
    #[inline(always)]
    fn last(&self) -> Option<&Item> {
        if self.len == 0 { None } else { Some(self.at(self.len - 1)) }
    }

    /// Returns true if there is room for the item, and no item comes after it.
    #[inline(always)]
    fn ends_with(&self, item: &Item) -> bool {
        let is_in_order = self.last().is_none_or(|last| !precedes(&item.tie_breaker, &last.tie_breaker));
        is_in_order && self.len < self.items.len()
    }

    /// Appends an item, which the row may [end with](Self::ends_with).
    #[inline(always)]
    fn append(&mut self, item: Item) {
        self.set(self.len, item);
        self.len += 1;
    }

    /// Adds an item that comes before the last one, if there is room, and if it belongs to the front or near the end. Returns true if
    /// it did.
    fn insert(&mut self, item: Item) -> bool {
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
        let (items, head) = (&mut *self.items, self.head);
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
        true
    }

    #[inline(always)]
    fn set(&mut self, position: usize, item: Item) {
        let at = self.head.wrapping_add(position) & (self.items.len() - 1);
        self.items[at] = item;
    }

    /// Takes out the first item, and appends it again with that tie-breaker, if that does not come before the one of the last item.
    #[inline(always)]
    fn rotate(&mut self, (release, registration, sequence): TieBreaker) -> Option<Rotated> {
        let mask = self.items.len().wrapping_sub(1);
        if self.len == 1 {
            let only = self.items.get_mut(self.head & mask)?;
            only.tie_breaker = (release, registration, sequence);
            return Some(Rotated { place: only.place, release, entity: only.entity });
        }
        // Without items there are none at all, or the last one is before the first one, and its place is not used.
        let end = self.head.wrapping_add(self.len);
        if self.len == 0
            || precedes(&(release, registration, sequence), &self.items.get(end.wrapping_sub(1) & mask)?.tie_breaker)
        {
            return None;
        }
        let Item { place, entity, .. } = *self.items.get(self.head & mask)?;
        *self.items.get_mut(end & mask)? = Item { tie_breaker: (release, registration, sequence), place, entity };
        self.head = self.head.wrapping_add(1);
        let first = self.items.get(self.head & mask)?;
        Some(Rotated { place, release: first.tie_breaker.0, entity: first.entity })
    }

    /// Takes out the first item. There must be one.
    #[inline(always)]
    const fn drop_first(&mut self) {
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
    }

    /// Makes room for so many items.
    fn reserve(&mut self, room: usize) {
        if self.items.len() < room {
            let nothing = Item { tie_breaker: TieBreaker::default(), place: 0, entity: EntityOf::default() };
            let mut items = vec![nothing; room.next_power_of_two()].into_boxed_slice();
            (0..self.len).for_each(|position| items[position] = *self.at(position));
            (self.items, self.head) = (items, 0);
        }
    }

    /// Keeps only the items for which `keep` returns true.
    fn retain(&mut self, mut keep: impl FnMut(&Item) -> bool) {
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

impl<K> Lane<K> {
    const fn len(&self) -> usize {
        self.rows[0].len + self.rows[1].len
    }

    /// Adds an item at the end of a row, or near that, or at its front. Returns false if it belongs to none of these places, or if there
    /// is no room.
    #[inline(always)]
    fn add(&mut self, item: Item) -> bool {
        let [one, two] = &mut self.rows;
        if two.len == 0 && one.ends_with(&item) {
            one.append(item);
            return true;
        }
        self.add_to_either(item)
    }

    /// Adds an item as [`add`](Self::add) does, to the row that ends later if both may end with it. The second row is begun only for
    /// what the first one cannot have: two rows take more steps than one.
    #[inline(never)]
    fn add_to_either(&mut self, item: Item) -> bool {
        let [one, two] = &mut self.rows;
        if two.len == 0 && one.insert(item) {
            return true;
        }
        let ends_later = |a: &Ring, b: &Ring| match (a.last(), b.last()) {
            (Some(a), Some(b)) => precedes(&b.tie_breaker, &a.tie_breaker),
            (a, _) => a.is_some(),
        };
        let (later, earlier) = if ends_later(two, one) { (two, one) } else { (one, two) };
        for row in [&mut *later, &mut *earlier] {
            if row.ends_with(&item) {
                row.append(item);
                return true;
            }
        }
        later.insert(item) || earlier.insert(item)
    }

    /// Returns the row that has the first item; the first row if both are empty.
    #[inline(always)]
    fn front(&self) -> usize {
        if self.rows[1].len == 0 { 0 } else { self.front_of_both() }
    }

    #[inline(never)]
    fn front_of_both(&self) -> usize {
        let [one, two] = self.rows.each_ref().map(Ring::first);
        match (one, two) {
            (Some(one), Some(two)) => usize::from(precedes(&two.tie_breaker, &one.tie_breaker)),
            (one, _) => usize::from(one.is_none()),
        }
    }

    #[inline(always)]
    fn first(&self) -> Option<&Item> {
        self.rows[self.front()].first()
    }

    /// Takes out the first item. There must be one.
    #[inline(always)]
    fn drop_first(&mut self) {
        self.rows[self.front()].drop_first();
    }

    /// Takes out the first item, and adds it again with that tie-breaker, if that takes few steps.
    #[inline(always)]
    fn rotate(&mut self, (release, registration, sequence): TieBreaker) -> Option<Rotated> {
        let [one, two] = &mut self.rows;
        if two.len == 0 {
            one.rotate((release, registration, sequence))
        } else {
            self.rotate_both(release, registration, sequence)
        }
    }

    /// Does what [`rotate`](Self::rotate) does while both rows have items. It is given numbers, which fit into registers.
    #[inline(never)]
    fn rotate_both(&mut self, release: Instant, registration: u64, sequence: u64) -> Option<Rotated> {
        let front = self.front_of_both();
        let item = Item { tie_breaker: (release, registration, sequence), ..*self.rows[front].first()? };
        if !self.rows.iter().any(|row| row.ends_with(&item)) {
            return None;
        }
        self.rows[front].drop_first();
        // It is added, since one of the rows may end with it.
        self.add_to_either(item);
        let first = self.first()?;
        Some(Rotated { place: item.place, release: first.tie_breaker.0, entity: first.entity })
    }
}

impl<K: Ord> Lanes<K> {
    /// Creates an empty list of lanes.
    pub(super) const fn new() -> Self {
        Self { lanes: Vec::new(), taken: 0 }
    }

    /// Makes room for `room` more ready activations with that key. Does nothing if the key has no lane and there are [`MOST`] of
    /// them.
    pub(super) fn widen(&mut self, key: K, room: usize) {
        let found = self.find(&key).or_else(|_| {
            self.lanes.retain(|lane| lane.room > 0 || lane.len() > 0);
            self.note_taken();
            self.find(&key)
        });
        let at = match found {
            Ok(at) => at,
            Err(_) if self.lanes.len() == MOST => return,
            Err(at) => {
                self.lanes.insert(at, Lane { key, rows: [Ring::new(), Ring::new()], room: 0 });
                self.note_taken();
                at
            }
        };
        let lane = &mut self.lanes[at];
        lane.room += room;
        lane.rows.iter_mut().for_each(|row| row.reserve(2 * lane.room));
    }

    /// Takes back the room for `room` ready activations with that key. A lane without room is removed when another one is added.
    pub(super) fn narrow(&mut self, key: &K, room: usize) {
        if let Ok(at) = self.find(key) {
            let lane = &mut self.lanes[at];
            lane.room = lane.room.saturating_sub(room);
        }
    }

    /// Adds the entry of an activation to the lane of its key. Returns false if there is no lane, or no memory, or if the entry
    /// belongs neither to the front of a row nor near its end.
    #[inline(always)]
    pub(super) fn push(&mut self, entry: &Entry<K>) -> bool {
        // Most executors have one lane, or few.
        let Some(at) = self.lanes.iter().position(|lane| lane.key == entry.key) else {
            return false;
        };
        let is_in = self.lanes[at].add(Item::of(entry));
        self.taken |= u64::from(is_in) << at;
        is_in
    }

    /// Returns the first entry; `None` if there are no entries.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<First<'_, K>> {
        // Without entries the number of zeros is beyond all lanes.
        let lane = self.lanes.get(self.taken.trailing_zeros() as usize)?;
        lane.first().map(|Item { tie_breaker, place, entity }| First {
            key: &lane.key,
            tie_breaker,
            place: *place,
            entity: *entity,
        })
    }

    /// Takes out the first entry. Does nothing if there are no entries.
    #[inline(always)]
    pub(super) fn drop_first(&mut self) {
        let Some(lane) = self.lanes.get_mut(self.taken.trailing_zeros() as usize) else {
            return;
        };
        lane.drop_first();
        if lane.len() == 0 {
            // The lane is that of the lowest bit.
            self.taken &= self.taken - 1;
        }
    }

    /// Takes out the first entry, and adds it again with that key and that tie-breaker, if the key is the same, and if it belongs to the
    /// end of a row. Returns `None` if it did not.
    #[inline(always)]
    pub(super) fn rotate(&mut self, key: &K, tie_breaker: TieBreaker) -> Option<Rotated> {
        let lane = self.lanes.get_mut(self.taken.trailing_zeros() as usize).filter(|lane| lane.key == *key)?;
        lane.rotate(tie_breaker)
    }

    /// Returns the index of the entity so many places after the first one, in the row of that one.
    #[inline(always)]
    pub(super) fn upcoming(&self, distance: usize) -> Option<usize> {
        let lane = self.lanes.get(self.taken.trailing_zeros() as usize)?;
        let row = &lane.rows[lane.front()];
        (distance < row.len).then(|| row.at(distance).entity.index())
    }

    /// Keeps only the entries for whose place and sequence number `keep` returns true. Takes linear time.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(u32, u64) -> bool) {
        let rows = self.lanes.iter_mut().flat_map(|lane| &mut lane.rows);
        rows.for_each(|row| row.retain(|item| keep(item.place, item.tie_breaker.2)));
        self.note_taken();
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.lanes.iter().map(Lane::len).sum()
    }

    /// Returns true if there are no entries.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// Sets the bits of the lanes that have entries.
    fn note_taken(&mut self) {
        let bits = self.lanes.iter().enumerate().map(|(at, lane)| u64::from(lane.len() > 0) << at);
        self.taken = bits.fold(0, |taken, bit| taken | bit);
    }

    /// Returns the place of the key's lane. The error is the place at which a new lane of that key belongs.
    #[inline]
    fn find(&self, key: &K) -> Result<usize, usize> {
        self.lanes.binary_search_by(|lane| lane.key.cmp(key))
    }
}
