//! Parameters as their node has them.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::error::{SetParameterError, UndeclareError};
use super::slot::Slot;
use super::store::Store;
use super::value::{ParameterSetting, ParameterValue};
use super::variant::ParameterVariant;

/// A parameter of a node, with the type that it was [declared](crate::Node::declare_parameter) with.
///
/// Cheap to clone; clones are the same parameter. Dropping it leaves the parameter declared.
///
/// ```
/// use rospin_engine::{Context, ContextOptions};
/// use rospin_node::{Ros, Node, ParameterOptions};
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
    pub(super) fn new(store: Arc<Store>, name: String, slot: Arc<Slot>) -> Self {
        Self { store, name: name.into(), slot, variant: PhantomData }
    }

    /// The parameter's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value that it has now, or had when it was undeclared.
    ///
    /// A `bool`, `i64` or `f64` is read without a lock or an allocation: fit for real-time callbacks. Other types lock for a
    /// moment, and allocate.
    #[must_use]
    pub fn get(&self) -> T {
        self.slot.get()
    }

    /// Sets it, once the node's [pre-set](crate::Node::add_pre_set_parameters_callback) and
    /// [on-set](crate::Node::add_on_set_parameters_callback) callbacks have run on this thread.
    ///
    /// Locks for a moment, allocates, and publishes an event where the node's parameters are
    /// [served](crate::Node::serve_parameters).
    ///
    /// # Errors
    /// If it is read-only or undeclared (also if another one of its name was declared since), the value is not in its range, or a callback does not want it.
    pub fn set(&self, value: T) -> Result<(), SetParameterError> {
        self.store.set_own(vec![self.setting(value.into_value())])
    }

    /// What it would be set by.
    pub(super) fn setting(&self, value: ParameterValue) -> (ParameterSetting, Arc<Slot>) {
        (ParameterSetting { name: self.name().to_owned(), value }, Arc::clone(&self.slot))
    }

    /// Removes it from the node. Publishes an event as [`set`](Self::set).
    ///
    /// # Errors
    /// If it is read-only, or no longer declared.
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
