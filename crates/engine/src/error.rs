//! Errors that the creation of several kinds of entities has in common.

/// The group was removed, or its executor dropped: entities can no longer be created on it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("group `{group}` was removed, or its executor dropped; create entities before, or on another group")]
pub struct GroupGone {
    /// The name of the group.
    pub group: String,
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
