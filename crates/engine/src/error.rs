//! Errors that the creation of several kinds of entities has in common.

use rospin_core::DEPTH_MAX;

use crate::lock_free::depth::Depth;

/// The group was removed, or its executor dropped: entities can no longer be created on it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("group `{group}` was removed, or its executor dropped; create entities before, or on another group")]
pub struct GroupGone {
    /// The name of the group.
    pub group: String,
}

/// The depth of a queue is above the limit.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{entity}` has a depth of {depth}; a queue keeps at most {limit} messages or requests, so give it a smaller depth"
)]
pub struct DepthTooLarge {
    /// The name of the entity; of a publisher, the topic.
    pub entity: String,
    /// The depth.
    pub depth: usize,
    /// The largest depth, [`DEPTH_MAX`].
    pub limit: usize,
}

impl DepthTooLarge {
    /// Returns an error if the depth of that entity is above the limit.
    ///
    /// # Errors
    /// If `depth` is above [`DEPTH_MAX`].
    pub fn check(entity: &str, depth: usize) -> Result<(), Self> {
        depth_of(entity, depth).map(|_| ())
    }
}

/// Returns the depth of that entity's queue.
pub(crate) fn depth_of(entity: &str, depth: usize) -> Result<Depth, DepthTooLarge> {
    Depth::new(depth).ok_or_else(|| DepthTooLarge { entity: entity.to_owned(), depth, limit: DEPTH_MAX })
}

/// Errors of creating a timer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimerError {
    /// The period is zero, so that the timer would always be due.
    #[error("timer `{timer}` has a period of zero; give it a positive one, or make it a one-shot")]
    ZeroPeriod {
        /// The name of the timer.
        timer: String,
    },
    /// The group was removed, or its executor dropped.
    #[error(transparent)]
    GroupGone(#[from] GroupGone),
}
