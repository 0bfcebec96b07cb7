//! Files, and the errors of reading them.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::ScenarioError;

/// Reasons for which a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read the {kind} {file}: {source}")]
    Unreadable {
        /// The kind of file that was expected.
        kind: &'static str,
        /// Its path.
        file: String,
        /// The operating system's reason.
        source: io::Error,
    },
    /// Its content is invalid.
    #[error("{file}: {error}")]
    Text {
        /// Its path.
        file: String,
        /// The problem and its place.
        error: ScenarioError,
    },
}

/// Returns the name and the text of a file. `kind` is for error messages.
pub(crate) fn read(kind: &'static str, path: &Path) -> Result<(String, String), FileError> {
    let file = path.display().to_string();
    match fs::read_to_string(path) {
        Ok(text) => Ok((file, text)),
        Err(source) => Err(FileError::Unreadable { kind, file, source }),
    }
}
