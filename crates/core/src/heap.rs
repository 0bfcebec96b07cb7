//! A heap that knows the position of each of its entries, so that any of them can be taken out.
//!
//! An entry is the number of a place in a table. The table has the rank of each place, which orders it, and its
//! position in the heap. The owner of the heap has the table. Several heaps may share it, since a place is in one of
//! them at a time. So moving an entry moves four bytes, and taking one out of the middle costs no more than taking the
//! first.
//!
//! Timers have their places tracked, because dispatches rarely touch them, and a timer that was cancelled should wake
//! nobody. Ready activations do not: to track each of them would cost every dispatch a tenth more, so `policy/queue.rs`
//! leaves withdrawn ones where they are until they come up.

use std::cmp::Ordering;

/// An entry of the table: the rank of a place, and its position in a heap.
#[derive(Debug)]
pub(crate) struct Ranked<R> {
    /// The rank. The smallest comes first. If it changes while the place is in a heap, [`Heap::moved`] or
    /// [`Heap::all_moved`] must follow.
    pub(crate) rank: R,
    /// The position in the heap. It means nothing if the place is in no heap.
    position: u32,
}

impl<R> Ranked<R> {
    pub(crate) const fn new(rank: R) -> Self {
        Self { rank, position: u32::MAX }
    }
}

/// The number of children of an entry. With more children the heap is flatter, which makes arming and disarming timers
/// cheaper.
const ARITY: usize = 4;

/// Places in the order of their ranks. Every method that takes a table must be given the same one.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    /// Each entry precedes its children, which begin at `ARITY * its position + 1`.
    places: Vec<u32>,
}

