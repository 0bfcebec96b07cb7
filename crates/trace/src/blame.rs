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
}

impl<'a> Blame<'a> {
    /// Collects the segments of the model.
    #[must_use]
    pub fn new(model: &'a Model) -> Self {
        let mut segments = vec![Vec::new(); model.executors.len()];
        for (place, activation) in model.activations.iter().enumerate() {
            let executor = model.callbacks[activation.callback].executor;
            segments[executor].extend(activation.segments.iter().map(|of| (of.start_ns, of.end_ns, place)));
        }
        let mut longest = Vec::new();
        for segments in &mut segments {
            segments.sort_unstable();
            longest.push(segments.iter().map(|(start, end, _)| end.saturating_sub(*start)).max().unwrap_or(0));
        }
        Self { model, segments, longest }
    }

    /// Returns the segments of an executor that overlap the time from `from` to `to`: start, end, and place of the activation.
    pub fn overlapping(&self, executor: usize, from: u64, to: u64) -> impl Iterator<Item = (u64, u64, usize)> + '_ {
        let segments = &self.segments[executor];
        let earliest = from.saturating_sub(self.longest[executor]);
        let begin = segments.partition_point(|(start, ..)| *start < earliest);
        let in_time = segments[begin..].iter().take_while(move |(start, ..)| *start < to);
        in_time.copied().filter(move |(_, end, _)| *end > from)
    }

    /// Returns the reasons for which the activation at this place waited, the largest share first. The time of a callback of its
    /// group counts in full. That of other callbacks is divided by the number of the executor's threads, on which they run at once.
    #[must_use]
    pub fn of(&self, activation: usize) -> Vec<Share> {
        let model = self.model;
        let waiting = &model.activations[activation];
        let callback = &model.callbacks[waiting.callback];
        let executor = &model.executors[callback.executor];
        let threads = u64::from(executor.threads.max(1));
        let mut shares: BTreeMap<(Reason, Option<usize>), u64> = BTreeMap::new();
        for segment in &waiting.segments {
            let (from, to) = (segment.release_ns, segment.start_ns);
            let wait = to.saturating_sub(from);
            let beside = self.overlapping(callback.executor, from, to).filter(|(.., other)| *other != activation);
            let beside = beside.map(|(start, end, other)| {
                let by = model.activations[other].callback;
                Beside {
                    callback: by,
                    // A damaged recording may have a release after its start.
                    ns: end.min(to).saturating_sub(start.max(from)),
                    excludes: excludes(callback, &model.callbacks[by]),
                    reason: reason(&executor.policy, model.callbacks[by].priority > callback.priority, start >= from),
                }
            });
            let beside: Vec<_> = beside.collect();
            explain(wait, threads, beside.iter().copied(), |why, by, ns| {
                *shares.entry((why, by)).or_default() += ns;
            });
        }
        let shares = shares.into_iter().filter(|(_, ns)| *ns > 0);
        let mut shares: Vec<Share> = shares.map(|((reason, callback), ns)| Share { reason, callback, ns }).collect();
        shares.sort_by_key(|share| std::cmp::Reverse(share.ns));
        shares
    }
}

/// Returns true if both callbacks are in the same mutually exclusive group.
fn excludes(one: &Callback, other: &Callback) -> bool {
    one.excludes && one.process == other.process && one.executor == other.executor && one.group == other.group
}
