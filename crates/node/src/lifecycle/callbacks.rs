//! Callbacks of a managed node's transitions.

use super::handle::LifecycleHandle;
use super::machine::State;

/// Errors of a transition's callback.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The transition is not possible, but nothing is broken. The node returns to its previous state; after
    /// `on_shutdown` and `on_error` it is finalized nevertheless. The text is the reason.
    Failure(String),
    /// Something is broken. [`Lifecycle::on_error`] runs next; after an error of its own, the node is finalized. The
    /// text is the reason; `?` converts any error to this variant.
    Error(String),
}

impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Error(error.to_string())
    }
}

/// The callbacks of a managed node's transitions. Its implementation is the payload of a
/// [`LifecycleNode`](super::LifecycleNode).
///
/// They run as callbacks of the [group](LifecycleHandle::group) that has the payload, so no other callback of that
/// group runs at the same time. A panic counts as [`Fault::Error`]. `previous` is the state in which the transition
/// began; for `on_error`, that in which the broken transition began.
///
/// An entity lives as long as its handle. Keep handles in the payload, and drop them in `on_cleanup` and
/// `on_shutdown`.
#[expect(unused_variables, reason = "the names are for those who implement it")]
pub trait Lifecycle: Sized + Send + 'static {
    /// Creates publishers, subscriptions and timers, and allocates memory.
    ///
    /// # Errors
    /// A failure leaves the node unconfigured.
    fn on_configure(&mut self, node: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        Ok(())
    }

    /// Undoes what `on_configure` did.
    ///
    /// # Errors
    /// A failure leaves the node inactive.
    fn on_cleanup(&mut self, node: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        Ok(())
    }

    /// Starts the node's work. Publishers send messages from here on.
    ///
    /// # Errors
    /// A failure leaves the node inactive.
    fn on_activate(&mut self, node: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        Ok(())
    }

    /// Stops the node's work. Publishers are silent already.
    ///
    /// # Errors
    /// A failure leaves the node active.
    fn on_deactivate(&mut self, node: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        Ok(())
    }

    /// Prepares for the end of the node, from any state. The node itself is not dropped.
    ///
    /// # Errors
    /// A failure finalizes the node, too. After an error, [`on_error`](Self::on_error) decides.
    fn on_shutdown(&mut self, node: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        Ok(())
    }

    /// Cleans up after an error in another transition. If it succeeds, the node is unconfigured and can be configured
    /// again. The default implementation fails.
    ///
    /// # Errors
    /// Any fault makes the node finalized.
    fn on_error(&mut self, node: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        Err(Fault::Failure("there is no way back from an error".to_owned()))
    }
}
