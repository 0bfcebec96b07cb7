//! Transforms of the last seconds, shared by all that look them up.
//!
//! The crate `transforms` (2.3) has look-ups over time, too, but answers otherwise than tf2: a frame cannot change its
//! parent or become static, of two transforms of one time the first is lost, and the latest time takes two calls. So
//! the buffer is ours, and the mathematics are glam's.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use glam::{DQuat, DVec3};
use rospin_engine::{ForeignWaker, Mutex, MutexGuard};
use rospin_msgs::builtin_interfaces::msg::Time;
use rospin_msgs::geometry_msgs::msg::{Transform, TransformStamped};
use rospin_msgs::std_msgs::msg::Header;
use rospin_node::Stamped;

use crate::error::{SetTransformError, TransformError};
use crate::history::{Gap, Inserted};
use crate::pose::Pose;
use crate::tree::{Failure, FrameId, Tree};
use crate::waiters::Waiters;
use crate::when::{When, time_of};

/// Limit of the difference between a rotation's squared length and one, itself excluded, as in tf2.
const LENGTH_TOLERANCE: f64 = 0.01;

/// The transforms between frames over the last seconds. Cheap to clone; clones are the same buffer.
///
/// Frames form trees. Each frame has at most one parent at a time, and transforms to it, dynamic or static. The
/// transform between two frames goes over their common ancestor; at a time between two transforms it is interpolated.
/// Nothing is extrapolated.
///
/// All methods lock for a moment, with priority inheritance. Look-ups allocate only for their results. Setting a
/// transform allocates when the memory of a frame's transforms grows.
///
/// ```
/// use rospin::msgs::builtin_interfaces::msg::Time;
/// use rospin::msgs::geometry_msgs::msg::TransformStamped;
/// use rospin::tf2::{Buffer, Latest, TransformError};
///
/// let buffer = Buffer::new();
/// for sec in [10, 20] {
///     let mut transform = TransformStamped { child_frame_id: "robot".to_owned(), ..TransformStamped::default() };
///     transform.header.frame_id = "map".to_owned();
///     transform.header.stamp.sec = sec;
///     transform.transform.translation.x = sec.into();
///     buffer.set_transform(&transform, "example")?;
/// }
/// let at = |sec| Time { sec, nanosec: 0 };
/// assert_eq!(buffer.lookup_transform("map", "robot", at(13))?.transform.translation.x, 13.0);
/// assert_eq!(buffer.lookup_transform("robot", "map", Latest)?.transform.translation.x, -20.0);
/// let error = buffer.lookup_transform("map", "robot", at(21)).unwrap_err();
/// assert!(matches!(error, TransformError::Future { newest_ns: 20_000_000_000, .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Buffer(Arc<Mutex<State>>);

pub(crate) struct State {
    pub(crate) tree: Tree,
    pub(crate) waiters: Waiters,
}

impl Buffer {
    /// Default of the time for which transforms are kept. It is that of tf2.
    pub const DEFAULT_CACHE_TIME: Duration = Duration::from_secs(10);

    /// Creates an empty buffer that keeps the transforms of the last 10 seconds of each frame.
    #[must_use]
    pub fn new() -> Self {
        Self::with_cache_time(Self::DEFAULT_CACHE_TIME)
    }

