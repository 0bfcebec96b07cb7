//! Errors of starting and of running a container.

use std::error::Error;
use std::io;

use rospin_engine::SpinError;
use rospin_node::{NodeError, ServiceError};
use rospin_scenario::FileError;

/// Reasons for which a component could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The file names a component that is not registered, has an invalid name, or an empty list as the value of a
    /// parameter.
    #[error("{0}")]
    File(Box<FileError>),
    /// The component's constructor failed or panicked.
    #[error("{place}")]
    Failed {
        /// The name of the component's node.
        component: String,
        /// The place in the file, with its text.
        place: Box<FileError>,
        /// The error that the component's constructor returned, or the message of its panic.
        #[source]
        reason: Box<dyn Error + Send + Sync>,
    },
}

impl From<FileError> for StartError {
    fn from(error: FileError) -> Self {
        Self::File(Box::new(error))
    }
}

/// Reasons for which other programs cannot load components.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The node of the services could not be created.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// A service could not be created.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

/// Reasons for which a container ended with an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// An executor could not start to spin, or its spin ended with an error.
    #[error("executor `{executor}`: {reason}")]
    Spin {
        /// The name of the executor.
        executor: String,
        /// The error that ended the executor's spin.
        reason: Box<SpinError>,
    },
    /// The thread of an executor could not be started.
    #[error("there is no thread for executor `{executor}`: {reason}")]
    Thread {
        /// The name of the executor.
        executor: String,
        /// The operating system's error.
        reason: io::Error,
    },
    /// Signal handlers could not be installed.
    #[error("SIGINT and SIGTERM cannot be received: {0}")]
    Signals(io::Error),
}
