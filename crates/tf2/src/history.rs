//! The transforms of one frame to its parents, by time. Times are in nanoseconds.

use std::collections::VecDeque;

use crate::pose::Pose;
use crate::tree::FrameId;

/// A frame's pose in its parent at one time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Sample {
    pub(crate) stamp: i64,
    pub(crate) parent: FrameId,
    pub(crate) pose: Pose,
}

/// The transforms of a frame: one for all time, or many.
#[derive(Debug)]
pub(crate) enum History {
    Static(Sample),
    /// Sorted by their stamps. Of samples with equal stamps, the first one that was added and the last one are kept, in
    /// that order.
    ///
    /// tf2 keeps all of them. No look-up tells the difference: a frame's pose at a stamp is that of the last one, or of
    /// the first one if the stamp is the oldest; from there on it is interpolated from the last one, and up to there
    /// towards the first one.
    Dynamic(VecDeque<Sample>),
}

/// Reasons for which a frame has no pose at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gap {
    /// There is no sample, or only one; the time is the stamp of that one.
    TooFew(Option<i64>),
    /// The newest sample is older than the time; this is its stamp.
    Newest(i64),
    /// The oldest sample is newer than the time; this is its stamp.
    Oldest(i64),
}

/// The effect of a new sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inserted {
    /// The frame's parents are as before. The sample adds a time at which the pose is known, or is a copy of one that
    /// is there.
    Data,
    /// With the sample, the frame has another parent than before at some times, or a parent at all.
    Structure,
    /// The sample is too old to be kept. The time is that of the newest sample.
    TooOld(i64),
}

impl History {
    /// Creates the history of a frame with its first sample.
    pub(crate) fn new(sample: Sample, is_static: bool) -> Self {
        if is_static { Self::Static(sample) } else { Self::Dynamic(VecDeque::from([sample])) }
    }

    /// Forgets the samples that are older than the newest one so far by more than `keep_ns`. Then adds a sample of the
    /// same kind, unless it is as old itself, or an exact copy of another one. Of the samples with its stamp, it
    /// replaces all but the first. A static sample replaces the one before. Takes logarithmic time, apart from the
    /// samples that are forgotten or moved to make room.
    pub(crate) fn insert(&mut self, sample: Sample, keep_ns: i64) -> Inserted {
        let samples = match self {
            Self::Static(before) => {
                let is_moved = before.parent != sample.parent;
                *before = sample;
                return if is_moved { Inserted::Structure } else { Inserted::Data };
            }
            Self::Dynamic(samples) => samples,
        };
        let Some(newest) = samples.back().map(|sample| sample.stamp) else {
            samples.push_back(sample);
            return Inserted::Structure;
        };
        while samples.front().is_some_and(|oldest| oldest.stamp.saturating_add(keep_ns) < newest) {
            samples.pop_front();
        }
        if sample.stamp < newest.saturating_sub(keep_ns) {
            return Inserted::TooOld(newest);
        }
        let place = if newest <= sample.stamp {
            samples.len()
        } else {
            samples.partition_point(|other| other.stamp <= sample.stamp)
        };
        let with_its_stamp = |at: Option<usize>| {
            let other = at.and_then(|at| samples.get(at));
            other.filter(|other| other.stamp == sample.stamp)
        };
        let last = with_its_stamp(place.checked_sub(1));
        let first = with_its_stamp(place.checked_sub(2));
        if [last, first].contains(&Some(&sample)) {
            return Inserted::Data;
        }
        let is_third = first.is_some();
        let has_new_parent = place.checked_sub(1).is_none_or(|before| samples[before].parent != sample.parent);
        if is_third {
            samples[place - 1] = sample;
        } else {
            samples.insert(place, sample);
        }
        if has_new_parent { Inserted::Structure } else { Inserted::Data }
    }

