//! Limits of time for futures, on any clock.

use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use super::{Sleep, SleepError};
use crate::error::GroupGone;

/// Reasons for which a future with a limit of time has no output.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimeoutError {
    /// The future did not resolve within this time.
    #[error("it did not come within {0:?}")]
    Elapsed(Duration),
    /// Nobody measures the time.
    #[error(transparent)]
    Sleep(#[from] SleepError),
    /// The executor that should measure the time was dropped before.
    #[error(transparent)]
    GroupGone(#[from] GroupGone),
}

/// Awaits `future` until `sleep` is over, which lasts for `limit`. The future is polled first, so that its output
/// counts if both come at once.
pub(crate) async fn timeout<F: Future>(
    future: F,
    mut sleep: Sleep,
    limit: Duration,
) -> Result<F::Output, TimeoutError> {
    let mut future = pin!(future);
    std::future::poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        match Pin::new(&mut sleep).poll(cx) {
            Poll::Ready(Ok(())) => Poll::Ready(Err(TimeoutError::Elapsed(limit))),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error.into())),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
