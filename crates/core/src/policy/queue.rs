//! A queue of ready activations in order, from which any of them can be withdrawn.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::places::Places;
use crate::time::Instant;

/// The order of an activation, and its place. It is small, since a heap moves its entries about.
pub(super) struct Entry<K> {
    pub(super) key: K,
    /// Release, registration and sequence.
    pub(super) tie_breaker: (Instant, u64, u64),
    pub(super) place: u32,
}

impl<K: Ord> Entry<K> {
    pub(super) const fn sequence(&self) -> u64 {
        self.tie_breaker.2
    }
}

impl<K: Ord> Ord for Entry<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key).then_with(|| self.tie_breaker.cmp(&other.tie_breaker))
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

/// Entries in order. An entry becomes stale when its activation is withdrawn. Stale entries stay until they come to the top, or
/// until they are the majority. So the average cost of withdrawing does not depend on the number of ready activations, and there
/// are at most twice as many entries as ready activations.
pub(super) struct Queue<K> {
    /// Reversed, since `BinaryHeap` pops the greatest.
    heap: BinaryHeap<Reverse<Entry<K>>>,
    stale: usize,
}

impl<K: Ord> Queue<K> {
    pub(super) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), stale: 0 }
    }

    /// Makes room for `room` ready activations.
    pub(super) fn reserve(&mut self, room: usize) {
        self.heap.reserve((2 * room).saturating_sub(self.heap.len()));
    }

    /// Returns true if there are entries that are not stale.
    pub(super) fn has_some(&self) -> bool {
        self.heap.len() > self.stale
    }

    /// Returns true if there are no entries at all.
    pub(super) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub(super) fn push(&mut self, entry: Entry<K>) {
        self.heap.push(Reverse(entry));
    }

    /// Returns the first entry, which may be stale.
    pub(super) fn peek(&self) -> Option<&Entry<K>> {
        self.heap.peek().map(|Reverse(entry)| entry)
    }

    /// Takes out the first entry; `None` if there are no entries. If it turns out to be stale, the caller must call
    /// [`was_stale`](Self::was_stale).
    #[inline]
    pub(super) fn pop_any(&mut self) -> Option<Entry<K>> {
        self.heap.pop().map(|Reverse(entry)| entry)
    }

    /// Notes that the entry that was taken out last is stale.
    pub(super) const fn was_stale(&mut self) {
        self.stale -= 1;
    }

    /// Takes out the first entry that is not stale; `None` if there is none.
    pub(super) fn pop(&mut self, places: &mut Places) -> Option<Entry<K>> {
        loop {
            let entry = self.pop_any()?;
            if places.get(entry.place, entry.sequence()).is_some() {
                return Some(entry);
            }
            self.was_stale();
        }
    }

    /// Returns the first entry that is not stale; `None` if there is none.
    pub(super) fn first(&mut self, places: &mut Places) -> Option<&Entry<K>> {
        while self.peek().is_some_and(|entry| places.get(entry.place, entry.sequence()).is_none()) {
            self.heap.pop();
            self.stale -= 1;
        }
        self.peek()
    }

    /// Notes that an activation with an entry in this queue was withdrawn. Removes all stale entries once they are the
    /// majority, in linear time. So the average call takes constant time.
    pub(super) fn one_is_stale(&mut self, places: &mut Places) {
        self.stale += 1;
        if self.stale * 2 > self.heap.len() {
            self.heap.retain(|Reverse(entry)| places.get(entry.place, entry.sequence()).is_some());
            self.stale = 0;
        }
    }
}
