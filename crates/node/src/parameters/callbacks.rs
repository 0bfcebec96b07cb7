//! Callbacks that check or change parameter values before they are set.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use super::error::SetParameterError;
use super::store::{State, Store};
use super::value::ParameterSetting;

/// A pre-set callback. It may change the list of parameters to set.
pub(super) type PreSet = dyn Fn(&mut Vec<ParameterSetting>) + Send + Sync;
/// An on-set callback. It accepts the values, or returns its reason to reject them.
pub(super) type OnSet = dyn Fn(&[ParameterSetting]) -> Result<(), String> + Send + Sync;

/// Callbacks of one kind, each with a number by which it is removed.
pub(super) struct Callbacks<F: ?Sized> {
    callbacks: Vec<(u64, Arc<F>)>,
    last: u64,
}

impl<F: ?Sized> Default for Callbacks<F> {
    fn default() -> Self {
        Self { callbacks: Vec::new(), last: 0 }
    }
}

impl<F: ?Sized> Callbacks<F> {
    fn add(&mut self, callback: Arc<F>) -> u64 {
        self.last += 1;
        // As in rclcpp, the callback that was added last runs first.
        self.callbacks.insert(0, (self.last, callback));
        self.last
    }

    fn remove(&mut self, number: u64) -> Option<Arc<F>> {
        let at = self.callbacks.iter().position(|(other, _)| *other == number)?;
        Some(self.callbacks.remove(at).1)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.callbacks.is_empty()
    }

    pub(super) fn all(&self) -> Vec<Arc<F>> {
        self.callbacks.iter().map(|(_, callback)| Arc::clone(callback)).collect()
    }
}

impl Store {
    pub(super) fn add_pre_set(self: &Arc<Self>, callback: Arc<PreSet>) -> ParametersCallback {
        let number = self.lock().pre_set.add(callback);
        ParametersCallback::new(self, move |state| state.pre_set.remove(number).map(|callback| Box::new(callback) as _))
    }

    pub(super) fn add_on_set(self: &Arc<Self>, callback: Arc<OnSet>) -> ParametersCallback {
        let number = self.lock().on_set.add(callback);
        ParametersCallback::new(self, move |state| state.on_set.remove(number).map(|callback| Box::new(callback) as _))
    }
}

/// The callback that was removed. The caller drops it after it has released the lock.
type Removed = Option<Box<dyn Any>>;

/// A pre-set or on-set callback. Dropping this removes the callback.
///
/// A callback that is running is not waited for.
#[must_use = "the callback is removed when its handle is dropped"]
pub struct ParametersCallback {
    store: Weak<Store>,
    remove: Box<dyn Fn(&mut State) -> Removed + Send + Sync>,
}

impl ParametersCallback {
    fn new(store: &Arc<Store>, remove: impl Fn(&mut State) -> Removed + Send + Sync + 'static) -> Self {
        Self { store: Arc::downgrade(store), remove: Box::new(remove) }
    }
}

impl Drop for ParametersCallback {
    fn drop(&mut self) {
        if let Some(store) = self.store.upgrade() {
            let removed = (self.remove)(&mut store.lock());
            drop(removed);
        }
    }
}

impl fmt::Debug for ParametersCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParametersCallback").finish_non_exhaustive()
    }
}

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Marks that this thread runs such a callback. It must not change parameters, or the check would never end.
pub(super) struct InsideCallback(());

impl InsideCallback {
    pub(super) fn is_here() -> bool {
        IS_INSIDE.get()
    }

    /// Runs a callback of the user, and turns a panic into an error.
    pub(super) fn run<R>(callback: impl FnOnce() -> R) -> Result<R, SetParameterError> {
        IS_INSIDE.set(true);
        let _until_its_end = Self(());
        // A panic may leave the user's own state half changed, but none of ours.
        catch_unwind(AssertUnwindSafe(callback)).map_err(|panic| {
            let message = message_of(panic.as_ref());
            log::error!(target: "rospin", "a callback that checks parameters panicked: {message}");
            SetParameterError::Panicked { message }
        })
    }
}

impl Drop for InsideCallback {
    fn drop(&mut self) {
        IS_INSIDE.set(false);
    }
}

/// Returns the message of a panic.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "(a value that is not text)".to_owned())
}
