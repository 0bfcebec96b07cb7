//! Asynchronous callbacks: each activation is a future, which the executor's threads poll.

use crate::sync::thread::{self, ThreadId};
use crate::sync::{Mutex, MutexGuard};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::{AnyPayload, Body, Ran, RunContext, Take, notify_of_rest, take_and_ask};
use crate::current::{Noted, Running};
use crate::source::{Notifier, Pending};
use crate::waits::GroupKey;
use crate::work::{Callback, Label};

/// An asynchronous callback's access to the payload of its group.
///
/// The payload is present only while the callback is polled. So a reference to it cannot live across an await.
///
/// ```
/// use std::sync::Arc;
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let squares = executor.create_group("squares", ());
/// let _service = squares.create_local_service("square", |_, n: u64| n * n)?;
/// let client = context.create_local_client::<u64, u64>("square")?;
///
/// let sum = executor.create_group("sum", 0);
/// let numbers = context.create_local_publisher::<u64>("numbers")?;
/// let _subscription = sum.create_local_subscription_async("numbers", move |sum, number: Arc<u64>| {
///     let client = client.clone();
///     async move {
///         // The executor runs other callbacks meanwhile, among them the service's.
///         if let Ok(square) = client.call(*number).await {
///             sum.with(|sum| *sum += square);
///         }
///     }
/// })?;
/// numbers.publish(3);
/// numbers.publish(4);
/// executor.spin(SpinOptions::spin_all())?;
/// assert_eq!(sum.into_payload().unwrap(), 25);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Payload<P>(Arc<Mutex<Option<Lent<P>>>>);

/// A payload, and the thread that polls the callback it is lent to.
#[derive(Debug)]
struct Lent<P> {
    payload: Box<P>,
    to: ThreadId,
}

impl<P> Payload<P> {
    /// Runs `f` on the payload. Never blocks.
    ///
    /// # Panics
    /// If it is called outside of the callback (on another thread, or from a future that was handed to another
    /// runtime), or within `f`.
    pub fn with<R>(&self, f: impl FnOnce(&mut P) -> R) -> R {
        /// Gives the payload back, also after a panic.
        struct InUse<'a, P>(&'a Payload<P>, Option<Lent<P>>);
        impl<P> Drop for InUse<'_, P> {
            fn drop(&mut self) {
                *self.0.lock() = self.1.take();
            }
        }

        let here = thread::current().id();
        let lent = self.lock().take_if(|lent| lent.to == here);
        let mut in_use = InUse(self, lent);
        match &mut in_use.1 {
            Some(lent) => f(&mut lent.payload),
            None => {
                // Another call of `with` has the payload and gives it back, so this one must not.
                std::mem::forget(in_use);
                panic!("a payload is only there while its own callback is polled, and for one `with` at a time");
            }
        }
    }

    fn empty() -> Self {
        Self(Arc::new(Mutex::new(None)))
    }

    fn handle(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Lent<P>>> {
        self.0.lock()
    }
}

/// An asynchronous callback, which returns a future for each item.
pub(crate) trait Invoke<P, T>: Send + Sync + 'static {
    type Future: Future<Output = ()> + Send + 'static;

    fn invoke(&self, payload: Payload<P>, item: T) -> Self::Future;
}

/// A callback of a mutually exclusive group, called once at a time.
pub(crate) struct Locked<F>(pub(crate) Mutex<F>);

impl<P, T, F, Fut> Invoke<P, T> for Locked<F>
where
    F: FnMut(Payload<P>, T) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    type Future = Fut;

    fn invoke(&self, payload: Payload<P>, item: T) -> Fut {
        // The lock is never contended, since one callback of the group runs at a time.
        (self.0.lock())(payload, item)
    }
}

/// A callback of a reentrant group, called any number of times at once.
pub(crate) struct Direct<F>(pub(crate) F);

impl<T, F, Fut> Invoke<(), T> for Direct<F>
where
    F: Fn(T) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    type Future = Fut;

    fn invoke(&self, _: Payload<()>, item: T) -> Fut {
        (self.0)(item)
    }
}

