//! What a managed node does in its transitions.

use super::machine::State;
use super::node::LifecycleHandle;

/// Why a transition's callback did not do what was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It could not be done, and nothing is broken: the node goes back to where it was. After a shutdown it is finalized
    /// nevertheless. The text says why.
    Failure(String),
    /// Something is broken: [`Lifecycle::on_error`] runs next. The text says what. `?` makes one of any error.
    Error(String),
}

impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Error(error.to_string())
    }
}

/// What a managed node does in its transitions: the payload of a [`LifecycleNode`](super::LifecycleNode).
///
/// All of it runs as callbacks of the node's own group, and in its turn, so no other callback of the group runs meanwhile.
/// A callback that panics counts as one that returned [`Fault::Error`]. Each is told the state that the node was in.
///
/// What is created here lives as long as its handle, so keep handles in the payload; `on_cleanup` and `on_shutdown` drop them.
#[expect(unused_variables, reason = "the names are for those who implement it")]
pub trait Lifecycle: Sized + Send + 'static {
    /// Sets everything up: publishers, subscriptions, timers, memory.
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

    /// Begins to work. Publishers speak after it.
    ///
    /// # Errors
    /// A failure leaves the node inactive.
    fn on_activate(&mut self, node: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        Ok(())
    }

    /// Ends to work. Publishers are silent already.
    ///
    /// # Errors
    /// A failure leaves the node active.
    fn on_deactivate(&mut self, node: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        Ok(())
    }

    /// Prepares for the end, from whatever state. The node is not dropped by it.
    ///
    /// # Errors
    /// A failure finalizes the node, too.
    fn on_shutdown(&mut self, node: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        Ok(())
    }

    /// Cleans up after an error in one of the others, so that the node can be configured again. Unless it is implemented, it
    /// fails.
    ///
    /// # Errors
    /// Any fault finalizes the node.
    fn on_error(&mut self, node: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        Err(Fault::Failure("there is no way back from an error".to_owned()))
    }
}
