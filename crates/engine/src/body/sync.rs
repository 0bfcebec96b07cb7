//! Synchronous callbacks.

use crate::sync::Mutex;
use std::marker::PhantomData;
use std::sync::Arc;

use super::{AnyPayload, Body, Ran, RunContext, Take, ask_again, notify_of_rest, take_and_ask, take_into};
use crate::current::Running;
use crate::source::{Notifier, Pending};
use crate::waits::GroupKey;
use crate::work::{Callback, Label};

/// A callback of a mutually exclusive group. It gets the group's payload.
pub(crate) struct ExclusiveBody<T, P, F> {
    take: T,
    callback: F,
    running: Running,
    payload: PhantomData<fn(P)>,
}

impl<T, P, F> ExclusiveBody<T, P, F> {
    pub(crate) fn new(take: T, callback: F, group: Option<GroupKey>) -> Self {
        Self { take, callback, running: Running::synchronous(group), payload: PhantomData }
    }
}

/// Returns the payload as what it is. A check of its type would take a call for each activation.
///
/// A handle of a group cannot be turned into one of another type of payload, although that be a subtype:
///
/// ```compile_fail
/// use rospin_engine::CallbackGroup;
///
/// fn widen(group: CallbackGroup<fn(&'static str)>) -> CallbackGroup<for<'a> fn(&'a str)> {
///     group
/// }
/// ```
///
/// ```compile_fail
/// use rospin_engine::CallbackGroup;
///
/// fn narrow(group: CallbackGroup<for<'a> fn(&'a str)>) -> CallbackGroup<fn(&'static str)> {
///     group
/// }
/// ```
///
/// # Safety
/// The payload must be a `P`.
unsafe fn payload_of<P: 'static>(payload: &mut AnyPayload) -> &mut P {
    debug_assert!(payload.is::<P>(), "a group's payload has the type of its handle");
    // SAFETY: as the caller guarantees.
    unsafe { &mut *std::ptr::from_mut(&mut **payload).cast::<P>() }
}

impl<T, P, F> Body for ExclusiveBody<T, P, F>
where
    T: Take,
    P: Send + 'static,
    F: FnMut(&mut P, T::Item) + Send + 'static,
{
    fn run(&mut self, cx: &mut RunContext, payload: &mut Option<AnyPayload>) -> Ran {
        let item = match take_into(&mut self.take, cx) {
            Ok(item) => item,
            Err(ran) => return ran,
        };
        let payload = payload.as_mut().expect("a mutually exclusive group has a payload");
        // SAFETY: the body was created by a handle of its group, which has exactly the type of the payload.
        let payload = unsafe { payload_of(payload) };
        let running = self.running.enter();
        (self.callback)(payload, item);
        // The source's code must not hold the group.
        drop(running);
        ask_again(&mut self.take, cx);
        Ran::Done
    }

    fn pending(&self) -> Pending {
        self.take.pending()
    }

    fn drop_activation(&mut self, cx: &mut RunContext) {
        ask_again(&mut self.take, cx);
    }

    fn prefetch(&self, distance: usize) {
        self.take.prefetch(distance);
    }
}

/// A callback of a reentrant group, which may run on several threads at once.
pub(crate) struct SharedBody<T, F> {
    /// The source. One body takes from it at a time, although several run at once.
    take: Arc<Mutex<T>>,
    callback: Arc<F>,
    /// Notifier that is [told](notify_of_rest) of further items; `None` if the entity has one activation at a time.
    more: Option<Notifier>,
}

impl<T, F> SharedBody<T, F> {
    pub(crate) fn new(take: T, callback: F, more: Option<Notifier>) -> Self {
        Self { take: Arc::new(Mutex::new(take)), callback: Arc::new(callback), more }
    }
}

impl<T, F> Body for SharedBody<T, F>
where
    T: Take,
    F: Fn(T::Item) + Send + Sync + 'static,
{
    fn run(&mut self, cx: &mut RunContext, _: &mut Option<AnyPayload>) -> Ran {
        let taken = take_and_ask(&mut *self.take.lock(), cx);
        let item = match taken {
            Ok(item) => item,
            Err(ran) => return ran,
        };
        notify_of_rest(self.more.as_ref(), cx);
        let _running = Running::synchronous(None).enter();
        (self.callback)(item);
        Ran::Done
    }

    fn pending(&self) -> Pending {
        self.take.lock().pending()
    }

    fn fork(&self, label: Arc<Label>, slot: usize) -> Option<Box<Callback>> {
        let body = Self { take: Arc::clone(&self.take), callback: Arc::clone(&self.callback), more: self.more.clone() };
        Some(Callback::new(body, label, slot))
    }
}
