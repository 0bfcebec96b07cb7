//! Ready activations in lanes: one lane for each key that is the same for all activations of an entity, such as its
//! priority.
//!
//! Activations of one key mostly become ready in the order in which they run. Then adding one and taking out the first
//! one take the same few instructions, however many are ready. A lane has two rows, each in order: where items pile up,
//! entities become ready again for items that came long before those that others are just notified of. What fits at the
//! end of neither row goes elsewhere. The lanes of an accelerator are something else: there, a lane is what a thread is
//! for an executor.
//!
//! Absolute deadlines have no lanes, since hardly two activations have the same one. What is drained together is passed
//! on in the order of arrival, so that most of it fits at the end of a row.

use super::queue::{Entry, First, TieBreaker, precedes};
use super::ring::{Item, Ring, Rotated};
use crate::time::Instant;

/// The largest number of lanes: the bits of a word.
const MOST: usize = 64;

/// Lanes in the order of their keys.
pub(super) struct Lanes<K> {
    /// The lanes, at most [`MOST`].
    lanes: Vec<Lane<K>>,
    /// A bit for each lane, in the order of the lanes: 1 if the lane has entries.
    taken: u64,
    /// The bit of the lane with the least key that any entry may have: the first one, or none if entries may have keys
    /// without a lane.
    least: u64,
}

/// Entries of one key.
struct Lane<K> {
    /// The key of all entries.
    key: K,
    rows: [Ring; 2],
    /// The number of ready activations that the lane has room for.
    room: usize,
}

impl<K> Lane<K> {
    const fn len(&self) -> usize {
        self.rows[0].len + self.rows[1].len
    }

    /// Adds an item at the end of a row, or near that, or at its front. Returns false if it belongs to none of these
    /// places, or if there is no room.
    #[inline(always)]
    fn add(&mut self, item: Item) -> bool {
        let [one, two] = &mut self.rows;
        if two.len == 0 && one.ends_with(&item) {
            one.append(item);
            return true;
        }
        self.add_to_either(item)
    }

    /// Adds an item as [`add`](Self::add) does, to the row that ends later if both may end with it. The second row is
    /// begun only for what the first one cannot have: two rows take more steps than one.
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
    fn rotate(&mut self, tie_breaker: TieBreaker) -> Option<Rotated> {
        let [one, two] = &mut self.rows;
        if two.len == 0 {
            return one.rotate(tie_breaker);
        }
        let (release, registration, sequence) = tie_breaker;
        self.rotate_both(release, registration, sequence)
    }

    /// Does what [`rotate`](Self::rotate) does while both rows have items. It is given numbers, which fit into
    /// registers.
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
        Some(Rotated::before(self.first()?, item.place))
    }
}

impl<K: Ord> Lanes<K> {
    /// Creates an empty list of lanes.
    pub(super) const fn new() -> Self {
        Self { lanes: Vec::new(), taken: 0, least: 1 }
    }

    /// Makes room for `room` more ready activations with that key. Does nothing if the key has no lane and there are
    /// [`MOST`] of them.
    pub(super) fn widen(&mut self, key: K, room: usize) {
        let found = self.find(&key).or_else(|_| {
            self.lanes.retain(|lane| lane.room > 0 || lane.len() > 0);
            self.note_taken();
            self.find(&key)
        });
        let at = match found {
            Ok(at) => at,
            Err(_) if self.lanes.len() == MOST => return self.have_not_all(),
            Err(at) => {
                self.lanes.insert(at, Lane { key, rows: [Ring::new(), Ring::new()], room: 0 });
                self.note_taken();
                at
            }
        };
        let lane = &mut self.lanes[at];
        lane.room += room;
        for row in &mut lane.rows {
            row.reserve(2 * lane.room);
        }
    }

    /// Notes that entries may have keys without a lane.
    pub(super) const fn have_not_all(&mut self) {
        self.least = 0;
    }

    /// Takes back the room for `room` ready activations with that key. A lane without room is removed when another one
    /// is added.
    pub(super) fn narrow(&mut self, key: &K, room: usize) {
        if let Ok(at) = self.find(key) {
            let lane = &mut self.lanes[at];
            lane.room = lane.room.saturating_sub(room);
        }
    }

    /// Adds the entry of an activation to the lane of its key. Returns false if there is no lane, or no memory, or if
    /// the entry belongs neither to the front of a row nor near its end.
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

    /// Takes out the first entry; `None` if there are no entries.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<Item> {
        let lane = self.lanes.get_mut(self.taken.trailing_zeros() as usize)?;
        let item = *lane.first()?;
        lane.drop_first();
        if lane.len() == 0 {
            // The lane is that of the lowest bit.
            self.taken &= self.taken - 1;
        }
        Some(item)
    }

    /// Takes out the first entry, and adds it again with that key and that tie-breaker, if the key is the same, and if
    /// it belongs to the end of a row. Returns `None` if it did not.
    #[inline(always)]
    pub(super) fn rotate(&mut self, key: &K, tie_breaker: TieBreaker) -> Option<Rotated> {
        let lane = self.lanes.get_mut(self.taken.trailing_zeros() as usize).filter(|lane| lane.key == *key)?;
        lane.rotate(tie_breaker)
    }

    /// Passes `visit` the addresses of what is written whenever an entry comes or goes: which lanes have entries, and
    /// the ends of the first row of the first few lanes.
    pub(super) fn visit_written(&self, visit: &mut dyn FnMut(*const u8)) {
        /// The number of lanes that most executors have at most.
        const FEW: usize = 4;
        visit((&raw const self.taken).cast());
        for lane in self.lanes.iter().take(FEW) {
            visit((&raw const lane.rows[0].len).cast());
        }
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
        for row in rows {
            row.retain(|item| keep(item.place, item.tie_breaker.2));
        }
        self.note_taken();
    }

    /// Returns true if the first lane has entries in its second row.
    #[cfg(test)]
    pub(super) fn has_two_rows(&self) -> bool {
        self.lanes.get(self.taken.trailing_zeros() as usize).is_some_and(|lane| lane.rows[1].len > 0)
    }

    /// Returns true if there is an entry with the least key that any entry may have, as far as that is known.
    #[inline(always)]
    pub(super) const fn begin_with_least_key(&self) -> bool {
        self.taken & self.least != 0
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
