//! Files in TOML, and the errors of reading them.

use std::fs;
use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::{CheckError, Path as Place, ScenarioError};
use crate::parse;
use crate::printable::printable;

/// Reasons for which a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read the {kind} {file}: {reason}")]
    Unreadable {
        /// The kind of file that was expected.
        kind: &'static str,
        /// Path of the file.
        file: String,
        /// The operating system's reason.
        reason: io::Error,
    },
    /// The file's content is invalid.
    #[error("{file}: {error}")]
    Text {
        /// Path or name of the file.
        file: String,
        /// The problem and its place.
        error: ScenarioError,
    },
}

/// Text of a file in TOML, whose errors have their places. Files of all kinds are read with it.
///
/// ```
/// # #[derive(Debug, serde::Deserialize)]
/// # struct Fleet { robot: Vec<toml::Table> }
/// let file = rospin_scenario::TomlFile::new("fleet.toml", "[[robot]]\nname = \"R2\"\nwheels = 3");
/// let fleet: Fleet = file.read()?;
/// assert_eq!(fleet.robot.len(), 1);
/// let error = file.error("robot", 0, "wheels", "it has legs; leave this out");
/// assert_eq!(error.to_string(), "fleet.toml: line 3, column 10, `wheels`: it has legs; leave this out");
/// # Ok::<(), rospin_scenario::FileError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TomlFile {
    name: String,
    text: String,
}

impl TomlFile {
    /// Reads the file at that path. `kind` names what it should be, such as `deployment file`, in the error.
    ///
    /// # Errors
    /// If the file cannot be read, or is not UTF-8.
    pub fn load(kind: &'static str, path: &Path) -> Result<Self, FileError> {
        let file = path.display().to_string();
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(reason) => return Err(FileError::Unreadable { kind, file, reason }),
        };
        match ScenarioError::text_of(bytes) {
            Ok(text) => Ok(Self::new(file, text)),
            Err(error) => Err(FileError::Text { file, error }),
        }
    }

    /// Returns a file of that text. Errors name `name` as the file that it comes from.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Returns the file's name or path, as errors name it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the file's text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Deserializes the text.
    ///
    /// # Errors
    /// If the text is not TOML, or does not describe a `T`. The error has the place.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, FileError> {
        toml::from_str(&self.text).map_err(|error| self.wrong(parse::syntax(&self.text, &error)))
    }

    /// Returns an error about `key` of the table with that number, from 0, in the section `[[section]]`. Its place is
    /// the key's value, or the table if it does not have the key.
    #[must_use]
    pub fn error(
        &self,
        section: &'static str,
        number: usize,
        key: &'static str,
        message: impl Into<String>,
    ) -> FileError {
        let path = Place { section, table: Some(number), key: Some(key) };
        self.at(&CheckError { path, message: printable(&message.into()) })
    }

    /// Returns the error of a check with its place.
    pub(crate) fn at(&self, error: &CheckError) -> FileError {
        self.wrong(parse::locate(&self.text, error))
    }

    pub(crate) fn wrong(&self, error: ScenarioError) -> FileError {
        FileError::Text { file: self.name.clone(), error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_have_a_place() {
        let path = std::env::temp_dir().join(format!("rospin-scenario-{}-bytes.toml", std::process::id()));
        fs::write(&path, b"seed = 1\nname = \"\xc3\xa9\xe9\"\n").unwrap();
        let error = TomlFile::load("scenario", &path).unwrap_err().to_string();
        let said = "line 2, column 10: byte 0xe9 is not UTF-8; save the file as UTF-8";
        assert!(error.starts_with(&path.display().to_string()) && error.contains(said), "{error}");
        fs::remove_file(path).unwrap();
    }
}
