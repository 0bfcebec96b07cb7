//! Component files as text, and the places of their entries.

use std::collections::BTreeSet;
use std::path::Path;

use rospin_scenario::{FileError, TomlFile};

use super::model::{ComponentPlan, Plan};

/// Components that a container starts, with their places in the file.
#[derive(Clone, PartialEq, Debug)]
pub struct ComponentFile {
    file: TomlFile,
    components: Vec<ComponentPlan>,
}

impl ComponentFile {
    /// Reads the component file at that path.
    ///
    /// # Errors
    /// If the file cannot be read or is invalid. The error has the place of the first mistake, and its fix.
    pub fn load(file: impl AsRef<Path>) -> Result<Self, FileError> {
        Self::read(TomlFile::load("component file", file.as_ref())?)
    }

    /// Parses `text`. Errors name `file` as the file that it comes from.
    ///
    /// # Errors
    /// If the text is invalid. The error has the place of the first mistake, and its fix.
    pub fn parse(file: impl Into<String>, text: impl Into<String>) -> Result<Self, FileError> {
        Self::read(TomlFile::new(file, text))
    }

    fn read(file: TomlFile) -> Result<Self, FileError> {
        let Plan { components } = file.read()?;
        let file = Self { file, components };
        file.check()?;
        Ok(file)
    }

    /// Checks the entries as far as the file alone allows it. Names of nodes and types of components are checked by the
    /// container.
    fn check(&self) -> Result<(), FileError> {
        let mut seen = BTreeSet::new();
        for (number, component) in self.components.iter().enumerate() {
            let require = |key, holds, message: &str| {
                if holds { Ok(()) } else { Err(self.error(number, key, message)) }
            };
            let ComponentPlan { type_name, name, namespace, executor, .. } = component;
            require("type", !type_name.is_empty(), "a component has no type; write one, as in \"demo::Talker\"")?;
            require("name", !name.is_empty(), "a component has no name; give it one")?;
            let executor = executor.as_ref().is_none_or(|executor| !executor.is_empty());
            require("executor", executor, "an executor has a name; leave it out for one of its own")?;
            let message = format!(
                "there is a component `{name}` in `{namespace}` already; give one of them another name or namespace"
            );
            require("name", seen.insert((namespace.trim_end_matches('/'), name)), &message)?;
        }
        Ok(())
    }

    /// Returns the components, in the order of the file.
    #[must_use]
    pub fn components(&self) -> &[ComponentPlan] {
        &self.components
    }

    /// Returns an error about a key of the component with this number, counted from 0, with its place in the file. It
    /// is for checks that only the program can make.
    #[must_use]
    pub fn error(&self, number: usize, key: &'static str, message: impl Into<String>) -> FileError {
        self.file.error("component", number, key, message)
    }
}
