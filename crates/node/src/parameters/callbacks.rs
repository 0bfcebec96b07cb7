//! Callbacks that look at parameters before they are set.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use super::error::SetParameterError;
use super::store::{State, Store};
use super::value::ParameterSetting;

/// May change what is to be set.
pub(super) type PreSet = dyn Fn(&mut Vec<ParameterSetting>) + Send + Sync;
/// Says whether it may be set, or why not.
pub(super) type OnSet = dyn Fn(&[ParameterSetting]) -> Result<(), String> + Send + Sync;

/// Callbacks of a kind, with numbers to find them by.
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
        // As in rclcpp, the last one is asked first.
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

/// What is removed, to be dropped once the lock is free.
type Removed = Option<Box<dyn Any>>;

/// A callback that looks at parameters before they are set; it is removed when this is dropped.
///
/// One that is running is not waited for.
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

/// That this thread runs such a callback: it must not change parameters, or checking would never end.
pub(super) struct InsideCallback(());

impl InsideCallback {
    pub(super) fn is_here() -> bool {
        IS_INSIDE.get()
    }

    /// Runs a callback of the user.
    pub(super) fn run<R>(callback: impl FnOnce() -> R) -> Result<R, SetParameterError> {
        IS_INSIDE.set(true);
        let _until_its_end = Self(());
        // What the callback was at is the user's; nothing of ours is half done.
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

/// What a panic says.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "(a value that is not text)".to_owned())
}
