//! Component files as text, and places in them.

use std::path::Path as FilePath;

use super::model::{ComponentPlan, Plan};
use crate::error::{CheckError, Path};
use crate::file::{self, FileError};
use crate::text;

/// What a container starts, and where in a file each of it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct ComponentFile {
    file: String,
    text: String,
    components: Vec<ComponentPlan>,
}

impl ComponentFile {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or the first thing that is wrong with it: where, and what to do about it.
    pub fn load(file: impl AsRef<FilePath>) -> Result<Self, FileError> {
        let (file, text) = file::read("component file", file.as_ref())?;
        Self::parse(file, text)
    }

    /// Reads a text; `file` is what errors call it.
    ///
    /// # Errors
    /// The first thing that is wrong with it: where, and what to do about it.
    pub fn parse(file: impl Into<String>, text: impl Into<String>) -> Result<Self, FileError> {
        let (file, text) = (file.into(), text.into());
        let parsed = toml::from_str::<Plan>(&text).map_err(|error| text::syntax(&text, &error));
        let checked = parsed.and_then(|plan| match plan.check() {
            Ok(()) => Ok(plan.components),
            Err(error) => Err(text::locate(&text, &error)),
        });
        match checked {
            Ok(components) => Ok(Self { file, text, components }),
            Err(error) => Err(FileError::Text { file, error }),
        }
    }

    /// The components, in the order of the file.
    #[must_use]
    pub fn components(&self) -> &[ComponentPlan] {
        &self.components
    }

    /// Says `message` of a key of the component with that number, at its place in the file: for what only the program knows.
    #[must_use]
    pub fn error(&self, number: usize, key: &'static str, message: impl Into<String>) -> FileError {
        let path = Path { section: "component", table: Some(number), key: Some(key) };
        let error = text::locate(&self.text, &CheckError { path, message: message.into() });
        FileError::Text { file: self.file.clone(), error }
    }
}
