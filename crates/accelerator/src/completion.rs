//! The future of a request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rospin_engine::ForeignWaker;

use crate::accelerator::Shared;
use crate::backend::Backend;
use crate::request::{Outcome, RequestError};
use crate::state::Actions;

/// The number of pauses of the processor between two looks at a result that is waited for: less than a microsecond.
const POLL_PAUSE: u32 = 16;

/// Future of a request's result. Dropping it cancels the request: segments that the device was not given do not run.
///
/// Any executor may poll it. The task is woken when the request ends: by a thread of the back end, by one that
/// [waits](Self::busy_wait) for another request, or by the thread that drops the client.
#[must_use = "dropping it cancels the request"]
pub struct Completion<B: Backend> {
    shared: Arc<Shared<B>>,
    /// The index of the request's slot; `None` once the result was taken.
    place: Option<u32>,
}

impl<B: Backend> Completion<B> {
    pub(crate) const fn new(shared: Arc<Shared<B>>, place: u32) -> Self {
        Self { shared, place: Some(place) }
    }

    /// Takes the result; `None` if the request has not ended, or if the result was taken before. Does not wait.
    pub fn try_take(&mut self) -> Option<Result<Outcome, RequestError>> {
        let (result, unused) = self.shared.state.lock().poll(self.place?, None);
        drop(unused);
        if result.is_some() {
            self.abandon();
        }
        result
    }

    /// Waits for the result without sleeping, and so takes the calling core until the request ends: a thread that
    /// sleeps takes tens of microseconds to wake up. For threads whose every microsecond counts.
    ///
    /// On a device that implements [`Backend::poll`], the calling thread asks for ends itself, and then does what the
    /// device's thread would do: it starts the next segment of the lane, whoever's it is, and wakes whoever waits. So it
    /// should be at least as urgent as all threads whose requests use the same lanes.
    ///
    /// A device's own thread must not call it, nor a callback of an executor that has other things to do. Under a
    /// real-time policy, the device's threads need another core or a higher priority, and so do other threads that send
    /// requests: the calling thread does not report alarms, which budgets and overruns need, nor the loss of the device,
    /// nor does it launch what another thread is about to launch.
    ///
    /// # Errors
    /// As the future: the reason for which the request ended without an outcome.
    ///
    /// # Panics
    /// If the result was taken before.
    pub fn busy_wait(mut self) -> Result<Outcome, RequestError> {
        let place = self.place.expect("a completion is waited for after its result was taken");
        let lanes = self.shared.state.lock().lanes_of(place);
        // The request ends, because its segments do or the device is lost.
        loop {
            if let Some(result) = self.try_take() {
                return result;
            }
            for lane in lanes.clone() {
                self.shared.backend.poll(lane);
            }
            // Others need the lock, to report ends.
            for _ in 0..POLL_PAUSE {
                std::hint::spin_loop();
            }
        }
    }

    /// Cancels the request if it is not over, and frees its slot.
    fn abandon(&mut self) {
        if let Some(place) = self.place.take() {
            let mut actions = Actions::new();
            let waker = self.shared.state.lock().abandon(place, &mut actions);
            drop(waker);
            self.shared.perform(actions);
        }
    }
}

impl<B: Backend> Future for Completion<B> {
    type Output = Result<Outcome, RequestError>;

    /// # Panics
    /// If the result was taken before.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let place = self.place.expect("a completion is polled after its result was taken");
        // Wakers are other code, which is called without the lock.
        let waker = ForeignWaker::from(context.waker().clone());
        let (result, unused) = self.shared.state.lock().poll(place, Some(waker));
        drop(unused);
        match result {
            Some(result) => {
                self.abandon();
                Poll::Ready(result)
            }
            None => Poll::Pending,
        }
    }
}

impl<B: Backend> Drop for Completion<B> {
    fn drop(&mut self) {
        self.abandon();
    }
}
