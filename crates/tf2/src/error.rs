//! Errors of buffers.

use std::time::Duration;

use rospin_engine::{GroupGone, SleepError};

use crate::when::Seconds;

/// Reasons for which there is no transform. Times are in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransformError {
    /// A frame's name is empty, or begins with a slash.
    #[error("`{frame}` is not the name of a frame: {reason}")]
    InvalidFrame {
        /// Name, as it was given.
        frame: String,
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// The buffer has no transform from or to this frame.
    #[error("frame `{frame}` does not exist: no transform from or to it has come")]
    UnknownFrame {
        /// Name of the frame.
        frame: String,
    },
    /// A frame is its own ancestor.
    #[error("the frames above `{frame}` form a loop")]
    Loop {
        /// The frame at which the search began.
        frame: String,
    },
    /// The frames are in different trees.
    #[error("frames `{target}` and `{source_frame}` are not connected: they are in different trees")]
    NotConnected {
        /// The frame into which the look-up transforms.
        target: String,
        /// The frame from which the look-up transforms.
        source_frame: String,
    },
    /// The time is after the newest transform of a frame on the way.
    #[error(
        "no transform from `{source_frame}` to `{target}` at {} s: the newest transform of `{frame}` is of {} s, and \
         nothing is extrapolated into the future",
        Seconds(*requested_ns), Seconds(*newest_ns)
    )]
    Future {
        /// The frame into which the look-up transforms.
        target: String,
        /// The frame from which the look-up transforms.
        source_frame: String,
        /// The frame whose transform is missing.
        frame: String,
        /// The time of the look-up.
        requested_ns: i64,
        /// The time of that frame's newest transform.
        newest_ns: i64,
    },
    /// The time is before the oldest transform of a frame on the way.
    #[error(
        "no transform from `{source_frame}` to `{target}` at {} s: the oldest transform of `{frame}` that is kept is \
         of {} s, and nothing is extrapolated into the past",
        Seconds(*requested_ns), Seconds(*oldest_ns)
    )]
    Past {
        /// The frame into which the look-up transforms.
        target: String,
        /// The frame from which the look-up transforms.
        source_frame: String,
        /// The frame whose transform is missing.
        frame: String,
        /// The time of the look-up.
        requested_ns: i64,
        /// The time of that frame's oldest transform.
        oldest_ns: i64,
    },
    /// A frame on the way has a single transform, of another time, or none. Nothing can be interpolated.
    #[error(
        "no transform from `{source_frame}` to `{target}` at {} s: `{frame}` has {}, and interpolation needs two",
        Seconds(*requested_ns), only(*only_ns)
    )]
    TooFew {
        /// The frame into which the look-up transforms.
        target: String,
        /// The frame from which the look-up transforms.
        source_frame: String,
        /// The frame whose transform is missing.
        frame: String,
        /// The time of the look-up.
        requested_ns: i64,
        /// The time of that frame's only transform; `None` if it has no transform.
        only_ns: Option<i64>,
    },
}

fn only(stamp: Option<i64>) -> String {
    stamp.map_or_else(|| "no transform".to_owned(), |stamp| format!("one transform, of {} s", Seconds(stamp)))
}

/// Kinds of errors that tf2 distinguishes by their exceptions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum TransformErrorKind {
    /// `InvalidArgumentException`: a frame's name is invalid.
    InvalidArgument,
    /// `LookupException`: a frame does not exist, or frames form a loop.
    Lookup,
    /// `ConnectivityException`: the frames are in different trees.
    Connectivity,
    /// `ExtrapolationException`, for the future, for the past, and for a single transform.
    Extrapolation,
}

impl TransformError {
    /// Returns the kind, for programs that only distinguish what tf2 does.
    #[must_use]
    pub const fn kind(&self) -> TransformErrorKind {
        match self {
            Self::InvalidFrame { .. } => TransformErrorKind::InvalidArgument,
            Self::UnknownFrame { .. } | Self::Loop { .. } => TransformErrorKind::Lookup,
            Self::NotConnected { .. } => TransformErrorKind::Connectivity,
            Self::Future { .. } | Self::Past { .. } | Self::TooFew { .. } => TransformErrorKind::Extrapolation,
        }
    }
}

/// Reasons for which a transform was not set.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetTransformError {
    /// The frame is its own parent.
    #[error("the transform of `{frame}` was ignored: the frame is its own parent")]
    SameFrame {
        /// Name of the frame.
        frame: String,
    },
    /// The child has no name.
    #[error("a transform with the parent `{parent}` was ignored: its `child_frame_id` is empty")]
    NoChild {
        /// Name of the parent.
        parent: String,
    },
    /// The parent has no name.
    #[error("the transform of `{frame}` was ignored: the `frame_id` of its header is empty")]
    NoParent {
        /// Name of the child.
        frame: String,
    },
    /// A number is `NaN`.
    #[error("the transform of `{frame}` in `{parent}` was ignored: it contains NaN")]
    NotANumber {
        /// Name of the child.
        frame: String,
        /// Name of the parent.
        parent: String,
    },
    /// The length of the rotation is not one. As in tf2, its square may differ from one by less than a hundredth.
    #[error("the transform of `{frame}` in `{parent}` was ignored: its rotation has the length {length}, not 1")]
    NotNormalized {
        /// Name of the child.
        frame: String,
        /// Name of the parent.
        parent: String,
        /// The length, to three places. It is zero in a message that was not filled in.
        length: String,
    },
    /// The frame's newest transform is newer by more than the time for which transforms are kept.
    #[error(
        "the transform of `{frame}` of {} s was ignored: the newest one is of {} s, and only {} s are kept",
        Seconds(*stamp_ns), Seconds(*newest_ns), Seconds(*kept_ns)
    )]
    TooOld {
        /// Name of the child.
        frame: String,
        /// The time of the transform.
        stamp_ns: i64,
        /// The time of the newest transform.
        newest_ns: i64,
        /// The time for which transforms are kept.
        kept_ns: i64,
    },
}

/// Reasons for which waiting for a transform has ended without one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The timeout passed.
    #[error("waited{} in vain: {reason}", during(*timeout))]
    Timeout {
        /// The timeout; `None` if a sleep was given in its place.
        timeout: Option<Duration>,
        /// The reason for which there is no transform yet.
        reason: TransformError,
    },
    /// There will never be such a transform: a frame's name is invalid, or the time is so long ago that the buffer
    /// would drop a transform of that time.
    #[error("there will be no such transform: {0}")]
    Never(TransformError),
    /// The node's [`Ros`](rospin_node::Ros) was dropped, so nothing measures the timeout.
    #[error(transparent)]
    GroupGone(#[from] GroupGone),
    /// The sleep that measures the timeout failed.
    #[error(transparent)]
    Sleep(#[from] SleepError),
}

fn during(timeout: Option<Duration>) -> String {
    timeout.map_or_else(String::new, |timeout| format!(" {timeout:?}"))
}
