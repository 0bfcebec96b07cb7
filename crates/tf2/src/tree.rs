//! Frames, and the ways between them. Pure: no clock, no lock, no messages.

use std::collections::HashMap;
use std::sync::Arc;

use crate::history::{Gap, History, Inserted, Sample};
use crate::pose::Pose;

/// The most frames between a frame and its root. More are a loop, as in tf2.
const DEPTH_MAX: usize = 1000;

/// The number of a frame: its place in [`Tree::frames`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct FrameId(pub(crate) u32);

/// A frame, with its transforms if it has a parent.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) name: Arc<str>,
    pub(crate) history: Option<History>,
    /// Origin of the last transform.
    pub(crate) authority: String,
}

/// Reasons for which there is no transform between two frames that are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// The search from this frame upwards met more than [`DEPTH_MAX`] frames, so one of them is its own ancestor.
    Loop(FrameId),
    NotConnected,
    /// `frame` has no pose at `time`, because of `gap`. If the search from the other side also ended at a frame without
    /// a pose, that is `other`.
    Gap {
        frame: FrameId,
        time: i64,
        gap: Gap,
        other: Option<FrameId>,
    },
}

/// All frames that transforms have mentioned, which are found by number and by name.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) frames: Vec<Frame>,
    ids: HashMap<Arc<str>, FrameId>,
    pub(crate) keep_ns: i64,
}

impl Tree {
    /// Creates a tree that keeps transforms for `keep_ns` nanoseconds.
    pub(crate) fn new(keep_ns: i64) -> Self {
        Self { frames: Vec::new(), ids: HashMap::new(), keep_ns }
    }

    /// Returns the frame of that name, if a transform has mentioned it.
    pub(crate) fn find(&self, name: &str) -> Option<FrameId> {
        self.ids.get(name).copied()
    }

    fn find_or_add(&mut self, name: &str) -> FrameId {
        self.find(name).unwrap_or_else(|| {
            let id = FrameId(self.frames.len() as u32);
            let name = Arc::<str>::from(name);
            self.frames.push(Frame { name: Arc::clone(&name), history: None, authority: String::new() });
            self.ids.insert(name, id);
            id
        })
    }

    pub(crate) fn frame(&self, id: FrameId) -> &Frame {
        &self.frames[id.0 as usize]
    }

    fn history(&self, id: FrameId) -> Option<&History> {
        self.frame(id).history.as_ref()
    }

    /// Sets the pose of a frame in its parent: `is_static` at all times, otherwise at the time `stamp`. A static one
    /// replaces all dynamic ones, and a dynamic one replaces a static one. Returns the frame, and the effect on its
    /// transforms.
    pub(crate) fn set(
        &mut self,
        child: &str,
        parent: &str,
        stamp: i64,
        pose: Pose,
        is_static: bool,
        authority: &str,
    ) -> (FrameId, Inserted) {
        let id = self.find_or_add(child);
        let parent = self.find_or_add(parent);
        let sample = Sample { stamp, parent, pose };
        let keep_ns = self.keep_ns;
        let frame = &mut self.frames[id.0 as usize];
        let inserted = match &mut frame.history {
            Some(history) if history.is_static() == is_static => history.insert(sample, keep_ns),
            history => {
                *history = Some(History::new(sample, is_static));
                Inserted::Structure
            }
        };
        if !matches!(inserted, Inserted::TooOld(_)) && frame.authority != authority {
            authority.clone_into(&mut frame.authority);
        }
        (id, inserted)
    }

    /// Forgets all transforms but the static ones.
    pub(crate) fn clear(&mut self) {
        for frame in &mut self.frames {
            if let Some(history) = &mut frame.history {
                history.clear();
            }
        }
    }

