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
    /// Sorted by their stamps. Of samples with equal stamps, the one that was added last comes last.
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
    /// The frame's parents are as before. The sample adds a time at which the pose is known, or is a copy of one that is there.
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

    /// Forgets the samples that are older than the newest one so far by more than `keep_ns`. Then adds a sample of the same kind,
    /// unless it is as old itself, or an exact copy of another one. A static sample replaces the one before.
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
        let equals = samples.iter().take(place).rev().take_while(|other| other.stamp == sample.stamp);
        if equals.into_iter().any(|other| *other == sample) {
            return Inserted::Data;
        }
        let has_new_parent = place.checked_sub(1).is_none_or(|before| samples[before].parent != sample.parent);
        samples.insert(place, sample);
        if has_new_parent { Inserted::Structure } else { Inserted::Data }
    }

    /// Returns the pose at a time: interpolated between the samples before and after it, or that of the sample before if the
    /// parent changes between them. At time zero, returns the newest.
    pub(crate) fn at(&self, time: i64) -> Result<Sample, Gap> {
        let samples = match self {
            Self::Static(sample) => return Ok(Sample { stamp: time, ..*sample }),
            Self::Dynamic(samples) => samples,
        };
        let (Some(oldest), Some(newest)) = (samples.front(), samples.back()) else { return Err(Gap::TooFew(None)) };
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
        let (before, after) = (&samples[after - 1], &samples[after]);
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