    /// Creates an empty buffer that keeps each frame's transforms for `cache_time`, counted back from the frame's
    /// newest one.
    #[must_use]
    pub fn with_cache_time(cache_time: Duration) -> Self {
        let keep_ns = i64::try_from(cache_time.as_nanos()).unwrap_or(i64::MAX);
        Self(Arc::new(Mutex::new(State { tree: Tree::new(keep_ns), waiters: Waiters::default() })))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// Adds a transform of a frame at a time. `authority` is the name of the transform's origin, for
    /// [`all_frames_as_yaml`](Self::all_frames_as_yaml).
    ///
    /// Transforms may come in any order. Those that are older than the frame's newest one by more than the cache time
    /// are forgotten with the frame's next transform. A slash at the beginning of a frame's name is dropped, as in tf2.
    ///
    /// # Errors
    /// If the transform is invalid or too old. It is not added then.
    pub fn set_transform(&self, transform: &TransformStamped, authority: &str) -> Result<(), SetTransformError> {
        self.set(transform, authority, false)
    }

    /// Sets the transform of a frame for all times, in place of all transforms that the frame had. Its stamp does not
    /// matter. `authority` is that of [`set_transform`](Self::set_transform).
    ///
    /// # Errors
    /// If the transform is invalid. Nothing is changed then.
    pub fn set_static_transform(&self, transform: &TransformStamped, authority: &str) -> Result<(), SetTransformError> {
        self.set(transform, authority, true)
    }

    fn set(&self, transform: &TransformStamped, authority: &str, is_static: bool) -> Result<(), SetTransformError> {
        let (child, parent, pose) = checked(transform)?;
        let stamp_ns = transform.stamp_ns();
        let (inserted, kept_ns, woken) = {
            let mut state = self.lock();
            let (frame, inserted) = state.tree.set(child, parent, stamp_ns, pose, is_static, authority);
            (inserted, state.tree.keep_ns, state.waiters.take(frame, inserted == Inserted::Structure))
        };
        wake(woken);
        match inserted {
            Inserted::Data | Inserted::Structure => Ok(()),
            Inserted::TooOld(newest_ns) => {
                Err(SetTransformError::TooOld { frame: child.to_owned(), stamp_ns, newest_ns, kept_ns })
            }
        }
    }

    /// Returns the transform from the frame `source` to the frame `target` at a time, or at the latest time that both
    /// have in common.
    ///
    /// It transforms coordinates in `source` to coordinates in `target`. It is the pose of `source` in `target`. The
    /// result's stamp is the time for which it holds; zero if that was to be the latest one, and all transforms on the
    /// way are static. The transform from a frame to itself is the identity, even if the buffer does not know the
    /// frame, as in tf2.
    ///
    /// # Errors
    /// If a frame's name is invalid or not known, the frames are not connected or form a loop, or a frame on the way
    /// has no data at that time.
    pub fn lookup_transform(
        &self,
        target: &str,
        source: &str,
        when: impl Into<When>,
    ) -> Result<TransformStamped, TransformError> {
        let (pose, time) = self.pose(target, source, when.into())?;
        Ok(stamped(pose, time_of(time), target, source))
    }

    /// Returns the transform from `source` at one time to `target` at another one. `fixed` is a frame that does not
    /// move meanwhile, such as the map. The result's stamp is `target_time`, or the time that was found if that is
    /// [`Latest`](When::Latest).
    ///
    /// It answers this question: something was seen from `source` at one time; after both frames have moved, where is
    /// it, seen from `target`?
    ///
    /// # Errors
    /// Those of the look-ups from `source` to `fixed`, and from `fixed` to `target`.
    pub fn lookup_transform_between(
        &self,
        target: &str,
        target_time: impl Into<When>,
        source: &str,
        source_time: impl Into<When>,
        fixed: &str,
    ) -> Result<TransformStamped, TransformError> {
        let (pose, time) = self.pose_between(target, target_time.into(), source, source_time.into(), fixed)?;
        Ok(stamped(pose, time_of(time), target, source))
    }

    /// Returns without an error if [`lookup_transform`](Self::lookup_transform) has a result now.
    ///
    /// # Errors
    /// The error that the look-up would return.
    pub fn can_transform(&self, target: &str, source: &str, when: impl Into<When>) -> Result<(), TransformError> {
        self.pose(target, source, when.into()).map(drop)
    }

    /// Returns without an error if [`lookup_transform_between`](Self::lookup_transform_between) has a result now.
    ///
    /// # Errors
    /// The error that the look-up would return.
    pub fn can_transform_between(
        &self,
        target: &str,
        target_time: impl Into<When>,
        source: &str,
        source_time: impl Into<When>,
        fixed: &str,
    ) -> Result<(), TransformError> {
        self.pose_between(target, target_time.into(), source, source_time.into(), fixed).map(drop)
    }

    /// Returns the latest time at which the transform between two frames is known, or `None` if it is known at all
    /// times, because all transforms on the way are static.
    ///
    /// # Errors
    /// If a frame's name is invalid or not known, or the frames are not connected or form a loop.
    pub fn latest_common_time(&self, target: &str, source: &str) -> Result<Option<Time>, TransformError> {
        let state = self.lock();
        let target_id = state.tree.known(target)?;
        let source_id = state.tree.known(source)?;
        let time = state.tree.latest_common_time(target_id, source_id);
        let time = time.map_err(|failure| state.tree.explain(failure, target, source))?;
        Ok(Some(time).filter(|time| *time != 0).map(time_of))
    }

    /// Returns the names of all frames, in the order in which they were first mentioned.
    #[must_use]
    pub fn frame_names(&self) -> Vec<String> {
        self.lock().tree.frames.iter().map(|frame| frame.name.to_string()).collect()
    }

    /// Returns true if the buffer has received a transform from or to that frame.
    #[must_use]
    pub fn has_frame(&self, frame: &str) -> bool {
        self.lock().tree.find(frame).is_some()
    }

    /// Returns the parent of a frame at a time, or `None` if it has none then or the buffer does not know the frame.
    #[must_use]
    pub fn parent(&self, frame: &str, when: impl Into<When>) -> Option<String> {
        let state = self.lock();
        let history = state.tree.frame(state.tree.find(frame)?).history.as_ref()?;
        let parent = history.at(when.into().nanos()).ok()?.parent;
        Some(state.tree.frame(parent).name.to_string())
    }

    /// Forgets all transforms but the static ones. Futures that wait for a transform go on waiting.
    pub fn clear(&self) {
        let woken = {
            let mut state = self.lock();
            state.tree.clear();
            state.waiters.take_all()
        };
        wake(woken);
    }

    pub(crate) fn pose(&self, target: &str, source: &str, when: When) -> Result<(Pose, i64), TransformError> {
        self.lock().tree.pose(target, source, when)
    }

    pub(crate) fn pose_between(
        &self,
        target: &str,
        target_time: When,
        source: &str,
        source_time: When,
        fixed: &str,
    ) -> Result<(Pose, i64), TransformError> {
        let state = self.lock();
        // The names of all three frames are checked before any look-up.
        for frame in [target, source, fixed] {
            state.tree.known(frame)?;
        }
        let (source_in_fixed, _) = state.tree.pose(fixed, source, source_time)?;
        let (fixed_in_target, time) = state.tree.pose(target, fixed, target_time)?;
        Ok((fixed_in_target * source_in_fixed, time))
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").finish_non_exhaustive()
    }
}

fn wake(woken: Vec<(u64, ForeignWaker)>) {
    for (_, waker) in woken {
        waker.wake();
    }
}

/// Reasons for which there is no transform between two names.
pub(crate) enum Obstacle {
    /// A name is invalid, or not known.
    Name(TransformError),
    Way(Failure),
}

impl Tree {
    /// Returns the frame of that name.
    pub(crate) fn known(&self, name: &str) -> Result<FrameId, TransformError> {
        let invalid = |reason| TransformError::InvalidFrame { frame: name.to_owned(), reason };
        match name {
            "" => Err(invalid("it is empty")),
            name if name.starts_with('/') => Err(invalid("it begins with `/`")),
            name => self.find(name).ok_or_else(|| TransformError::UnknownFrame { frame: name.to_owned() }),
        }
    }

