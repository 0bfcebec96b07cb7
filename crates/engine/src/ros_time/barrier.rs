//! Barriers: waiting until ROS time has moved.

use crate::sync::thread::{self, Thread};
use std::cell::Cell;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::driver::Driver;

/// A future that resolves once ROS time shows the time that was set, or one that was set after it. Await it,
/// [wait](Self::wait) for it, or drop it: time moves in any case.
///
/// An asynchronous callback may await it even if it holds the group of a jump callback, which runs meanwhile.
///
/// Cancel safe: dropped early, it has no effect on time.
pub struct Barrier {
    driver: Arc<Driver>,
    ticket: u64,
}

/// Errors of waiting for ROS time to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BarrierError {
    /// The calling thread belongs to an executor and may have to run the jump callbacks itself.
    #[error("blocking in a callback could last for ever; await the barrier in an asynchronous callback instead")]
    InCallback,
}

impl Barrier {
    pub(super) const fn new(driver: Arc<Driver>, ticket: u64) -> Self {
        Self { driver, ticket }
    }

    /// Returns true if time has moved. Locks for a moment.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.driver.is_over(self.ticket)
    }

    /// Blocks until time has moved, that is until all jump callbacks of spinning executors have run.
    ///
    /// # Errors
    /// If time has not moved yet and the calling thread is an executor's, which might wait for itself.
    pub fn wait(self) -> Result<(), BarrierError> {
        struct Unpark(Thread);
        impl Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }

        if !self.is_over() && RUNS_CALLBACKS.with(Cell::get) {
            return Err(BarrierError::InCallback);
        }
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut barrier = pin!(self);
        loop {
            if barrier.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                return Ok(());
            }
            thread::park();
        }
    }
}

/// May be polled anywhere. Locks for a moment, and allocates at the first poll.
impl Future for Barrier {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.driver.poll_over(self.ticket, cx.waker())
    }
}

impl Drop for Barrier {
    fn drop(&mut self) {
        self.driver.forget_waiter(self.ticket);
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").field("is_over", &self.is_over()).finish()
    }
}

crate::sync::thread_local! {
    /// True on the threads of executors that spin.
    static RUNS_CALLBACKS: Cell<bool> = const { Cell::new(false) };
}

/// Guard that marks the calling thread as one that runs callbacks until it is dropped.
pub(crate) struct RunsCallbacks(bool);

impl RunsCallbacks {
    pub(crate) fn here() -> Self {
        Self(RUNS_CALLBACKS.with(|runs| runs.replace(true)))
    }
}

impl Drop for RunsCallbacks {
    fn drop(&mut self) {
        RUNS_CALLBACKS.with(|runs| runs.set(self.0));
    }
}
