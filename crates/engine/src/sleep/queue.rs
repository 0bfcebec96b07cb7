//! The sleepers of one clock, by due time: a heap whose entries know their place, so that any of them can leave early.

use std::task::Waker;
use std::time::Duration;

use rospin_core::{Instant, TimerSpec};

use crate::foreign_waker::ForeignWaker;

/// A task that sleeps: its due time and its waker.
pub(super) struct Sleeper {
    pub(super) due: Instant,
    /// The longest time that it still sleeps after its clock jumped. `None` means until `due`, however long that takes.
    pub(super) longest: Option<Duration>,
    pub(super) waker: ForeignWaker,
}

impl Sleeper {
    /// Returns the due time after the clock jumped to `reading`, see [`TimerSpec::due_after_jump`].
    pub(super) fn due_after_jump(&self, reading: Instant, shift_ns: i64) -> Instant {
        let spec = TimerSpec::one_shot(self.due);
        let spec = self.longest.map_or(spec, |longest| spec.delay(longest));
        spec.due_after_jump(self.due, reading, shift_ns)
    }
}

/// Identifier of one sleeper of a queue. A later sleeper in the same slot has another number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SleeperId {
    slot: usize,
    number: u64,
}

struct Slot {
    /// The number of the sleeper that is here, or was here last.
    number: u64,
    /// The place of the slot's number in the heap.
    place: usize,
    /// The sleeper; `None` if the slot is free.
    sleeper: Option<Sleeper>,
}

/// Sleepers, earliest due first, ties in the order in which they came.
#[derive(Default)]
pub(super) struct Queue {
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// A binary heap of slot numbers.
    heap: Vec<usize>,
    /// Number of sleepers so far.
    numbers: u64,
}

impl Queue {
    /// Adds a sleeper. Takes O(log n).
    pub(super) fn add(&mut self, sleeper: Sleeper) -> SleeperId {
        self.numbers += 1;
        let number = self.numbers;
        let place = self.heap.len();
        let new = Slot { number, place, sleeper: Some(sleeper) };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot] = new;
                slot
            }
            None => {
                self.slots.push(new);
                self.slots.len() - 1
            }
        };
        self.heap.push(slot);
        self.rise(place);
        SleeperId { slot, number }
    }

    pub(super) fn get_mut(&mut self, id: SleeperId) -> Option<&mut Sleeper> {
        let slot = self.slots.get_mut(id.slot).filter(|slot| slot.number == id.number)?;
        slot.sleeper.as_mut()
    }

    /// Removes a sleeper; `None` if it is not here any more. Takes O(log n).
    pub(super) fn remove(&mut self, id: SleeperId) -> Option<Sleeper> {
        self.get_mut(id)?;
        self.take_out(id.slot)
    }

    /// Removes the earliest sleeper, if it is due at `now`.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<Sleeper> {
        let first = *self.heap.first()?;
        let (due, _) = self.key(first);
        if due <= now { self.take_out(first) } else { None }
    }

    pub(super) fn earliest(&self) -> Option<Instant> {
        self.heap.first().map(|first| self.key(*first).0)
    }

    /// Gives every sleeper a new due time. Takes O(n).
    pub(super) fn change_all(&mut self, due: impl Fn(&Sleeper) -> Instant) {
        for sleeper in self.slots.iter_mut().filter_map(|slot| slot.sleeper.as_mut()) {
            sleeper.due = due(sleeper);
        }
        for place in (0..self.heap.len() / 2).rev() {
            self.sink(place);
        }
    }

    /// Takes out all wakers. The sleepers stay in their places.
    pub(super) fn take_wakers(&mut self) -> impl Iterator<Item = ForeignWaker> + '_ {
        let sleepers = self.slots.iter_mut().filter_map(|slot| slot.sleeper.as_mut());
        sleepers.map(|sleeper| std::mem::replace(&mut sleeper.waker, Waker::noop().clone().into()))
    }

    fn take_out(&mut self, slot: usize) -> Option<Sleeper> {
        let place = self.slots[slot].place;
        let last = self.heap.pop()?;
        if last != slot {
            self.put(place, last);
            self.sink(place);
            self.rise(self.slots[last].place);
        }
        self.free.push(slot);
        self.slots[slot].sleeper.take()
    }

    /// Returns the due time and the number of the sleeper in a slot, by which sleepers are ordered.
    fn key(&self, slot: usize) -> (Instant, u64) {
        let Slot { number, sleeper, .. } = &self.slots[slot];
        // Slots that are in the heap are not free.
        (sleeper.as_ref().map_or(Instant::ZERO, |sleeper| sleeper.due), *number)
    }

    fn put(&mut self, place: usize, slot: usize) {
        self.heap[place] = slot;
        self.slots[slot].place = place;
    }

    fn swap(&mut self, one: usize, other: usize) {
        let first = self.heap[one];
        let second = self.heap[other];
        self.put(one, second);
        self.put(other, first);
    }

    fn is_before(&self, one: usize, other: usize) -> bool {
        self.key(self.heap[one]) < self.key(self.heap[other])
    }

    fn rise(&mut self, mut place: usize) {
        while place > 0 && self.is_before(place, (place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let children = [2 * place + 1, 2 * place + 2].into_iter().filter(|child| *child < self.heap.len());
            let earliest = children.reduce(|one, other| if self.is_before(other, one) { other } else { one });
            match earliest.filter(|child| self.is_before(*child, place)) {
                Some(child) => {
                    self.swap(place, child);
                    place = child;
                }
                None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn sleeper(due: u64) -> Sleeper {
        Sleeper { due: Instant::from_nanos(due), longest: None, waker: Waker::noop().clone().into() }
    }

    #[test]
    fn it_does_what_a_sorted_map_does() {
        let mut queue = Queue::default();
        let mut map = BTreeMap::new();
        let mut ids = Vec::new();
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for number in 1..=5_000 {
            let due = draw(200);
            ids.push((queue.add(sleeper(due)), due));
            map.insert((due, number), ());
            for _ in 0..draw(3) {
                let (id, due) = ids[draw(ids.len() as u64) as usize];
                let expected = map.remove(&(due, id.number)).map(|()| due);
                assert_eq!(queue.remove(id).map(|sleeper| sleeper.due.as_nanos()), expected);
            }
            if draw(10) == 0 {
                let now = draw(100);
                while let Some(sleeper) = queue.pop_due(Instant::from_nanos(now)) {
                    let ((due, _), ()) = map.pop_first().unwrap();
                    assert_eq!(sleeper.due.as_nanos(), due);
                }
            }
            assert_eq!(queue.earliest().map(Instant::as_nanos), map.first_key_value().map(|((due, _), ())| *due));
        }
        queue.change_all(|sleeper| Instant::from_nanos(1_000 - sleeper.due.as_nanos()));
        let left: Vec<_> = std::iter::from_fn(|| queue.pop_due(Instant::from_nanos(1_000))).map(|s| s.due).collect();
        assert!(left.is_sorted() && left.len() == map.len());
    }
}