impl Heap {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new() }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Makes room for `room` entries in all, so that pushing does not allocate.
    pub(crate) fn reserve(&mut self, room: usize) {
        self.places.reserve(room.saturating_sub(self.places.len()));
    }

    /// Returns the first place; `None` if the heap is empty.
    pub(crate) fn peek(&self) -> Option<u32> {
        self.places.first().copied()
    }

    /// Adds a place that is in no heap.
    #[inline]
    pub(crate) fn push<R: Ord>(&mut self, place: u32, table: &mut [Ranked<R>]) {
        let end = self.places.len();
        self.places.push(place);
        self.rise(end, place, table);
    }

    /// Takes out the first place; `None` if the heap is empty.
    #[inline]
    pub(crate) fn pop<R: Ord>(&mut self, table: &mut [Ranked<R>]) -> Option<u32> {
        let last = self.places.pop()?;
        let Some(first) = self.places.first().copied() else {
            return Some(last);
        };
        self.fill(0, last, table);
        Some(first)
    }

    /// Takes out a place. Returns true if it was in this heap.
    pub(crate) fn remove<R: Ord>(&mut self, place: u32, table: &mut [Ranked<R>]) -> bool {
        let Some(position) = self.position(place, table) else {
            return false;
        };
        if let Some(last) = self.places.pop()
            && last != place
        {
            self.fill(position, last, table);
        }
        true
    }

    /// Moves a place whose rank has changed, if it is in this heap.
    pub(crate) fn moved<R: Ord>(&mut self, place: u32, table: &mut [Ranked<R>]) {
        if let Some(position) = self.position(place, table) {
            self.fill(position, place, table);
        }
    }

    /// Restores the order after any number of ranks have changed. Sorts the heap: takes O(n log n).
    pub(crate) fn all_moved<R: Ord>(&mut self, table: &mut [Ranked<R>]) {
        self.places.sort_unstable_by(|a, b| table[*a as usize].rank.cmp(&table[*b as usize].rank));
        for (position, place) in self.places.iter().enumerate() {
            table[*place as usize].position = position as u32;
        }
    }

    /// Returns the places, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.places.iter().copied()
    }

    /// Returns the position of a place; `None` if it is not in this heap. The table's position may belong to another
    /// heap or to none, so the entry at that position decides.
    fn position<R>(&self, place: u32, table: &[Ranked<R>]) -> Option<usize> {
        let position = table.get(place as usize)?.position as usize;
        (self.places.get(position) == Some(&place)).then_some(position)
    }

    /// Fills the hole of an entry that was taken out: moves the hole down along the smallest children to the end, then
    /// puts `place` there and moves it up. `place` usually came from the end, and belongs near it.
    fn fill<R: Ord>(&mut self, mut hole: usize, place: u32, table: &mut [Ranked<R>]) {
        let places = self.places.as_mut_slice();
        loop {
            let first = ARITY * hole + 1;
            let Some(children) = places.get(first..places.len().min(first + ARITY)).filter(|some| !some.is_empty())
            else {
                break;
            };
            let mut smaller = first;
            let mut smallest = &table[children[0] as usize].rank;
            for (nth, child) in children.iter().enumerate().skip(1) {
                let rank = &table[*child as usize].rank;
                if rank.cmp(smallest) == Ordering::Less {
                    (smaller, smallest) = (first + nth, rank);
                }
            }
            let moves = places[smaller];
            places[hole] = moves;
            table[moves as usize].position = hole as u32;
            hole = smaller;
        }
        self.rise(hole, place, table);
    }

    /// Puts `place` at `hole`, or as far above it as it belongs.
    #[inline(always)]
    fn rise<R: Ord>(&mut self, mut hole: usize, place: u32, table: &mut [Ranked<R>]) {
        let places = self.places.as_mut_slice();
        while let Some(parent) = hole.checked_sub(1).map(|above| above / ARITY) {
            let other = places[parent];
            if table[place as usize].rank.cmp(&table[other as usize].rank) != Ordering::Less {
                break;
            }
            places[hole] = other;
            table[other as usize].position = hole as u32;
            hole = parent;
        }
        places[hole] = place;
        table[place as usize].position = hole as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A random number generator with a fixed seed.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % limit
        }
    }

    fn table(ranks: impl IntoIterator<Item = u64>) -> Vec<Ranked<u64>> {
        ranks.into_iter().map(Ranked::new).collect()
    }

    /// Takes out all places, and returns them in the order in which they came.
    fn drained(mut heap: Heap, table: &mut [Ranked<u64>]) -> Vec<u32> {
        std::iter::from_fn(|| heap.pop(table)).collect()
    }

    #[test]
    fn the_rest_stays_in_order_when_any_entry_is_taken_out() {
        let dice = &mut Dice(1);
        for _ in 0..2_000 {
            let count = 1 + dice.below(40) as u32;
            // All ranks differ, like those of activations and timers.
            let mut table = table((0..u64::from(count)).map(|number| dice.below(20) * 64 + number));
            let mut heaps = [Heap::default(), Heap::default()];
            let mut lists: [Vec<u32>; 2] = Default::default();
            for _ in 0..dice.below(120) {
                let place = dice.below(u64::from(count)) as u32;
                let which = dice.below(2) as usize;
                let is_in_none = lists.iter().all(|list| !list.contains(&place));
                let heap = &mut heaps[which];
                let list = &mut lists[which];
                list.sort_by_key(|place| table[*place as usize].rank);
                assert_eq!(heap.peek(), list.first().copied());
                match dice.below(6) {
                    0 | 1 if is_in_none => {
                        heap.push(place, &mut table);
                        list.push(place);
                    }
                    2 => {
                        let first = if list.is_empty() { None } else { Some(list.remove(0)) };
                        assert_eq!(heap.pop(&mut table), first);
                    }
                    3 => {
                        assert_eq!(heap.remove(place, &mut table), list.contains(&place));
                        list.retain(|other| *other != place);
                    }
                    4 => {
                        table[place as usize].rank = dice.below(20) * 64 + u64::from(place);
                        for heap in &mut heaps {
                            heap.moved(place, &mut table);
                        }
                    }
                    5 if dice.below(10) == 0 => {
                        for ranked in &mut table {
                            ranked.rank = ranked.rank * 7 % (20 * 64);
                        }
                        for (place, ranked) in (0..).zip(&mut table) {
                            ranked.rank = ranked.rank / 64 * 64 + place;
                        }
                        for heap in &mut heaps {
                            heap.all_moved(&mut table);
                        }
                    }
                    _ => {}
                }
            }
            for (heap, mut list) in heaps.into_iter().zip(lists) {
                list.sort_by_key(|place| table[*place as usize].rank);
                assert_eq!(drained(heap, &mut table), list);
            }
        }
    }
}
