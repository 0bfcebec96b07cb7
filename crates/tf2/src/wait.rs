//! Futures that wait for a transform.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rospin_engine::{ForeignWaker, GroupGone, Sleep};
use rospin_msgs::geometry_msgs::msg::TransformStamped;

use crate::buffer::{Buffer, Obstacle, stamped};
use crate::error::{TransformError, WaitError};
use crate::tree::{Failure, FrameId};
use crate::waiters::Change;
use crate::when::{When, time_of};

impl Buffer {
    /// Waits for a transform: returns a future of what [`lookup_transform`](Self::lookup_transform) returns once it
    /// can.
    ///
    /// The future may be awaited anywhere. It is woken by new transforms of the frames that stood in its way, so
    /// waiting costs nothing meanwhile. Without a [timeout](WaitForTransform::timeout), it waits for as long as the
    /// transform may still come.
    ///
    /// # Errors
    /// If a frame's name is invalid, or the time is so long ago that its transforms would not be kept any more. Frames
    /// that do not exist yet, or are not connected yet, are waited for.
    pub fn wait_for_transform(
        &self,
        target: impl Into<String>,
        source: impl Into<String>,
        when: impl Into<When>,
    ) -> WaitForTransform {
        WaitForTransform {
            buffer: self.clone(),
            target: target.into(),
            source: source.into(),
            when: when.into(),
            waits: [None, None],
            limit: None,
        }
    }
}

/// Future of a transform, which [`Buffer::wait_for_transform`] returns. Dropping it ends the wait.
#[must_use = "it waits only while it is awaited"]
pub struct WaitForTransform {
    buffer: Buffer,
    target: String,
    source: String,
    when: When,
    /// The places among the waiters, one for each change that may help.
    waits: [Option<(Change, u64)>; 2],
    limit: Option<Limit>,
}

/// The end of a wait.
struct Limit {
    /// The sleep that ends the wait. An error ends it at once.
    sleep: Result<Sleep, GroupGone>,
    /// The duration of the timeout; `None` if only the sleep is known.
    after: Option<Duration>,
}

impl WaitForTransform {
    /// Ends the wait when `sleep` ends, with [`WaitError::Timeout`]. A [sleep](rospin_node::Node::sleep) knows its
    /// clock, so the timeout is on the node's clock, or on any other.
    pub fn timeout(mut self, sleep: Sleep) -> Self {
        self.limit = Some(Limit { sleep: Ok(sleep), after: None });
        self
    }

    pub(crate) fn timeout_after(mut self, sleep: Result<Sleep, GroupGone>, after: Duration) -> Self {
        self.limit = Some(Limit { sleep, after: Some(after) });
        self
    }

    /// Looks the transform up, or enters the waiters. Returns the reason for which there is none, and true if there
    /// never will be.
    fn look(&mut self, cx: &Context<'_>) -> Result<TransformStamped, (TransformError, bool)> {
        // Wakers are cloned and dropped outside the lock, because both run user code.
        let mut left = [None, None];
        let mut wakers = [0, 1].map(|_| Some(ForeignWaker::from(cx.waker().clone())));
        let mut state = self.buffer.lock();
        for (waits, left) in self.waits.iter_mut().zip(&mut left) {
            *left = waits.take().and_then(|waits| state.waiters.remove(waits));
        }
        let obstacle = match state.tree.try_pose(&self.target, &self.source, self.when) {
            Ok((pose, time)) => {
                // The result's strings are allocated, and wakers are called, outside the lock.
                drop(state);
                drop((left, wakers));
                return Ok(stamped(pose, time_of(time), &self.target, &self.source));
            }
            Err(obstacle) => obstacle,
        };
        let tree = &state.tree;
        let (changes, is_never) = match &obstacle {
            Obstacle::Name(TransformError::InvalidFrame { .. }) => ([None, None], true),
            Obstacle::Name(_) | Obstacle::Way(Failure::Loop(_) | Failure::NotConnected) => {
                ([Some(Change::Structure), None], false)
            }
            // The latest common time is before the data of one frame. New data of any other frame may move it.
            Obstacle::Way(_) if self.when == When::Latest => ([Some(Change::Any), None], false),
            Obstacle::Way(Failure::Gap { frame, time, other, .. }) => {
                // Data of either frame may help, unless it would be too old.
                let is_too_late = |frame: FrameId| *time < tree.latest_of(frame).saturating_sub(tree.keep_ns);
                let is_never = is_too_late(*frame) && other.is_none_or(is_too_late);
                ([Some(Change::Data(*frame)), other.map(Change::Data)], is_never)
            }
        };
        let reason = match obstacle {
            Obstacle::Name(error) => error,
            Obstacle::Way(failure) => tree.explain(failure, &self.target, &self.source),
        };
        if !is_never {
            for ((waits, change), waker) in self.waits.iter_mut().zip(changes).zip(&mut wakers) {
                *waits = change.and_then(|change| Some(state.waiters.add(change, waker.take()?)));
            }
        }
        drop(state);
        drop((left, wakers));
        Err((reason, is_never))
    }
}

impl Future for WaitForTransform {
    type Output = Result<TransformStamped, WaitError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let reason = match self.look(cx) {
            Ok(found) => return Poll::Ready(Ok(found)),
            Err((reason, true)) => return Poll::Ready(Err(WaitError::Never(reason))),
            Err((reason, false)) => reason,
        };
        let Some(Limit { sleep, after }) = &mut self.limit else { return Poll::Pending };
        let timeout = *after;
        let sleep = match sleep {
            Ok(sleep) => sleep,
            Err(gone) => return Poll::Ready(Err(gone.clone().into())),
        };
        Pin::new(sleep).poll(cx).map(|slept| {
            slept?;
            Err(WaitError::Timeout { timeout, reason })
        })
    }
}

impl Drop for WaitForTransform {
    fn drop(&mut self) {
        let mut left = [None, None];
        if self.waits.iter().any(Option::is_some) {
            let mut state = self.buffer.lock();
            for (waits, left) in self.waits.iter_mut().zip(&mut left) {
                *left = waits.take().and_then(|waits| state.waiters.remove(waits));
            }
        }
        // Outside the lock, because dropping a waker runs user code.
        drop(left);
    }
}

impl fmt::Debug for WaitForTransform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitForTransform")
            .field("target", &self.target)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
