//! Why a container does not start, or ends otherwise than it should.

use std::error::Error;
use std::io;

use rospin_engine::SpinError;
use rospin_scenario::FileError;

/// Why a component could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The file says what cannot be: a component that the program does not have, or a name that is none.
    #[error("{0}")]
    File(Box<FileError>),
    /// The component itself could not, or panicked.
    #[error("{place}")]
    Failed {
        /// The node that it would have been.
        component: String,
        /// Where in the file it stands, and what it says.
        place: Box<FileError>,
        /// What it says.
        #[source]
        reason: Box<dyn Error + Send + Sync>,
    },
}

impl From<FileError> for StartError {
    fn from(error: FileError) -> Self {
        Self::File(Box::new(error))
    }
}

/// Why a container ended otherwise than it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// An executor could not begin to spin, or ended by itself.
    #[error("executor `{executor}`: {source}")]
    Spin {
        /// The executor.
        executor: String,
        /// Why.
        source: Box<SpinError>,
    },
    /// There is no thread for an executor.
    #[error("there is no thread for executor `{executor}`: {source}")]
    Thread {
        /// The executor.
        executor: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// Signals cannot be received.
    #[error("SIGINT and SIGTERM cannot be received: {0}")]
    Signals(#[source] io::Error),
}
