//! Requests, and what becomes of them.

use std::time::Duration;

use rospin_core::Instant;

/// A bounded piece of device work with its copies. The device runs it without interruption.
#[derive(Clone, Debug)]
pub struct Segment<W> {
    pub(crate) work: W,
    pub(crate) bound: Option<Duration>,
}

impl<W> Segment<W> {
    /// Creates a segment without a bound.
    pub const fn new(work: W) -> Self {
        Self { work, bound: None }
    }

    /// Sets the longest time that the segment keeps the device busy. Longer is an overrun, which is counted.
    #[must_use]
    pub const fn bound(mut self, bound: Duration) -> Self {
        self.bound = Some(bound);
        self
    }
}

/// A job of one or more segments, which run in order.
#[derive(Clone, Debug)]
pub struct Request<W> {
    pub(crate) segments: Vec<Segment<W>>,
}

impl<W> Request<W> {
    /// Creates a request of the segments.
    pub fn new(segments: impl Into<Vec<Segment<W>>>) -> Self {
        Self { segments: segments.into() }
    }
}

impl<W> FromIterator<Segment<W>> for Request<W> {
    fn from_iter<I: IntoIterator<Item = Segment<W>>>(segments: I) -> Self {
        Self { segments: segments.into_iter().collect() }
    }
}

/// The times of a request whose segments have all run, on the device's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The time of the request.
    pub requested: Instant,
    /// The start of the first segment.
    pub started: Instant,
    /// The end of the last segment.
    pub finished: Instant,
    /// The time for which the request kept the device busy.
    pub busy: Duration,
}

impl Outcome {
    /// Returns the time from the request to its end.
    #[must_use]
    pub fn response(&self) -> Duration {
        self.finished.saturating_since(self.requested)
    }
}

/// Reasons for which a request is not accepted. Its segments are dropped.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// The client has as many requests as its depth allows.
    #[error("client `{client}` has {depth} requests already; await one of them or raise the depth")]
    Full {
        /// The client's name.
        client: String,
        /// The client's depth.
        depth: usize,
    },
    /// The request has no segment.
    #[error("a request of client `{client}` has no segment")]
    Empty {
        /// The client's name.
        client: String,
    },
    /// A segment may be longer than the client's segments may be.
    #[error(
        "a segment of client `{client}` may take {bound:?}; at most {longest:?} is allowed, so split it and bound its \
         parts"
    )]
    TooLong {
        /// The client's name.
        client: String,
        /// The segment's bound; `None` if it has none.
        bound: Option<Duration>,
        /// The longest bound that is allowed.
        longest: Duration,
    },
    /// The client was expelled because of an overrun.
    #[error("client `{client}` was expelled: one of its segments took longer than its bound")]
    Expelled {
        /// The client's name.
        client: String,
    },
    /// The device is lost.
    #[error("the device is lost: {reason}")]
    DeviceLost {
        /// The reason.
        reason: String,
    },
}

/// Reasons for which a request that was accepted ends without an [`Outcome`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A segment failed. The segments after it did not run.
    #[error("a segment failed: {reason}")]
    Failed {
        /// The device's words.
        reason: String,
    },
    /// A segment took longer than its bound.
    #[error("a segment took longer than its bound")]
    Overrun,
    /// The client was expelled because of an overrun.
    #[error("the client was expelled: one of its segments took longer than its bound")]
    Expelled,
    /// The client was dropped while the request waited.
    #[error("the client was dropped while the request waited")]
    ClientGone,
    /// The device is lost.
    #[error("the device is lost: {reason}")]
    DeviceLost {
        /// The reason.
        reason: String,
    },
}
