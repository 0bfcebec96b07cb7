//! Waiting until time has moved.

use crate::sync::thread::{self, Thread};
use std::cell::Cell;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::driver::Driver;

/// What ROS time was asked to show is shown once this is over. Await it, [wait](Self::wait) for it, or drop it: time
/// moves all the same.
///
/// An asynchronous callback may await it even if it holds the group of a jump callback: that one runs meanwhile.
pub struct Barrier {
    driver: Arc<Driver>,
    ticket: u64,
}

/// Why nobody can wait for time to move here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BarrierError {
    /// The calling thread runs callbacks, perhaps the very ones that are to be waited for.
    #[error("blocking in a callback could last for ever; await the barrier in an asynchronous callback instead")]
    InCallback,
}

impl Barrier {
    pub(super) const fn new(driver: Arc<Driver>, ticket: u64) -> Self {
        Self { driver, ticket }
    }

    /// Whether time has moved. Locks for a moment.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.driver.is_over(self.ticket)
    }

    /// Blocks until time has moved: until all jump callbacks of spinning executors ran.
    ///
    /// # Errors
    /// If time has not moved yet and this is called on an executor's thread, which would have to wait for itself.
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

/// May be polled anywhere; locks for a moment, and allocates when it is polled first.
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
    /// Whether this thread is one of an executor that spins.
    static RUNS_CALLBACKS: Cell<bool> = const { Cell::new(false) };
}

/// Marks the thread as one that runs callbacks while it lives.
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