    /// Returns the pose of `source` in `target`, and its time in nanoseconds; zero if it holds for all times.
    pub(crate) fn pose(&self, target: &str, source: &str, when: When) -> Result<(Pose, i64), TransformError> {
        self.try_pose(target, source, when).map_err(|obstacle| match obstacle {
            Obstacle::Name(error) => error,
            Obstacle::Way(failure) => self.explain(failure, target, source),
        })
    }

    /// Looks a pose up as [`pose`](Self::pose) does. From the error follows which new transforms may help.
    pub(crate) fn try_pose(&self, target: &str, source: &str, when: When) -> Result<(Pose, i64), Obstacle> {
        let time = when.nanos();
        if target == source {
            // Frames that the buffer does not know are handled the same way, as in tf2.
            let latest = || self.find(target).map_or(0, |frame| self.latest_of(frame));
            return Ok((Pose::IDENTITY, if time == 0 { latest() } else { time }));
        }
        let known = |name| self.known(name).map_err(Obstacle::Name);
        self.look_up(known(target)?, known(source)?, time).map_err(Obstacle::Way)
    }

    /// Returns the error for the failure of a look-up from `source` to `target`, with the names of the frames.
    pub(crate) fn explain(&self, failure: Failure, target: &str, source: &str) -> TransformError {
        let name = |frame| self.frame(frame).name.to_string();
        let target = target.to_owned();
        let source_frame = source.to_owned();
        match failure {
            Failure::Loop(frame) => TransformError::Loop { frame: name(frame) },
            Failure::NotConnected => TransformError::NotConnected { target, source_frame },
            Failure::Gap { frame, time: requested_ns, gap, .. } => {
                let frame = name(frame);
                match gap {
                    Gap::TooFew(only_ns) => {
                        TransformError::TooFew { target, source_frame, frame, requested_ns, only_ns }
                    }
                    Gap::Newest(newest_ns) => {
                        TransformError::Future { target, source_frame, frame, requested_ns, newest_ns }
                    }
                    Gap::Oldest(oldest_ns) => {
                        TransformError::Past { target, source_frame, frame, requested_ns, oldest_ns }
                    }
                }
            }
        }
    }
}

/// Returns the names of child and parent without a leading slash, and the pose, if all of them are valid.
fn checked(transform: &TransformStamped) -> Result<(&str, &str, Pose), SetTransformError> {
    let strip = |name| str::strip_prefix(name, '/').unwrap_or(name);
    let child = strip(&transform.child_frame_id);
    let parent = strip(&transform.header.frame_id);
    let Transform { translation, rotation } = &transform.transform;
    let translation = DVec3::new(translation.x, translation.y, translation.z);
    let rotation = DQuat::from_xyzw(rotation.x, rotation.y, rotation.z, rotation.w);
    let frame = || child.to_owned();
    let length = rotation.length();
    let is_unit = (rotation.length_squared() - 1.0).abs() < LENGTH_TOLERANCE;
    match () {
        () if child.is_empty() => Err(SetTransformError::NoChild { parent: parent.to_owned() }),
        () if parent.is_empty() => Err(SetTransformError::NoParent { frame: frame() }),
        () if child == parent => Err(SetTransformError::SameFrame { frame: frame() }),
        () if translation.is_nan() || rotation.is_nan() => {
            Err(SetTransformError::NotANumber { frame: frame(), parent: parent.to_owned() })
        }
        () if !is_unit => {
            let length = format!("{length:.3}");
            Err(SetTransformError::NotNormalized { frame: frame(), parent: parent.to_owned(), length })
        }
        () => Ok((child, parent, Pose { translation, rotation: rotation / length })),
    }
}

pub(crate) fn stamped(pose: Pose, stamp: Time, target: &str, source: &str) -> TransformStamped {
    TransformStamped {
        header: Header { stamp, frame_id: target.to_owned() },
        child_frame_id: source.to_owned(),
        transform: pose.into(),
    }
}
