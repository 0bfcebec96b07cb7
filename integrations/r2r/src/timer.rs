//! Timers of R2R nodes.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use futures_core::Stream;
use rospin_engine::{Notifier, Pending, Source, TakeError};

use super::incoming::Incoming;

/// A timer of a node, with the methods of R2R's.
///
/// At most one tick waits, as in R2R. Those that it displaces are [counted](Self::lost). It is also a stream and a
/// [source](Source) of the times since the last call.
#[derive(Debug)]
pub struct Timer(pub(super) Incoming<Duration>);

impl Timer {
    /// Waits for the next tick, and returns the time between the last two of them.
    ///
    /// # Errors
    /// If the node has gone.
    pub async fn tick(&mut self) -> r2r::Result<Duration> {
        let next = poll_fn(|cx| Pin::new(&mut self.0).poll_next(cx)).await;
        next.ok_or(r2r::Error::RCL_RET_TIMER_INVALID)
    }

    /// Returns the number of ticks that were displaced by later ones.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.0.lost()
    }
}

impl Stream for Timer {
    type Item = Duration;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Duration>> {
        Pin::new(&mut self.0).poll_next(cx)
    }
}

impl Source for Timer {
    type Item = Duration;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.0.attach(notifier)
    }

    fn try_take(&mut self) -> Result<Option<Duration>, TakeError> {
        self.0.try_take()
    }

    fn pending(&self) -> Pending {
        self.0.pending()
    }
}

/// The ticks of a timer of R2R's.
pub(super) struct Ticks(pub(super) r2r::Timer);

impl Stream for Ticks {
    type Item = Duration;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Duration>> {
        pin!(self.0.tick()).poll(cx).map(Result::ok)
    }
}
