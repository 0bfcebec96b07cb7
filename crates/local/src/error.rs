//! Errors of the local path.

/// Reasons for which the local path cannot be set up.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// The directories of iceoryx2 cannot be used.
    #[error("shared memory cannot be set up: {reason}")]
    SharedMemory {
        /// The reason of iceoryx2.
        reason: String,
    },
}
