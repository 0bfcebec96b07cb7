//! The events of one executor in the order in which its scheduler saw them.
//!
//! A scheduler's decisions follow from that order. All of it happens under the executor's lock, but each thread
//! records into a log of its own. So where another thread takes over, it records a growing number, and how many events
//! precede it: one more event for each change of threads, and none with one thread. A replay ends where events of
//! another thread are missing. Timers are no timers in a replay: their releases are recorded.

use std::collections::BTreeMap;
use std::ops::Range;

use rospin_core::recording::Event;

use crate::Recording;
use crate::handover::{executor_of, is_of_snapshot};
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
    /// The number of events that were left out, because events of other threads before them are missing. A recording
    /// that ends while the program runs has what some threads did a moment longer than what others did. Behind them
    /// come only events from a state on with which the recording begins anew.
    pub left_out: u64,
    /// The places of the states with which the recording begins anew. Events of other threads before them may be
    /// missing: a recording that began while another one ended has some of those, and not all.
    pub anew: Vec<usize>,
}

/// The events of a thread while it worked with the scheduler.
struct Turn {
    /// The number of its hand-over, 0 for the first thread.
    number: u64,
    /// The number of the turn before, and of the events in it; `None` if nothing is known.
    previous: Option<(u64, u64)>,
    /// The number of events so far, without snapshots. If the turn began in an earlier file, it includes those.
    count: u64,
    /// True if the number of its events is not known, because its beginning is not.
    is_open: bool,
    has_snapshot: bool,
    /// True if the recording begins anew with the turn.
    is_anew: bool,
}

/// Returns the events of the executor with that number, in the order in which its scheduler saw them.
///
/// Each thread recorded its own events in order. Where another thread took over, it recorded a growing number. What a
/// thread recorded before its first number is ordered by time.
#[must_use]
pub fn order(recording: &Recording, executor: u16) -> Ordered<'_> {
    let mut ordered = Ordered { is_damaged: !recording.faults.is_empty(), ..Ordered::default() };
    // The turn in which each thread records.
    let mut turns: Vec<Turn> = Vec::new();
    let mut current: BTreeMap<u32, usize> = BTreeMap::new();
    let mut without = 0;
    let mut keyed: Vec<(usize, &Recorded)> = Vec::new();
    let mut dropped: BTreeMap<u32, u64> = BTreeMap::new();
    for recorded in &recording.events {
        if let Event::Dropped { count } = recorded.event {
            *dropped.entry(recorded.thread).or_default() += count;
        }
        if executor_of(&recorded.event) != Some(executor) {
            continue;
        }
        if let Event::HandedOver { number, previous, count, .. } = recorded.event {
            let current = current.entry(recorded.thread).or_insert(usize::MAX);
            hand_over(&mut turns, current, number, previous, count);
            continue;
        }
        let turn = *current.entry(recorded.thread).or_insert_with(|| {
            without += 1;
            // The first turn of a recording begins with the state of the scheduler.
            let is_open = !matches!(recorded.event, Event::Snapshot { .. });
            turns.push(Turn { number: 0, previous: None, count: 0, is_open, has_snapshot: false, is_anew: false });
            turns.len() - 1
        });
        turns[turn].count += u64::from(!is_of_snapshot(&recorded.event));
        turns[turn].has_snapshot |= matches!(recorded.event, Event::Snapshot { .. });
        keyed.push((turn, recorded));
    }
    ordered.is_by_time = turns.iter().all(|turn| turn.number == 0) && without > 1;
    ordered.dropped = current.keys().filter_map(|thread| dropped.get(thread)).sum();
    // The turn before may lack what is in its middle, not only its end.
    let is_doubtful = ordered.dropped > 0 || ordered.is_damaged;
    let gaps = gaps(&turns, is_doubtful);
    let number = |turn: usize| turns[turn].number;
    if !keyed.is_sorted_by_key(|(turn, _)| number(*turn)) {
        // A stable sort keeps the order of time where there are no numbers.
        keyed.sort_by_key(|(turn, _)| number(*turn));
    }
    if !gaps.is_empty() {
        let all = keyed.len();
        keyed.retain(|(turn, _)| {
            let number = number(*turn);
            let next = gaps.partition_point(|gap| gap.end <= number);
            !gaps.get(next).is_some_and(|gap| gap.contains(&number))
        });
        ordered.left_out = (all - keyed.len()) as u64;
    }
    for (place, (turn, recorded)) in keyed.iter().enumerate() {
        if turns[*turn].is_anew && matches!(recorded.event, Event::Snapshot { .. }) {
            ordered.anew.push(place);
        }
    }
    ordered.events = keyed.into_iter().map(|(_, recorded)| recorded).collect();
    ordered
}

/// Begins the turn of a thread whose turn so far is `current`, or goes on with one that began in an earlier file.
fn hand_over(turns: &mut Vec<Turn>, current: &mut usize, number: u64, previous: u64, count: u64) {
    let goes_on = previous == number;
    if goes_on && let Some(turn) = turns.get_mut(*current).filter(|turn| turn.number == number) {
        // The file before is there, too.
        turn.count = turn.count.max(count);
        return;
    }
    let is_known = !goes_on && previous != u64::MAX && (previous, count) != (0, 0);
    let known = if is_known { Some((previous, count)) } else { None };
    let count = if goes_on { count } else { 0 };
    let is_anew = previous == u64::MAX;
    turns.push(Turn { number, previous: known, count, is_open: false, has_snapshot: false, is_anew });
    *current = turns.len() - 1;
}

/// Returns the numbers of turns that cannot be followed: from one before which events are missing up to the next one
/// with which the recording begins anew. If it `is_doubtful` where they are missing, the turn which lacks them is the
/// first one. The gaps are in order and do not overlap.
fn gaps(turns: &[Turn], is_doubtful: bool) -> Vec<Range<u64>> {
    let by_number: BTreeMap<u64, &Turn> = turns.iter().map(|turn| (turn.number, turn)).collect();
    // Nothing that precedes the state of the scheduler is needed.
    let first = by_number.values().find(|turn| turn.has_snapshot).map_or(0, |turn| turn.number);
    let mut gaps: Vec<Range<u64>> = Vec::new();
    let mut before: Option<&Turn> = None;
    for turn in by_number.range(first..).map(|(_, turn)| *turn) {
        if turn.is_anew
            && turn.has_snapshot
            && let Some(gap) = gaps.last_mut()
            && gap.end == u64::MAX
        {
            gap.end = turn.number;
        }
        let is_in_gap = gaps.last().is_some_and(|gap| gap.end == u64::MAX);
        if let (false, Some(before), Some((number, count))) = (is_in_gap, before, turn.previous) {
            let is_there = before.number == number && (before.is_open || before.count == count);
            if !is_there {
                gaps.push(if is_doubtful { before.number } else { turn.number }..u64::MAX);
            }
        }
        before = Some(turn);
    }
    gaps
}
