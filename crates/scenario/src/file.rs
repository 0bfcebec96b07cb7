//! Files, and why there is nothing in them.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::ScenarioError;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read the {kind} {file}: {source}")]
    Unreadable {
        /// What it would have been.
        kind: &'static str,
        /// Its path.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// It makes no sense.
    #[error("{file}: {error}")]
    Text {
        /// Its path.
        file: String,
        /// What is wrong, and where.
        error: ScenarioError,
    },
}

/// The name and the text of a file, which is one of that kind.
pub(crate) fn read(kind: &'static str, path: &Path) -> Result<(String, String), FileError> {
    let file = path.display().to_string();
    match fs::read_to_string(path) {
        Ok(text) => Ok((file, text)),
        Err(source) => Err(FileError::Unreadable { kind, file, source }),
    }
}
