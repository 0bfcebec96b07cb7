//! What can be wrong with interface packages.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A line of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// Why no types were generated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// A line of a definition is not what ROS 2 understands.
    #[error("{place}: {problem}\n  fix: {fix}")]
    Definition {
        /// The line.
        place: Place,
        /// What is wrong with it.
        problem: String,
        /// What to do about it.
        fix: String,
    },
    /// A definition has not the parts that its kind has.
    #[error("{}: {problem}\n  fix: {fix}", file.display())]
    File {
        /// The file of the definition.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do about it.
        fix: String,
    },
    /// A folder is no interface package.
    #[error("{}: {problem}\n  fix: {fix}", folder.display())]
    Package {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do about it.
        fix: String,
    },
    /// A package that was asked for by its name is not there.
    #[error("there is no package `{name}`\n  fix: {fix}")]
    Unknown {
        /// The package.
        name: String,
        /// What to do about it.
        fix: String,
    },
    /// A file or folder cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        error: io::Error,
    },
}

impl GenerateError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |error| Self::Io { path: path.to_owned(), error }
    }
}

/// What is wrong with something of a line, and what to do about it; the line is known further up.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) problem: String,
    pub(crate) fix: String,
}

impl Fault {
    pub(crate) fn new(problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { problem: problem.into(), fix: fix.into() }
    }

    pub(crate) fn at(self, file: &Path, line: usize) -> GenerateError {
        let Self { problem, fix } = self;
        GenerateError::Definition { place: Place { file: file.to_owned(), line }, problem, fix }
    }
}
