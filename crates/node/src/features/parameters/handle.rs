//! Handles of a node's own parameters, and of the callbacks that check them.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Weak};

use super::callbacks::{OnSet, PreSet};
use super::error::{DeclareError, SetParameterError, UndeclareError};
use super::options::ParameterOptions;
use super::slot::Slot;
use super::store::{State, Store};
use super::value::{ParameterSetting, ParameterValue};
use super::variant::ParameterVariant;

/// Parameter of a node, with the type that it was [declared](crate::Node::declare_parameter) with.
///
/// Cheap to clone; clones are the same parameter. Dropping it leaves the parameter declared.
///
/// ```
/// use rospin::{Context, ContextOptions, Node, ParameterOptions, Ros};
///
/// let node = Ros::in_process(&Context::new(ContextOptions::new())).create_node("controller")?;
/// let gain = node.declare_parameter("gain", ParameterOptions::new().default_value(1.0).range(0.0..=10.0))?;
/// gain.set(2.5)?;
/// assert_eq!(gain.get(), 2.5);
/// let error = gain.set(11.0).unwrap_err();
/// assert_eq!(error.to_string(), "11.0 is not a value for parameter `gain`; it may be 0.0 to 10.0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Parameter<T: ParameterVariant> {
    store: Arc<Store>,
    name: Arc<str>,
    slot: Arc<Slot>,
    variant: PhantomData<fn() -> T>,
}

impl<T: ParameterVariant> Parameter<T> {
    /// Declares a parameter of the node.
    pub(super) fn declare(store: &Arc<Store>, name: &str, options: ParameterOptions<T>) -> Result<Self, DeclareError> {
        let slot = store.declare(name, options)?;
        Ok(Self { store: Arc::clone(store), name: name.into(), slot, variant: PhantomData })
    }

    /// Returns the parameter's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the current value of the parameter, or its last one if it was undeclared.
    ///
    /// Reading a `bool`, `i64` or `f64` neither locks nor allocates, so a real-time callback may do it. Other types
    /// lock for a moment and allocate.
    #[must_use]
    pub fn get(&self) -> T {
        self.slot.get()
    }

    /// Sets the value. The node's [pre-set](crate::Node::add_pre_set_parameters_callback) and
    /// [on-set](crate::Node::add_on_set_parameters_callback) callbacks run first, on this thread.
    ///
    /// Locks for a moment and allocates. Publishes an event if the node's parameters are
    /// [served](crate::Node::serve_parameters).
    ///
    /// # Errors
    /// If the parameter is read-only or was undeclared (even if its name was declared again), the value is out of
    /// range, or a callback rejects it.
    pub fn set(&self, value: T) -> Result<(), SetParameterError> {
        self.store.set_own(vec![self.setting(value.into_value())])
    }

    /// Returns the change that sets the parameter to `value`.
    pub(super) fn setting(&self, value: ParameterValue) -> (ParameterSetting, Arc<Slot>) {
        (ParameterSetting { name: self.name().to_owned(), value }, Arc::clone(&self.slot))
    }

    /// Removes the parameter from the node. Publishes an event as [`set`](Self::set) does.
    ///
    /// # Errors
    /// If the parameter is read-only, or not declared any more.
    pub fn undeclare(self) -> Result<(), UndeclareError> {
        self.store.undeclare(&self.name, Some(&self.slot))
    }
}

impl<T: ParameterVariant> Clone for Parameter<T> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            name: Arc::clone(&self.name),
            slot: Arc::clone(&self.slot),
            variant: PhantomData,
        }
    }
}

impl<T: ParameterVariant + fmt::Debug> fmt::Debug for Parameter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parameter").field("name", &self.name).field("value", &self.get()).finish_non_exhaustive()
    }
}

/// The callback that was removed. The caller drops it after it has released the lock.
type Removed = Option<Box<dyn Any>>;

/// Handle of a pre-set or on-set callback. Dropping the handle removes the callback.
///
/// A callback that is running is not waited for.
#[must_use = "the callback is removed when its handle is dropped, and never runs; keep it (`let _callback = ..`, not `let _ = ..`)"]
pub struct ParametersCallback {
    store: Weak<Store>,
    remove: Box<dyn Fn(&mut State) -> Removed + Send + Sync>,
}

impl ParametersCallback {
    /// Adds a pre-set callback to the node's.
    pub(super) fn pre_set(store: &Arc<Store>, callback: Arc<PreSet>) -> Self {
        let number = store.lock().pre_set.add(callback);
        Self::new(store, move |state| state.pre_set.remove(number).map(|callback| Box::new(callback) as _))
    }

    /// Adds an on-set callback to the node's.
    pub(super) fn on_set(store: &Arc<Store>, callback: Arc<OnSet>) -> Self {
        let number = store.lock().on_set.add(callback);
        Self::new(store, move |state| state.on_set.remove(number).map(|callback| Box::new(callback) as _))
    }

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
