//! Errors in interface packages.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A line of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Path of the file.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// Reasons for which no types were generated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// A line of a definition is invalid.
    #[error("{place}: {problem}\n  fix: {fix}")]
    Definition {
        /// Place of the line.
        place: Place,
        /// The problem.
        problem: String,
        /// The fix.
        fix: String,
    },
    /// A definition has an invalid name, or too few or too many parts for its kind.
    #[error("{}: {problem}\n  fix: {fix}", file.display())]
    File {
        /// File of the definition.
        file: PathBuf,
        /// The problem.
        problem: String,
        /// The fix.
        fix: String,
    },
    /// A folder is not an interface package.
    #[error("{}: {problem}\n  fix: {fix}", folder.display())]
    Package {
        /// Path of the folder.
        folder: PathBuf,
        /// The problem.
        problem: String,
        /// The fix.
        fix: String,
    },
    /// There is no folder to write to: this is no build script, and none was set.
    #[error("there is no output folder\n  fix: call this from a build script, or set `Generator::out_dir`")]
    NoFolder,
    /// A package that was requested by name was not found.
    #[error("there is no package `{name}`\n  fix: {fix}")]
    Unknown {
        /// Name of the package.
        name: String,
        /// The fix.
        fix: String,
    },
    /// A file or folder could not be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        error: io::Error,
    },
}

impl GenerateError {
    /// Returns the function that turns an error of this file or folder into a [`GenerateError`].
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |error| Self::Io { path: path.to_owned(), error }
    }
}

/// A problem and its fix. The caller adds the line.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) problem: String,
    pub(crate) fix: String,
}

impl Fault {
    pub(crate) fn new(problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { problem: problem.into(), fix: fix.into() }
    }

    /// Returns the error of that line.
    pub(crate) fn at(self, file: &Path, line: usize) -> GenerateError {
        let Self { problem, fix } = self;
        GenerateError::Definition { place: Place { file: file.to_owned(), line }, problem, fix }
    }
}
