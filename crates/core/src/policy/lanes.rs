//! Ready activations in lanes: one lane for each key that is the same for all activations of an entity, such as its priority.
//!
//! Activations of one key mostly become ready in the order in which they run. Then adding one and taking out the first one take
//! the same few instructions, however many are ready. What does not fit at the end of its lane goes elsewhere.

use std::collections::VecDeque;

use super::queue::Entry;

/// The largest number of lanes: the bits of a word.
const MOST: usize = 64;

/// Lanes in the order of their keys.
pub(super) struct Lanes<K> {
    /// The lanes, at most [`MOST`].
    lanes: Vec<Lane<K>>,
    /// A bit for each lane, in the order of the lanes: 1 if the lane has entries.
    taken: u64,
}

/// List of entries of one key.
struct Lane<K> {
    /// The key of all entries.
    key: K,
    /// The entries, all with this key, in order.
    entries: VecDeque<Entry<K>>,
    /// The number of ready activations that the lane has room for.
    room: usize,
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
            self.lanes.retain(|lane| lane.room > 0 || !lane.entries.is_empty());
            self.note_taken();
            self.find(&key)
        });
        let at = match found {
            Ok(at) => at,
            Err(_) if self.lanes.len() == MOST => return,
            Err(at) => {
                self.lanes.insert(at, Lane { key, entries: VecDeque::new(), room: 0 });
                self.note_taken();
                at
            }
        };
        let lane = &mut self.lanes[at];
        lane.room += room;
        lane.entries.reserve((2 * lane.room).saturating_sub(lane.entries.len()));
    }

    /// Takes back the room for `room` ready activations with that key. A lane without room is removed when another one is added.
    pub(super) fn narrow(&mut self, key: &K, room: usize) {
        if let Ok(at) = self.find(key) {
            let lane = &mut self.lanes[at];
            lane.room = lane.room.saturating_sub(room);
        }
    }

    /// Adds the entry to the lane of its key. Returns it if there is no lane, or no memory, or if it does not belong to the end.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry<K>) -> Result<(), Entry<K>> {
        let Ok(at) = self.find(&entry.key) else {
            return Err(entry);
        };
        let entries = &mut self.lanes[at].entries;
        let fits = entries.len() < entries.capacity();
        if !fits || entries.back().is_some_and(|last| entry.tie_breaker < last.tie_breaker) {
            return Err(entry);
        }
        entries.push_back(entry);
        self.taken |= 1 << at;
        Ok(())
    }

    /// Returns the first entry; `None` if there are no entries.
    #[inline]
    pub(super) fn peek(&self) -> Option<&Entry<K>> {
        // Without entries the number of zeros is beyond all lanes.
        self.lanes.get(self.taken.trailing_zeros() as usize)?.entries.front()
    }

    /// Takes out the first entry; `None` if there are no entries.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Entry<K>> {
        let entries = &mut self.lanes.get_mut(self.taken.trailing_zeros() as usize)?.entries;
        let first = entries.pop_front();
        if entries.is_empty() {
            // The lane is that of the lowest bit.
            self.taken &= self.taken - 1;
        }
        first
    }

    /// Keeps only the entries for which `keep` returns true. Takes linear time.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Entry<K>) -> bool) {
        self.lanes.iter_mut().for_each(|lane| lane.entries.retain(&mut keep));
        self.note_taken();
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.lanes.iter().map(|lane| lane.entries.len()).sum()
    }

    /// Returns true if there are no entries.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// Sets the bits of the lanes that have entries.
    fn note_taken(&mut self) {
        let bits = self.lanes.iter().enumerate().map(|(at, lane)| u64::from(!lane.entries.is_empty()) << at);
        self.taken = bits.fold(0, |taken, bit| taken | bit);
    }

    /// Returns the place of the key's lane. The error is the place at which a new lane of that key belongs.
    #[inline]
    fn find(&self, key: &K) -> Result<usize, usize> {
        self.lanes.binary_search_by(|lane| lane.key.cmp(key))
    }
}
