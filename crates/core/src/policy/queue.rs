//! A queue of ready activations in order, from which any of them can be withdrawn.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::lanes::Lanes;
use super::places::Places;
use super::ring::{Item, Rotated};
use crate::activation::Activation;
use crate::time::Instant;

/// The order of activations with the same key: release, registration and sequence.
pub(super) type TieBreaker = (Instant, u64, u64);

/// The order of an activation, and its place. It is small, since a heap moves its entries about.
pub(super) struct Entry<K> {
    pub(super) key: K,
    pub(super) tie_breaker: TieBreaker,
    pub(super) place: u32,
    pub(super) entity: EntityOf,
}

/// The entity of an activation: its index, and a bit that is set if the activation was resumed.
#[derive(Clone, Copy, Default)]
pub(super) struct EntityOf(u32);

impl EntityOf {
    const RESUMED: u32 = 1 << 31;

    #[inline(always)]
    pub(super) const fn new(activation: &Activation) -> Self {
        // The index fits: two billion live entities would not fit into memory.
        let resumed = if activation.segment > 0 { Self::RESUMED } else { 0 };
        Self(activation.entity.index() as u32 | resumed)
    }

    #[cfg(test)]
    const fn of_index(index: u32) -> Self {
        Self(index)
    }

    pub(super) const fn index(self) -> usize {
        (self.0 & !Self::RESUMED) as usize
    }

    pub(super) const fn is_resumed(self) -> bool {
        self.0 & Self::RESUMED != 0
    }
}

/// The first entry of a queue.
pub(super) struct First<'a, K> {
    pub(super) key: &'a K,
    pub(super) tie_breaker: &'a TieBreaker,
    pub(super) place: u32,
    pub(super) entity: EntityOf,
}

impl<K: Ord> Entry<K> {
    /// Returns true if this one comes before the first entry of a queue.
    #[inline(always)]
    pub(super) fn precedes(&self, first: &First<'_, K>) -> bool {
        self.key < *first.key || self.key == *first.key && precedes(&self.tie_breaker, first.tie_breaker)
    }

    const fn as_first(&self) -> First<'_, K> {
        First { key: &self.key, tie_breaker: &self.tie_breaker, place: self.place, entity: self.entity }
    }
}

impl<K> First<'_, K> {
    pub(super) const fn sequence(&self) -> u64 {
        self.tie_breaker.2
    }
}

