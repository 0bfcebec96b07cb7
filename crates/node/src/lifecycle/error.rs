//! Errors of creating a managed node, and of its transitions.

use rospin_engine::SourceError;

use super::machine::State;
use crate::error::ServiceError;
use crate::error::TopicError;
use crate::start::NodeError;

/// Reasons for which a managed node could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LifecycleError {
    /// The node could not be created.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The publisher of `~/transition_event` could not be created.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// A service could not be created.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The executor of the node was dropped.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Reasons for which a transition did not reach its goal.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransitionError {
    /// The transition does not begin in the state that the node was in when its turn came. No callback ran.
    #[error("node `{node}` is {state} and has no transition {asked} there; {allowed}")]
    Refused {
        /// Fully qualified name of the node.
        node: String,
        /// The name or the number of the transition that was requested.
        asked: String,
        /// The state that the node is in.
        state: State,
        /// The transitions that were possible instead, as text.
        allowed: String,
    },
    /// The transition's callback failed.
    #[error("node `{node}` could not {transition}: {reason}; it is {state}")]
    Failed {
        /// Fully qualified name of the node.
        node: String,
        /// Name of the requested transition, such as `configure`.
        transition: &'static str,
        /// The reason that the callback returned.
        reason: String,
        /// The state that the node is in now.
        state: State,
    },
    /// The transition's callback returned an error or panicked. `on_error` has run.
    #[error("node `{node}` broke when asked to {transition}: {reason}; it is {state}")]
    Broke {
        /// Fully qualified name of the node.
        node: String,
        /// Name of the requested transition, such as `configure`.
        transition: &'static str,
        /// The reason that the callback returned, followed by that of `on_error` if it failed, too.
        reason: String,
        /// The state that the node is in now.
        state: State,
    },
    /// The queue of requested transitions is full.
    #[error("node `{node}` has too many transitions waiting; await those that it was asked for before")]
    TooMany {
        /// Fully qualified name of the node.
        node: String,
    },
    /// The node or its executor was dropped before the transition's turn came.
    #[error("node `{node}` ended before it could do what it was asked for")]
    Gone {
        /// Fully qualified name of the node.
        node: String,
    },
}
