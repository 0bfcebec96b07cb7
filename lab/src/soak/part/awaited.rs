//! Futures that a loop polls.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// A future with the time at which it began.
pub(super) struct Awaited<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    begun: Instant,
}

impl<T> Awaited<T> {
    /// Begins now.
    pub(super) fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self { future: Box::pin(future), begun: Instant::now() }
    }

    /// Returns the output if there is one. Must not be called again then.
    pub(super) fn poll(&mut self) -> Option<T> {
        poll_once(self.future.as_mut())
    }

    /// Returns true if it began longer ago.
    pub(super) fn is_older_than(&self, time: Duration) -> bool {
        self.begun.elapsed() > time
    }

    /// Returns the output if there is one within that time, and polls every few milliseconds until then.
    pub(super) fn within(mut self, time: Duration) -> Option<T> {
        loop {
            if let Some(output) = self.poll() {
                return Some(output);
            }
            if self.is_older_than(time) {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Polls a future once. Returns its output if it has one.
pub(super) fn poll_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