/// Returns true if the first tie-breaker comes before the second one. Most of the time the releases decide.
#[inline(always)]
pub(super) fn precedes(a: &TieBreaker, b: &TieBreaker) -> bool {
    a.0 < b.0 || a.0 == b.0 && (a.1, a.2) < (b.1, b.2)
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

/// Entries in order. An entry becomes stale when its activation is withdrawn. Stale entries stay until they come to the
/// top, or until they are the majority. So the average cost of withdrawing does not depend on the number of ready
/// activations, and there are at most twice as many entries as ready activations.
///
/// Entries that come in the order in which they leave are in lanes, the others in a heap. So the order of activations
/// decides what they cost: constant time if they are already sorted within their key, and logarithmic time at worst.
pub(super) struct Queue<K> {
    /// The entries that came in order.
    lanes: Lanes<K>,
    /// The others. Reversed, since `BinaryHeap` pops the greatest.
    heap: BinaryHeap<Reverse<Entry<K>>>,
    /// Number of stale entries.
    stale: usize,
}

impl<K: Ord> Queue<K> {
    pub(super) const fn new() -> Self {
        Self { lanes: Lanes::new(), heap: BinaryHeap::new(), stale: 0 }
    }

    /// Makes room for `room` ready activations.
    pub(super) fn reserve(&mut self, room: usize) {
        self.heap.reserve((2 * room).saturating_sub(self.heap.len()));
    }

    /// Returns the lanes, for changes of their room. Without lanes, all entries are in the heap.
    pub(super) const fn lanes(&mut self) -> &mut Lanes<K> {
        &mut self.lanes
    }

    /// Returns true if there are entries that are not stale.
    pub(super) fn has_some(&self) -> bool {
        // Most of the time nothing is stale, and the entries need not be counted.
        if self.stale == 0 { !self.is_empty() } else { self.len() > self.stale }
    }

    /// Returns true if the first entry is known to have the least key that any entry may have.
    #[inline(always)]
    pub(super) const fn begins_with_least_key(&self) -> bool {
        self.lanes.begin_with_least_key()
    }

    /// Returns true if there are no entries at all.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.lanes.is_empty() && self.heap.is_empty()
    }

    /// Returns the number of entries, stale ones included.
    fn len(&self) -> usize {
        self.lanes.len() + self.heap.len()
    }

    /// Adds the entry of an activation that is ready.
    #[inline(always)]
    pub(super) fn push(&mut self, entry: Entry<K>) {
        if !self.lanes.push(&entry) {
            self.push_aside(entry);
        }
    }

    /// Adds an entry that does not come in order.
    #[inline(never)]
    fn push_aside(&mut self, entry: Entry<K>) {
        self.heap.push(Reverse(entry));
    }

    /// Returns the first entry, which may be stale; `None` if there are no entries.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<First<'_, K>> {
        if self.heap.is_empty() { self.lanes.first() } else { self.first_of_both() }
    }

    #[inline(never)]
    fn first_of_both(&self) -> Option<First<'_, K>> {
        let aside = self.heap.peek().map(|Reverse(entry)| entry);
        match (self.lanes.first(), aside) {
            (first, None) => first,
            (Some(first), Some(aside)) if !aside.precedes(&first) => Some(first),
            (_, Some(aside)) => Some(aside.as_first()),
        }
    }

    /// Takes out the first entry. Does nothing if there are no entries. If it is stale, the caller must call
    /// [`was_stale`](Self::was_stale).
    #[inline(always)]
    pub(super) fn drop_first(&mut self) {
        if self.heap.is_empty() {
            self.lanes.drop_first();
        } else {
            self.drop_first_of_both();
        }
    }

    /// Passes `visit` the addresses of what is written whenever an entry that is in a lane comes or goes.
    pub(super) fn visit_written(&self, visit: &mut dyn FnMut(*const u8)) {
        self.lanes.visit_written(visit);
    }

    /// Returns the entity that comes so many places after the first one, if that is known without a search.
    #[inline(always)]
    pub(super) fn upcoming(&self, distance: usize) -> Option<usize> {
        self.lanes.upcoming(distance)
    }

    /// Takes out the first entry, which must be that of a released activation, and adds the one of the next activation
    /// of the same entity, which has the same place. Returns `None` if there are no entries.
    #[inline(always)]
    pub(super) fn replace_first(&mut self, key: K, tie_breaker: TieBreaker) -> Option<Rotated> {
        if self.heap.is_empty()
            && let Some(rotated) = self.lanes.rotate(&key, tie_breaker)
        {
            return Some(rotated);
        }
        let (release, registration, sequence) = tie_breaker;
        self.replace_first_of_both(key, release, registration, sequence)
    }

    /// Does what [`replace_first`](Self::replace_first) does if entries are elsewhere, too. It is given numbers, which
    /// fit into registers.
    #[inline(never)]
    fn replace_first_of_both(&mut self, key: K, release: Instant, registration: u64, sequence: u64) -> Option<Rotated> {
        let First { place, entity, .. } = self.first()?;
        self.drop_first();
        self.push(Entry { key, tie_breaker: (release, registration, sequence), place, entity });
        let First { tie_breaker: (release, ..), entity, .. } = self.first()?;
        Some(Rotated { place, release: *release, entity })
    }

    /// Takes out the first entry. Returns the place and the sequence number of its activation; `None` if there are no
    /// entries. If it is stale, the caller must call [`was_stale`](Self::was_stale).
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<(u32, u64)> {
        if self.heap.is_empty() {
            let Item { tie_breaker, place, .. } = self.lanes.pop()?;
            return Some((place, tie_breaker.2));
        }
        let first = self.first_of_both()?;
        let popped = (first.place, first.sequence());
        self.drop_first_of_both();
        Some(popped)
    }

    #[inline(never)]
    fn drop_first_of_both(&mut self) {
        let Some(Reverse(aside)) = self.heap.peek() else {
            return;
        };
        if self.lanes.first().is_some_and(|first| !aside.precedes(&first)) {
            self.lanes.drop_first();
        } else {
            self.heap.pop();
        }
    }

    /// Returns true if an entry may be stale.
    pub(super) const fn has_stale(&self) -> bool {
        self.stale > 0
    }

    /// Notes that the entry that was taken out last is stale.
    pub(super) const fn was_stale(&mut self) {
        self.stale -= 1;
    }

    /// Takes out the stale entries at the front, and returns the first one of the others; `None` if all were stale.
    pub(super) fn first_valid(&mut self, places: &Places) -> Option<First<'_, K>> {
        while self.first().is_some_and(|first| !places.has(first.place, first.sequence())) {
            self.drop_first();
            self.was_stale();
        }
        self.first()
    }

    /// Notes that an activation with an entry in this queue was withdrawn. Removes all stale entries once they are the
    /// majority, in linear time. So the average call takes constant time.
    pub(super) fn one_is_stale(&mut self, places: &Places) {
        self.stale += 1;
        if self.stale * 2 > self.len() {
            let is_valid = |place, sequence| places.has(place, sequence);
            self.lanes.retain(is_valid);
            self.heap.retain(|Reverse(entry)| is_valid(entry.place, entry.tie_breaker.2));
            self.stale = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Keys come and go, with and without lanes, and there are more of them than lanes. Some entries come in order,
    /// others not. The first one leaves, or is replaced by the next one of its entity.
    #[test]
    fn entries_leave_in_order_whichever_way_they_came() {
        let mut drawn = 1_u64;
        let mut below = |limit: u64| {
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (drawn >> 33) % limit
        };
        let mut replaced = [0; 3];
        for round in 0..300 {
            let keys = if round % 3 == 0 { 100 } else { 1 + below(9) };
            let mut queue = Queue::<u64>::new();
            let mut model = BTreeMap::new();
            let mut rooms = vec![0; keys as usize];
            let seen = |queue: &Queue<u64>| {
                queue.first().map(|first| ((*first.key, *first.tie_breaker), (first.place, first.entity.index())))
            };
            for sequence in 0..400 {
                let key = below(keys);
                let release = Instant::from_nanos(if below(4) == 0 { below(400) } else { sequence });
                let tie_breaker = (release, 0, sequence);
                match below(10) {
                    0 => {
                        queue.lanes().widen(key, 1);
                        rooms[key as usize] += 1;
                    }
                    1 if rooms[key as usize] > 0 => {
                        queue.lanes().narrow(&key, 1);
                        rooms[key as usize] -= 1;
                    }
                    2..5 => {
                        let place = sequence as u32;
                        let entity = EntityOf::of_index(1_000 + sequence as u32);
                        queue.push(Entry { key, tie_breaker, place, entity });
                        model.insert((key, tie_breaker), (place, entity.index()));
                    }
                    5..8 if !model.is_empty() => {
                        let ((former, _), of) = model.pop_first().unwrap();
                        // The next activation of an entity mostly has the same key.
                        let key = if below(8) == 0 { key } else { former };
                        model.insert((key, tie_breaker), of);
                        replaced[usize::from(!queue.heap.is_empty())] += 1;
                        replaced[2] += usize::from(queue.lanes.has_two_rows());
                        let Rotated { place, release, entity } = queue.replace_first(key, tie_breaker).unwrap();
                        let ((_, first), now) = model.first_key_value().unwrap();
                        assert_eq!((place, release, entity.index()), (of.0, first.0, now.1));
                    }
                    _ => {
                        assert_eq!(seen(&queue), model.pop_first());
                        queue.drop_first();
                    }
                }
                assert_eq!((queue.len(), queue.is_empty()), (model.len(), model.is_empty()));
            }
            while let Some(last) = model.pop_first() {
                assert_eq!(seen(&queue), Some(last));
                queue.drop_first();
            }
            assert!(queue.is_empty());
        }
        assert!(replaced.iter().all(|count| *count > 100), "{replaced:?}");
    }
}
