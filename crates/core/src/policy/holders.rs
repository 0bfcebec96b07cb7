//! Resumed segments that hold their groups, in the order of the priorities that they inherit.

use super::queue::Entry;
use crate::heap::{Heap, Ranked};
use crate::id::GroupId;

/// The resumed segments, at most one for each group. In a reentrant group nothing is held; one of its resumed segments
/// may be here all the same. Each has an entry that orders it, and that may change while the segment waits.
pub(super) struct Holders<K> {
    /// A heap of group indices.
    heap: Heap,
    /// The entries by group index; `None` for groups without a segment here.
    entries: Vec<Ranked<Option<Entry<K>>>>,
}

impl<K: Ord> Holders<K> {
    pub(super) const fn new() -> Self {
        Self { heap: Heap::new(), entries: Vec::new() }
    }

    /// Makes room for `groups` groups.
    pub(super) fn reserve(&mut self, groups: usize) {
        self.heap.reserve(groups);
        self.entries.resize_with(groups.max(self.entries.len()), || Ranked::new(None));
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Returns the first entry; `None` if there is no segment.
    pub(super) fn first(&self) -> Option<&Entry<K>> {
        self.entries.get(self.heap.peek()? as usize)?.rank.as_ref()
    }

    /// Returns the place of the group's segment; `None` if the group has none here.
    pub(super) fn of(&self, group: GroupId) -> Option<u32> {
        Some(self.entries.get(group.index())?.rank.as_ref()?.place)
    }

    /// Returns true if the group has a segment here.
    pub(super) fn has(&self, group: GroupId) -> bool {
        !self.is_empty() && self.of(group).is_some()
    }

    /// Adds the segment of a group that has none here. Room was made for it.
    pub(super) fn push(&mut self, group: GroupId, entry: Entry<K>) {
        self.entries[group.index()].rank = Some(entry);
        self.heap.push(group.index() as u32, &mut self.entries);
    }

    /// Takes out the first segment. Returns its place; `None` if there is no segment.
    pub(super) fn pop(&mut self) -> Option<u32> {
        let group = self.heap.pop(&mut self.entries)?;
        self.entries[group as usize].rank.take().map(|entry| entry.place)
    }

    /// Takes out the group's segment if it is the one at `place`. Returns true if it was.
    pub(super) fn remove(&mut self, group: GroupId, place: u32) -> bool {
        let is_it = self.of(group) == Some(place);
        if is_it {
            self.heap.remove(group.index() as u32, &mut self.entries);
            self.entries[group.index()].rank = None;
        }
        is_it
    }

    /// Gives the group's segment another entry, which `entry` makes from its place.
    pub(super) fn change(&mut self, group: GroupId, entry: impl FnOnce(u32) -> Entry<K>) {
        if let Some(place) = self.of(group) {
            self.entries[group.index()].rank = Some(entry(place));
            self.heap.moved(group.index() as u32, &mut self.entries);
        }
    }
}