    /// Returns the pose of the frame `source` in the frame `target` at a time (zero: the latest common one), and that
    /// time.
    pub(crate) fn look_up(&self, target: FrameId, source: FrameId, time: i64) -> Result<(Pose, i64), Failure> {
        if source == target {
            return Ok((Pose::IDENTITY, time));
        }
        let time = if time == 0 { self.latest_common_time(target, source)? } else { time };
        // From the source up to its root.
        let mut source_in_top = Pose::IDENTITY;
        let mut top = source;
        let mut gap = None;
        let mut depth = 0;
        while let Some(history) = self.history(top) {
            match history.at(time) {
                Ok(_) if top == target => return Ok((source_in_top, time)),
                Ok(sample) => (source_in_top, top) = (sample.pose * source_in_top, sample.parent),
                // The target may be below this frame.
                Err(found) => {
                    gap = Some(found);
                    break;
                }
            }
            depth += 1;
            if depth > DEPTH_MAX {
                return Err(Failure::Loop(source));
            }
        }
        // From the target up to the frame where the way from the source ended.
        let mut target_in_top = Pose::IDENTITY;
        let mut frame = target;
        let mut depth = 0;
        while frame != top {
            let Some(history) = self.history(frame) else {
                let of_source = |gap| Failure::Gap { frame: top, time, gap, other: None };
                return Err(gap.map_or(Failure::NotConnected, of_source));
            };
            match history.at(time) {
                Ok(_) if frame == source => return Ok((target_in_top.inverse(), time)),
                Ok(sample) => (target_in_top, frame) = (sample.pose * target_in_top, sample.parent),
                Err(found) => {
                    // If data is missing on both ways, the error names the frame with the newer data, as in tf2.
                    return Err(match gap {
                        Some(gap) if self.latest_of(top) >= self.latest_of(frame) => {
                            Failure::Gap { frame: top, time, gap, other: Some(frame) }
                        }
                        of_source => Failure::Gap { frame, time, gap: found, other: of_source.map(|_| top) },
                    });
                }
            }
            depth += 1;
            if depth > DEPTH_MAX {
                return Err(Failure::Loop(target));
            }
        }
        Ok((target_in_top.inverse() * source_in_top, time))
    }

    /// Returns the latest time at which all frames on the way between two frames have data; zero if all transforms on
    /// the way are static.
    ///
    /// The way between them is that of the newest transforms.
    pub(crate) fn latest_common_time(&self, target: FrameId, source: FrameId) -> Result<i64, Failure> {
        if source == target {
            return Ok(self.latest_of(source));
        }
        // A static transform has the time zero, which limits nothing.
        let limit = |time: i64, stamp: i64| if stamp == 0 { time } else { time.min(stamp) };
        let known = |time: i64| if time == i64::MAX { 0 } else { time };
        let mut above_source = Vec::new();
        let mut frame = source;
        let mut time = i64::MAX;
        while let Some((stamp, parent)) = self.history(frame).and_then(History::latest) {
            time = limit(time, stamp);
            above_source.push((stamp, parent));
            frame = parent;
            if frame == target {
                return Ok(known(time));
            }
            if above_source.len() > DEPTH_MAX {
                return Err(Failure::Loop(source));
            }
        }
        let mut frame = target;
        let mut time = i64::MAX;
        for _ in 0..=DEPTH_MAX {
            let Some((stamp, parent)) = self.history(frame).and_then(History::latest) else {
                return Err(Failure::NotConnected);
            };
            time = limit(time, stamp);
            if let Some(meeting) = above_source.iter().position(|(_, above)| *above == parent) {
                return Ok(known(above_source[..=meeting].iter().fold(time, |time, (stamp, _)| limit(time, *stamp))));
            }
            frame = parent;
            if frame == source {
                return Ok(known(time));
            }
        }
        Err(Failure::Loop(target))
    }

    /// Returns the time of a frame's newest transform; zero if that is static, or there is none.
    pub(crate) fn latest_of(&self, frame: FrameId) -> i64 {
        self.history(frame).and_then(History::latest).map_or(0, |(stamp, _)| stamp)
    }
}
