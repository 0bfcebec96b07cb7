//! The reasons for which an activation waited.

use std::collections::BTreeMap;

use crate::model::{Callback, Model};
pub use crate::waits::Reason;
use crate::waits::{Beside, explain, reason};

/// A part of an activation's wait: all of its time that has the same reason and callback.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// The reason.
    pub reason: Reason,
    /// The place in [`Model::callbacks`] of the callback that ran meanwhile; `None` for [`Reason::Idle`].
    pub callback: Option<usize>,
    /// The length of the part, in nanoseconds.
    pub ns: u64,
}

/// Explanation of waits: all segments of a model by executor, in the order of their starts.
pub struct Blame<'a> {
    model: &'a Model,
    /// By executor: start, end, activation.
    segments: Vec<Vec<(u64, u64, usize)>>,
    /// By executor: the length of the longest segment, in nanoseconds. It limits the search for overlaps.
    longest: Vec<u64>,
    /// By executor: the times for which a suspended activation held its group, with the activation.
    held: Vec<Vec<(u64, u64, usize)>>,
    /// By executor: the length of the longest one of these.
    longest_held: Vec<u64>,
}

impl<'a> Blame<'a> {
    /// Collects the segments of the model.
    #[must_use]
    pub fn new(model: &'a Model) -> Self {
        let mut segments = vec![Vec::new(); model.executors.len()];
        let mut held = segments.clone();
        for (place, activation) in model.activations.iter().enumerate() {
            let callback = &model.callbacks[activation.callback];
            let executor = callback.executor;
            segments[executor].extend(activation.segments.iter().map(|of| (of.start_ns, of.end_ns, place)));
            if callback.excludes && !callback.frees_group {
                let ends = activation.segments.iter().map(|of| of.end_ns);
                let starts = activation.segments.iter().skip(1).map(|of| of.start_ns);
                // An activation that is still suspended when the recording ends holds its group until then.
                let last = if activation.end_ns.is_none() { Some(model.span.1) } else { None };
                let times = ends.zip(starts.chain(last)).filter(|(from, to)| from < to);
                held[executor].extend(times.map(|(from, to)| (from, to, place)));
            }
        }
        let longest = segments.iter_mut().map(|times| sort(times)).collect();
        let longest_held = held.iter_mut().map(|times| sort(times)).collect();
        Self { model, segments, longest, held, longest_held }
    }

    /// Returns the segments of an executor that overlap the time from `from` to `to`: start, end, and place of the
    /// activation.
    pub fn overlapping(&self, executor: usize, from: u64, to: u64) -> impl Iterator<Item = (u64, u64, usize)> + '_ {
        overlapping(&self.segments[executor], self.longest[executor], from, to)
    }

    /// Returns the reasons for which the activation at this place waited, the largest share first. The time of a
    /// callback of its group counts in full. That of other callbacks is divided by the number of the executor's
    /// threads, on which they run at once.
    #[must_use]
    pub fn of(&self, activation: usize) -> Vec<Share> {
        let waiting = &self.model.activations[activation];
        let waits = waiting.segments.iter().enumerate().map(|(number, segment)| {
            let from = if number == 0 { waiting.eligible_ns() } else { segment.release_ns };
            (from, segment.start_ns)
        });
        self.of_waits(waiting.callback, Some(activation), waits)
    }

    /// Returns the reasons for which a callback waited from `from` to `to` and did not run, as [`of`](Self::of) does.
    #[must_use]
    pub fn of_wait(&self, callback: usize, from: u64, to: u64) -> Vec<Share> {
        self.of_waits(callback, None, std::iter::once((from, to)))
    }

    fn of_waits(
        &self,
        waiting: usize,
        activation: Option<usize>,
        waits: impl Iterator<Item = (u64, u64)>,
    ) -> Vec<Share> {
        let model = self.model;
        let callback = &model.callbacks[waiting];
        let executor = &model.executors[callback.executor];
        let threads = u64::from(executor.threads.max(1));
        let mut shares: BTreeMap<(Reason, Option<usize>), u64> = BTreeMap::new();
        for (from, to) in waits {
            let held = &self.held[callback.executor];
            let longest = self.longest_held[callback.executor];
            let held = overlapping(held, longest, from, to).map(|part| (part, true));
            let ran = self.overlapping(callback.executor, from, to).map(|part| (part, false));
            let mut beside = Vec::new();
            for ((start, end, other), is_held) in ran.chain(held) {
                let by = model.activations[other].callback;
                let excludes = excludes(callback, &model.callbacks[by]);
                if activation == Some(other) || is_held && !excludes {
                    continue;
                }
                // A damaged recording may have a release after its start.
                let ns = end.min(to).saturating_sub(start.max(from));
                let is_higher = model.callbacks[by].priority > callback.priority;
                let reason = reason(&executor.policy, is_higher, start >= from);
                beside.push(Beside { callback: by, ns, excludes, reason });
            }
            explain(to.saturating_sub(from), threads, beside.iter().copied(), |why, by, ns| {
                *shares.entry((why, by)).or_default() += ns;
            });
        }
        let shares = shares.into_iter().filter(|(_, ns)| *ns > 0);
        let mut shares: Vec<Share> = shares.map(|((reason, callback), ns)| Share { reason, callback, ns }).collect();
        shares.sort_by_key(|share| std::cmp::Reverse(share.ns));
        shares
    }
}

/// Sorts times by their starts. Returns the length of the longest one.
fn sort(times: &mut [(u64, u64, usize)]) -> u64 {
    times.sort_unstable();
    times.iter().map(|(start, end, _)| end.saturating_sub(*start)).max().unwrap_or(0)
}

/// Returns those of the sorted times, of which none is longer than `longest`, that overlap the time from `from` to
/// `to`.
fn overlapping(
    times: &[(u64, u64, usize)],
    longest: u64,
    from: u64,
    to: u64,
) -> impl Iterator<Item = (u64, u64, usize)> + '_ {
    let begin = times.partition_point(|(start, ..)| *start < from.saturating_sub(longest));
    let in_time = times[begin..].iter().take_while(move |(start, ..)| *start < to);
    in_time.copied().filter(move |(_, end, _)| *end > from)
}

/// Returns true if both callbacks are in the same mutually exclusive group.
fn excludes(one: &Callback, other: &Callback) -> bool {
    one.excludes && one.process == other.process && one.executor == other.executor && one.group == other.group
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_began_before_a_time_and_ran_into_it_overlaps_it() {
        let mut times = [(0, 50, 0), (60, 70, 1), (5, 6, 2), (80, 90, 3)];
        let longest = sort(&mut times);
        let found: Vec<_> = overlapping(&times, longest, 40, 65).map(|(.., who)| who).collect();
        assert_eq!(found, [0, 1]);
    }
}
