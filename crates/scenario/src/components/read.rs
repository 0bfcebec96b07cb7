//! Component files as text, and the places of their entries.

use std::path::Path as FilePath;

use super::model::{ComponentPlan, Plan};
use crate::error::{CheckError, Path};
use crate::file::{self, FileError};
use crate::parse;

/// Components that a container starts, with their places in the file.
#[derive(Clone, PartialEq, Debug)]
pub struct ComponentFile {
    file: String,
    text: String,
    components: Vec<ComponentPlan>,
}

impl ComponentFile {
    /// Reads the component file at that path.
    ///
    /// # Errors
    /// If the file cannot be read or is invalid. The error has the place of the first mistake, and its fix.
    pub fn load(file: impl AsRef<FilePath>) -> Result<Self, FileError> {
        let (file, text) = file::read("component file", file.as_ref())?;
        Self::parse(file, text)
    }

    /// Parses `text`. Errors name `file` as the file that it comes from.
    ///
    /// # Errors
    /// The first error, with its place and its fix.
    pub fn parse(file: impl Into<String>, text: impl Into<String>) -> Result<Self, FileError> {
        let (file, text) = (file.into(), text.into());
        let parsed = toml::from_str::<Plan>(&text).map_err(|error| parse::syntax(&text, &error));
        let checked = parsed.and_then(|plan| match plan.check() {
            Ok(()) => Ok(plan.components),
            Err(error) => Err(parse::locate(&text, &error)),
        });
        match checked {
            Ok(components) => Ok(Self { file, text, components }),
            Err(error) => Err(FileError::Text { file, error }),
        }
    }

    /// Returns the components, in the order of the file.
    #[must_use]
    pub fn components(&self) -> &[ComponentPlan] {
        &self.components
    }

    /// Returns an error about a key of the component with this number, with its place in the file. It is for checks that only
    /// the program can make.
    #[must_use]
    pub fn error(&self, number: usize, key: &'static str, message: impl Into<String>) -> FileError {
        let path = Path { section: "component", table: Some(number), key: Some(key) };
        let error = parse::locate(&self.text, &CheckError { path, message: message.into() });
        FileError::Text { file: self.file.clone(), error }
    }
}
