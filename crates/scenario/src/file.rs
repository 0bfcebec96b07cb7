//! Files, and the errors of reading them.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::ScenarioError;

/// Reasons for which a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read the {kind} {file}: {source}")]
    Unreadable {
        /// The kind of file that was expected.
        kind: &'static str,
        /// Its path.
        file: String,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The file's content is invalid.
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
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(source) => return Err(FileError::Unreadable { kind, file, source }),
    };
    match ScenarioError::text_of(bytes) {
        Ok(text) => Ok((file, text)),
        Err(error) => Err(FileError::Text { file, error }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_have_a_place() {
        let path = std::env::temp_dir().join(format!("rospin-scenario-{}-bytes.toml", std::process::id()));
        fs::write(&path, b"seed = 1\nname = \"\xc3\xa9\xe9\"\n").unwrap();
        let error = read("scenario", &path).unwrap_err().to_string();
        let said = "line 2, column 10: byte 0xe9 is not UTF-8; save the file as UTF-8";
        assert!(error.starts_with(&path.display().to_string()) && error.contains(said), "{error}");
        fs::remove_file(path).unwrap();
    }
}
