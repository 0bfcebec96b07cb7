//! Asynchronous callbacks: a future an activation, polled on the executor's threads.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::{AnyPayload, Body, Ran, RunContext, Take, take_into};
use crate::source::Pending;

/// An asynchronous callback's way to its group's payload.
///
/// The payload is there whenever the callback is being polled, so no reference to it can live across an await.
#[derive(Debug)]
pub struct Payload<P>(Arc<Mutex<Option<Box<P>>>>);

impl<P> Payload<P> {
    /// Runs `f` on the payload. Never waits.
    ///
    /// # Panics
    /// If called outside of the callback: on another thread, or from a future that was handed to another runtime.
    pub fn with<R>(&self, f: impl FnOnce(&mut P) -> R) -> R {
        let mut payload = self.lock();
        f(payload.as_mut().expect("the payload is only there while its own callback is polled"))
    }

    fn empty() -> Self {
        Self(Arc::new(Mutex::new(None)))
    }

    fn handle(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<P>>> {
        // A panic in `with` is handled as a panic of the callback.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the bodies of one asynchronous callback share.
struct Callback<T, F> {
    take: T,
    callback: F,
}

/// A body that holds one activation's future at a time.
pub(crate) struct AsyncBody<T, P, F, Fut> {
    shared: Arc<Mutex<Callback<T, F>>>,
    future: Option<Pin<Box<Fut>>>,
    payload: Payload<P>,
    waker: Waker,
    /// Address of the group that its activations hold while they wait, 0 if they do not.
    holds: usize,
}

impl<T, P, F, Fut> AsyncBody<T, P, F, Fut> {
    pub(crate) fn new(take: T, callback: F, holds: usize) -> Self {
        Self::over(Arc::new(Mutex::new(Callback { take, callback })), holds)
    }

    fn over(shared: Arc<Mutex<Callback<T, F>>>, holds: usize) -> Self {
        Self { shared, future: None, payload: Payload::empty(), waker: Waker::noop().clone(), holds }
    }
}

impl<T, P, F, Fut> AsyncBody<T, P, F, Fut>
where
    T: Take,
    P: Send + 'static,
    F: FnMut(Payload<P>, T::Item) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    /// Takes an item and makes the future, or says why there is none.
    fn start(&mut self, cx: &mut RunContext) -> Result<(), Ran> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let item = take_into(&mut shared.take, cx)?;
        self.future = Some(Box::pin((shared.callback)(self.payload.handle(), item)));
        Ok(())
    }

    fn step(&mut self, cx: &mut RunContext) -> Ran {
        if self.future.is_none()
            && let Err(ran) = self.start(cx)
        {
            return ran;
        }
        let Some(future) = &mut self.future else {
            return Ran::Nothing;
        };
        match future.as_mut().poll(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(()) => {
                self.future = None;
                Ran::Done
            }
            Poll::Pending => Ran::Suspended,
        }
    }
}

impl<T, P, F, Fut> Body for AsyncBody<T, P, F, Fut>
where
    T: Take,
    P: Send + 'static,
    F: FnMut(Payload<P>, T::Item) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    fn run(&mut self, cx: &mut RunContext) -> Ran {
        let _holds = Holds::enter(self.holds);
        // The payload is lent for this poll only; a panic gives it back, too.
        *self.payload.lock() = cx.payload.take().and_then(|payload| payload.downcast().ok());
        let ran = catch_unwind(AssertUnwindSafe(|| self.step(cx)));
        cx.payload = self.payload.lock().take().map(|payload| payload as AnyPayload);
        ran.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn pending(&self) -> Pending {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).take.pending()
    }

    fn fork(&self) -> Option<Box<dyn Body>> {
        Some(Box::new(Self::over(Arc::clone(&self.shared), self.holds)))
    }

    fn set_waker(&mut self, waker: Waker) {
        self.waker = waker;
    }

    fn abandon(&mut self) {
        self.future = None;
    }
}

thread_local! {
    /// The group that the activation being polled on this thread holds, by address; 0 for none.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// Whether the calling callback holds the group at that address: what needs the group would wait for ever.
pub(crate) fn holds_group_of(group: usize) -> bool {
    group != 0 && HELD.get() == group
}

/// Marks the group as held while it lives.
struct Holds(usize);

impl Holds {
    fn enter(group: usize) -> Self {
        Self(HELD.replace(group))
    }
}

impl Drop for Holds {
    fn drop(&mut self) {
        HELD.set(self.0);
    }
}