/// The source and the callback, shared by the bodies of one entity.
struct Shared<T, C> {
    /// The source, behind a lock that lets one body take an item at a time.
    take: Mutex<T>,
    callback: C,
}

/// A body that holds one activation's future at a time.
pub(crate) struct AsyncBody<P, T: Take, C: Invoke<P, T::Item>> {
    shared: Arc<Shared<T, C>>,
    future: Option<Pin<Box<C::Future>>>,
    payload: Payload<P>,
    waker: Waker,
    /// The group that activations hold while they wait; `None` if they hold none.
    holds: Option<GroupKey>,
    /// The calls that the activation waits for while it holds the group.
    waits: Noted,
    /// Notifier that is [told](notify_of_rest) of further items; `None` if the entity has one activation at a time.
    more: Option<Notifier>,
    item: PhantomData<fn(T::Item)>,
}

impl<P, T: Take, C: Invoke<P, T::Item>> AsyncBody<P, T, C> {
    pub(crate) fn new(take: T, callback: C, holds: Option<GroupKey>, more: Option<Notifier>) -> Self {
        Self::over(Arc::new(Shared { take: Mutex::new(take), callback }), holds, more)
    }

    fn over(shared: Arc<Shared<T, C>>, holds: Option<GroupKey>, more: Option<Notifier>) -> Self {
        let waker = Waker::noop().clone();
        Self {
            shared,
            future: None,
            payload: Payload::empty(),
            waker,
            holds,
            waits: Noted::default(),
            more,
            item: PhantomData,
        }
    }

    fn step(&mut self, cx: &mut RunContext) -> Ran {
        // The item is taken before the callback counts as running, because the source's code must not hold the group.
        let item = if self.future.is_none() {
            let taken = take_and_ask(&mut *self.shared.take.lock(), cx);
            match taken {
                Ok(item) => Some(item),
                Err(ran) => return ran,
            }
        } else {
            None
        };
        let _running = Running::asynchronous(self.holds).enter();
        if let Some(item) = item {
            notify_of_rest(self.more.as_ref(), cx);
            self.future = Some(Box::pin(self.shared.callback.invoke(self.payload.handle(), item)));
        }
        let polled = self.future.as_mut().map(|future| future.as_mut().poll(&mut Context::from_waker(&self.waker)));
        if polled == Some(Poll::Pending) {
            self.waits.keep();
            return Ran::Suspended;
        }
        self.forget();
        Ran::Done
    }

    /// Ends the activation: ends its waits and drops its future.
    fn forget(&mut self) {
        self.waits.end();
        self.future = None;
    }
}

impl<P, T, C> Body for AsyncBody<P, T, C>
where
    P: Send + 'static,
    T: Take,
    C: Invoke<P, T::Item>,
{
    fn run(&mut self, cx: &mut RunContext, payload: &mut Option<AnyPayload>) -> Ran {
        // The payload is lent for this poll only, and given back after a panic, too.
        let lent = payload.take().and_then(|payload| payload.downcast().ok());
        *self.payload.lock() = lent.map(|payload| Lent { payload, to: thread::current().id() });
        let ran = catch_unwind(AssertUnwindSafe(|| self.step(cx)));
        *payload = self.payload.lock().take().map(|lent| lent.payload as AnyPayload);
        ran.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn pending(&self) -> Pending {
        self.shared.take.lock().pending()
    }

    fn fork(&self, label: Arc<Label>, slot: usize) -> Option<Box<Callback>> {
        let body = Self::over(Arc::clone(&self.shared), self.holds, self.more.clone());
        Some(Callback::new(body, label, slot))
    }

    fn suspends(&self) -> bool {
        true
    }

    fn set_waker(&mut self, waker: Waker) {
        self.waker = waker;
    }

    fn drop_activation(&mut self, _: &mut RunContext) {
        self.forget();
    }
}
