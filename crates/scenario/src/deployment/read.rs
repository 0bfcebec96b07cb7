//! Deployment files as text: reads one or several, and writes one.

use std::path::Path;

use super::model::Deployment;
use crate::error::{CheckError, ScenarioError};
use crate::file::{FileError, TomlFile};
use crate::parse;

/// The environment variable that names a program's deployment files.
const VARIABLE: &str = "ROSPIN_DEPLOYMENT";

/// Reasons for which a deployment could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeploymentError {
    /// A file cannot be read, or is invalid.
    #[error(transparent)]
    File(#[from] FileError),
    /// Two files have an entry for the same name.
    #[error("{what} is deployed by {first} and by {second}; leave it out in one of them")]
    Conflict {
        /// The name, with the kind of entry.
        what: String,
        /// File that has the first entry.
        first: String,
        /// File that has the second entry.
        second: String,
    },
    /// Each file is valid by itself, but together they are invalid.
    #[error("the deployment files {files} do not go together: {message}")]
    Together {
        /// Paths of the files.
        files: String,
        /// The problem.
        message: String,
    },
}

impl Deployment {
    /// Parses a deployment and [checks](Deployment::check) it.
    ///
    /// # Errors
    /// The first error, with its place and its fix.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let deployment: Self = toml::from_str(text).map_err(|error| parse::syntax(text, &error))?;
        deployment.check().map_err(|error| parse::locate(text, &error))?;
        Ok(deployment)
    }

    /// Loads the deployment files that the environment variable `ROSPIN_DEPLOYMENT` names, separated by colons; `None`
    /// if it names none.
    ///
    /// # Errors
    /// Those of [`load_all`](Self::load_all).
    pub fn from_env() -> Result<Option<Self>, DeploymentError> {
        let files = std::env::var_os(VARIABLE).filter(|files| !files.is_empty());
        files.map(|files| Self::load_all(std::env::split_paths(&files))).transpose()
    }

    /// Loads a deployment from a file.
    ///
    /// # Errors
    /// The first error, with the file, its place and its fix.
    pub fn load(file: impl AsRef<Path>) -> Result<Self, DeploymentError> {
        Self::load_all([file])
    }

    /// Loads one deployment from one or more files. A file may refer to another one's executors. No two files may have
    /// an entry for the same group, executor, callback, chain, thread or client.
    ///
    /// # Errors
    /// The first error, with its file, place and fix.
    pub fn load_all(files: impl IntoIterator<Item: AsRef<Path>>) -> Result<Self, DeploymentError> {
        let mut read = Vec::new();
        for file in files {
            let file = TomlFile::load("deployment file", file.as_ref())?;
            let deployment: Self = file.read()?;
            read.push((file, deployment));
        }
        if let [(file, deployment)] = &read[..] {
            deployment.check().map_err(|error| file.at(&error))?;
            return Ok(deployment.clone());
        }
        let merged = merge(read.iter().map(|(file, deployment)| (file.name().to_owned(), deployment.clone())))?;
        merged.check().map_err(|error| {
            let files = read.iter().map(|(file, _)| file.name()).collect::<Vec<_>>().join(", ");
            DeploymentError::Together { files, message: in_its_file(&read, error) }
        })?;
        Ok(merged)
    }

    /// Formats the deployment as a text that [`parse`](Deployment::parse) reads.
    ///
    /// # Panics
    /// Never for a deployment that was read, or that passes [`check`](Deployment::check).
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a valid deployment can be written")
    }
}

/// Returns the error of merged files as text, with the file and the place of what it is about.
fn in_its_file(files: &[(TomlFile, Deployment)], mut error: CheckError) -> String {
    let Some(mut number) = error.path.table else {
        return error.to_string();
    };
    for (file, deployment) in files {
        let count = deployment.count(error.path.section);
        if number < count {
            error.path.table = Some(number);
            return file.at(&error).to_string();
        }
        number -= count;
    }
    error.to_string()
}

/// Merges files. If one of them demands an error in place of a warning, the result does.
fn merge(files: impl IntoIterator<Item = (String, Deployment)>) -> Result<Deployment, DeploymentError> {
    let mut merged = Deployment { on_unknown: super::Reaction::Warn, ..Deployment::default() };
    let mut named: Vec<(String, String)> = Vec::new();
    for (file, deployment) in files {
        for what in deployment.names() {
            if let Some((_, first)) = named.iter().find(|(named, first)| *named == what && *first != file) {
                return Err(DeploymentError::Conflict { what, first: first.clone(), second: file });
            }
            named.push((what, file.clone()));
        }
        let stricter = |one, other| if one == super::Reaction::Fail { one } else { other };
        merged.on_shortfall = stricter(merged.on_shortfall, deployment.on_shortfall);
        merged.on_unknown = stricter(merged.on_unknown, deployment.on_unknown);
        merged.elsewhere.extend(deployment.elsewhere);
        merged.lock_memory |= deployment.lock_memory;
        merged.executors.extend(deployment.executors);
        merged.groups.extend(deployment.groups);
        merged.callbacks.extend(deployment.callbacks);
        merged.chains.extend(deployment.chains);
        merged.threads.extend(deployment.threads);
        merged.clients.extend(deployment.clients);
    }
    Ok(merged)
}

impl Deployment {
    /// Returns the number of entries in the section of that name.
    fn count(&self, section: &str) -> usize {
        match section {
            "executor" => self.executors.len(),
            "group" => self.groups.len(),
            "callback" => self.callbacks.len(),
            "chain" => self.chains.len(),
            "thread" => self.threads.len(),
            "client" => self.clients.len(),
            _ => 0,
        }
    }

    /// Returns the names of all entries.
    fn names(&self) -> impl Iterator<Item = String> {
        let executors = self.executors.iter().map(|plan| format!("executor `{}`", plan.name));
        let groups = self.groups.iter().map(|plan| format!("group `{}` of node `{}`", plan.name, plan.node));
        let callbacks = self.callbacks.iter().map(|plan| format!("callback `{}`", plan.name));
        let chains = self.chains.iter().map(|chain| format!("chain `{}`", chain.name));
        let threads = self.threads.iter().map(|plan| format!("thread `{}`", plan.name));
        let clients =
            self.clients.iter().map(|plan| format!("client `{}` of accelerator `{}`", plan.name, plan.accelerator));
        executors.chain(groups).chain(callbacks).chain(chains).chain(threads).chain(clients)
    }
}
