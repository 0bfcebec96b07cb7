//! Callbacks that check or change parameter values before they are set.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::error::SetParameterError;
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
    /// Adds a callback, and returns its number.
    pub(super) fn add(&mut self, callback: Arc<F>) -> u64 {
        self.last += 1;
        // As in rclcpp, the callback that was added last runs first.
        self.callbacks.insert(0, (self.last, callback));
        self.last
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Arc<F>> {
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

crate::sync::thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Mark that this thread runs a callback that checks parameters. Such a callback must not change parameters, or the
/// check would never end.
pub(super) struct InsideCallback(());

impl InsideCallback {
    /// Returns true if this thread runs such a callback.
    pub(super) fn is_here() -> bool {
        IS_INSIDE.with(Cell::get)
    }

    /// Runs a callback of the user, and turns a panic into an error.
    pub(super) fn run<R>(callback: impl FnOnce() -> R) -> Result<R, SetParameterError> {
        IS_INSIDE.with(|inside| inside.set(true));
        let _until_its_end = Self(());
        // A panic may leave the user's own state half changed, but none of rospin's.
        catch_unwind(AssertUnwindSafe(callback)).map_err(|panic| {
            let message = message_of(panic.as_ref());
            log::error!(target: "rospin", "a callback that checks parameters panicked: {message}");
            SetParameterError::Panicked { message }
        })
    }
}

impl Drop for InsideCallback {
    fn drop(&mut self) {
        IS_INSIDE.with(|inside| inside.set(false));
    }
}

/// Returns the message of a panic.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "(a value that is not text)".to_owned())
}
