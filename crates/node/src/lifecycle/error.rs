//! Why there is no managed node, and why one did not do what it was asked for.

use rospin_engine::SourceError;

use super::machine::State;
use crate::node::NodeError;
use crate::service::ServiceError;
use crate::subscription::TopicError;

/// Why a managed node could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LifecycleError {
    /// The node itself could not be.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// Its topic of transitions could not be.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// One of its services could not be.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// Its executor was dropped.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Why a node is not where a transition should have led it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransitionError {
    /// The transition does not begin in the state that the node was in when its turn came. Nothing ran.
    #[error("node `{node}` is {state} and has no transition {asked} there; {allowed}")]
    Refused {
        /// The node.
        node: String,
        /// What it was asked for.
        asked: String,
        /// The state that it is in.
        state: State,
        /// What it could be asked for instead, in words.
        allowed: String,
    },
    /// Its callback could not do it.
    #[error("node `{node}` could not {transition}: {reason}; it is {state}")]
    Failed {
        /// The node.
        node: String,
        /// The transition.
        transition: &'static str,
        /// What the callback says.
        reason: String,
        /// The state that it is in now.
        state: State,
    },
    /// Its callback broke something, or panicked; afterwards `on_error` ran.
    #[error("node `{node}` broke when asked to {transition}: {reason}; it is {state}")]
    Broke {
        /// The node.
        node: String,
        /// The transition.
        transition: &'static str,
        /// What the callback says, and what `on_error` says if it could not help.
        reason: String,
        /// The state that it is in now.
        state: State,
    },
    /// Many transitions wait for their turn already.
    #[error("node `{node}` has too many transitions waiting; await those that it was asked for before")]
    TooMany {
        /// The node.
        node: String,
    },
    /// The node or its executor was dropped before the transition's turn came.
    #[error("node `{node}` ended before it could do what it was asked for")]
    Gone {
        /// The node.
        node: String,
    },
}
