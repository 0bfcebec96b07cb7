//! Resumed segments that hold their groups, in the order of what they inherit.

use super::queue::Entry;
use crate::heap::{Heap, Ranked};
use crate::id::GroupId;

/// At most one resumed segment a group, each with the entry that orders it, which may change while it waits.
pub(super) struct Holders<K> {
    /// Of group indices.
    heap: Heap,
    /// By group index; `None` for those without a segment here.
    entries: Vec<Ranked<Option<Entry<K>>>>,
}

impl<K: Ord> Holders<K> {
    pub(super) const fn new() -> Self {
        Self { heap: Heap::new(), entries: Vec::new() }
    }

    /// Makes room for so many groups.
    pub(super) fn reserve(&mut self, groups: usize) {
        self.heap.reserve(groups);
        self.entries.resize_with(groups.max(self.entries.len()), || Ranked::new(None));
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The first of them.
    pub(super) fn first(&self) -> Option<&Entry<K>> {
        self.entries.get(self.heap.peek()? as usize)?.rank.as_ref()
    }

    /// The place of the group's segment.
    pub(super) fn of(&self, group: GroupId) -> Option<u32> {
        Some(self.entries.get(group.index())?.rank.as_ref()?.place)
    }

    pub(super) fn has(&self, group: GroupId) -> bool {
        !self.is_empty() && self.of(group).is_some()
    }

    /// Takes in the segment of a group that has none here, and that room was made for.
    pub(super) fn push(&mut self, group: GroupId, entry: Entry<K>) {
        self.entries[group.index()].rank = Some(entry);
        self.heap.push(group.index() as u32, &mut self.entries);
    }

    /// Takes out the first; returns its place.
    pub(super) fn pop(&mut self) -> Option<u32> {
        let group = self.heap.pop(&mut self.entries)?;
        self.entries[group as usize].rank.take().map(|entry| entry.place)
    }

    /// Takes out the group's segment if it is the one at `place`; says whether it was.
    pub(super) fn remove(&mut self, group: GroupId, place: u32) -> bool {
        let is_it = self.of(group) == Some(place);
        if is_it {
            self.heap.remove(group.index() as u32, &mut self.entries);
            self.entries[group.index()].rank = None;
        }
        is_it
    }

    /// Gives the group's segment another entry; `entry` is told its place.
    pub(super) fn change(&mut self, group: GroupId, entry: impl FnOnce(u32) -> Entry<K>) {
        if let Some(place) = self.of(group) {
            self.entries[group.index()].rank = Some(entry(place));
            self.heap.moved(group.index() as u32, &mut self.entries);
        }
    }
}
