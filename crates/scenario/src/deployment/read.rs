//! Deployment files as text: reads one or several, and writes one.

use std::path::Path;

use super::model::Deployment;
use crate::error::ScenarioError;
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

    /// Loads the deployment files that the environment variable `ROSPIN_DEPLOYMENT` names, separated by colons; `None` if it names
    /// none.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_env() -> Result<Option<Self>, DeploymentError> {
        let files = std::env::var_os(VARIABLE).filter(|files| !files.is_empty());
        files.map(|files| Self::load(std::env::split_paths(&files))).transpose()
    }

    /// Loads one deployment from one or more files. A file may refer to another one's executors. No two files may have
    /// an entry for the same group, executor, callback, chain, thread or client.
    ///
    /// # Errors
    /// The first error, with its file, place and fix.
    pub fn load<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> Result<Self, DeploymentError> {
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
        let files = read.iter().map(|(file, _)| file.name()).collect::<Vec<_>>().join(", ");
        let merged = merge(read.into_iter().map(|(file, deployment)| (file.name().to_owned(), deployment)))?;
        merged.check().map_err(|error| DeploymentError::Together { files, message: error.to_string() })?;
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