    /// Returns the pose at a time: interpolated between the samples before and after it, or that of the sample before
    /// if the parent changes between them. At time zero, returns the newest.
    pub(crate) fn at(&self, time: i64) -> Result<Sample, Gap> {
        let samples = match self {
            Self::Static(sample) => return Ok(Sample { stamp: time, ..*sample }),
            Self::Dynamic(samples) => samples,
        };
        let Some(oldest) = samples.front() else { return Err(Gap::TooFew(None)) };
        let Some(newest) = samples.back() else { return Err(Gap::TooFew(None)) };
        if time == 0 || time == newest.stamp {
            return Ok(*newest);
        }
        if samples.len() == 1 {
            return Err(Gap::TooFew(Some(newest.stamp)));
        }
        if time == oldest.stamp {
            return Ok(*oldest);
        }
        if time > newest.stamp {
            return Err(Gap::Newest(newest.stamp));
        }
        if time < oldest.stamp {
            return Err(Gap::Oldest(oldest.stamp));
        }
        let after = samples.partition_point(|sample| sample.stamp <= time);
        let before = &samples[after - 1];
        let after = &samples[after];
        if before.parent != after.parent {
            return Ok(*before);
        }
        let ratio = (time - before.stamp) as f64 / (after.stamp - before.stamp) as f64;
        Ok(Sample { stamp: time, pose: before.pose.interpolate(&after.pose, ratio), ..*before })
    }

    /// Returns the time of the newest sample, zero for a static one, with its parent; `None` if there is no sample.
    pub(crate) fn latest(&self) -> Option<(i64, FrameId)> {
        match self {
            Self::Static(sample) => Some((0, sample.parent)),
            Self::Dynamic(samples) => samples.back().map(|sample| (sample.stamp, sample.parent)),
        }
    }

    /// Returns the time of the oldest sample, zero for a static one; `None` if there is no sample.
    pub(crate) fn oldest(&self) -> Option<i64> {
        match self {
            Self::Static(_) => Some(0),
            Self::Dynamic(samples) => samples.front().map(|sample| sample.stamp),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Static(_) => 1,
            Self::Dynamic(samples) => samples.len(),
        }
    }

    pub(crate) const fn is_static(&self) -> bool {
        matches!(self, Self::Static(_))
    }

    /// Forgets all samples, unless the transform is static.
    pub(crate) fn clear(&mut self) {
        if let Self::Dynamic(samples) = self {
            samples.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEP: i64 = 1_000;

    fn sample(stamp: i64, parent: u32, x: f64) -> Sample {
        let pose = Pose { translation: glam::DVec3::new(x, 0.0, 0.0), ..Pose::IDENTITY };
        Sample { stamp, parent: FrameId(parent), pose }
    }

    #[test]
    fn of_many_samples_with_one_stamp_two_are_kept() {
        let mut history = History::new(sample(5, 0, 0.0), false);
        for n in 1..40_000 {
            assert_eq!(history.insert(sample(5, 0, f64::from(n)), KEEP), Inserted::Data);
        }
        assert_eq!((history.len(), history.at(5)), (2, Ok(sample(5, 0, 39_999.0))));
        // A copy adds nothing, and a further stamp has samples of its own.
        assert_eq!(history.insert(sample(5, 0, 39_999.0), KEEP), Inserted::Data);
        history.insert(sample(6, 0, 1.0), KEEP);
        assert_eq!(
            (history.len(), history.at(5)),
            (3, Ok(sample(5, 0, 0.0))),
            "that of the oldest stamp that came first"
        );
    }

    /// As in tf2: it keeps all samples with equal stamps, the last one that came as the newest.
    #[test]
    fn look_ups_are_those_of_a_buffer_that_keeps_all() {
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % below) as i64
        };
        for _ in 0..200 {
            let mut all: Vec<Sample> = Vec::new();
            let mut history = None;
            for n in 0..60 {
                let new = sample(2 * (1 + draw(8)), draw(2) as u32, f64::from(n));
                let place = all.partition_point(|other| other.stamp <= new.stamp);
                all.insert(place, new);
                match &mut history {
                    None => history = Some(History::new(new, false)),
                    Some(history) => drop(history.insert(new, KEEP)),
                }
                let kept_all = History::Dynamic(all.iter().copied().collect());
                let history = history.as_ref().unwrap();
                for time in 0..20 {
                    assert_eq!(history.at(time), kept_all.at(time), "at {time} of {all:?}");
                }
                assert_eq!((history.latest(), history.oldest()), (kept_all.latest(), kept_all.oldest()));
            }
        }
    }
}
