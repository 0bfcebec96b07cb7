//! The events of one executor in the order in which its scheduler saw them.

use std::collections::BTreeMap;

use rospin_core::recording::Event;

use crate::Recording;
use crate::handover::executor_of;
use crate::recording::Recorded;

/// The events of one executor's scheduler, in order.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Ordered<'a> {
    /// The events.
    pub events: Vec<&'a Recorded>,
    /// True if the order of events of different threads is only that of their times.
    pub is_by_time: bool,
    /// The number of events that are missing, because buffers were full.
    pub dropped: u64,
    /// True if a part of the file is damaged or cut off.
    pub is_damaged: bool,
}

/// Returns the events of the executor with that number, in the order in which its scheduler saw them.
///
/// Each thread recorded its own events in order. Where another thread took over, it recorded a growing number. What a thread recorded
/// before its first number is ordered by time.
#[must_use]
pub fn order(recording: &Recording, executor: u16) -> Ordered<'_> {
    let mut ordered = Ordered { is_damaged: !recording.faults.is_empty(), ..Ordered::default() };
    // The number under which each thread records, and the number of threads that recorded without one.
    let mut numbers: BTreeMap<u32, u64> = BTreeMap::new();
    let mut without = 0;
    let mut is_numbered = false;
    let mut keyed: Vec<(u64, &Recorded)> = Vec::new();
    let mut dropped: BTreeMap<u32, u64> = BTreeMap::new();
    for recorded in &recording.events {
        if let Event::Dropped { count } = recorded.event {
            *dropped.entry(recorded.thread).or_default() += count;
        }
        if executor_of(&recorded.event) != Some(executor) {
            continue;
        }
        if let Event::HandedOver { number, .. } = recorded.event {
            is_numbered = true;
            numbers.insert(recorded.thread, number);
            continue;
        }
        let number = *numbers.entry(recorded.thread).or_insert_with(|| {
            without += 1;
            0
        });
        keyed.push((number, recorded));
    }
    ordered.is_by_time = !is_numbered && without > 1;
    ordered.dropped = numbers.keys().filter_map(|thread| dropped.get(thread)).sum();
    if !keyed.is_sorted_by_key(|(number, _)| *number) {
        // A stable sort keeps the order of time where there are no numbers.
        keyed.sort_by_key(|(number, _)| *number);
    }
    ordered.events = keyed.into_iter().map(|(_, recorded)| recorded).collect();
    ordered
}
