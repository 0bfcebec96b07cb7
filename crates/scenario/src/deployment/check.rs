//! Checks of a deployment by itself. The engine compares it with the program and the machine.

use std::collections::BTreeSet;

use rospin_core::{ChainError, DEPTH_MAX, policy};

use super::model::Deployment;
use super::names::is_pattern;
use crate::check::{Check, Table, known, unique};
use crate::error::CheckError;

/// Maximum number of threads of an executor.
const THREADS_MAX: u16 = 256;
/// Longest name of a client of an accelerator, in bytes.
const CLIENT_NAME_MAX: usize = 128;
/// Largest memory that a client of an accelerator shares, in MiB.
const MEMORY_MIB_MAX: u32 = 1 << 20;

impl Deployment {
    /// Checks the deployment. [`parse`](Deployment::parse) does so itself.
    ///
    /// # Errors
    /// The first error, with its fix.
    pub fn check(&self) -> Result<(), CheckError> {
        self.check_executors()?;
        self.check_groups()?;
        self.check_callbacks()?;
        self.check_chains()?;
        self.check_threads()?;
        self.check_clients()
    }

    fn check_executors(&self) -> Check {
        unique("executor", self.executors.iter().map(|executor| &executor.name))?;
        for (number, executor) in self.executors.iter().enumerate() {
            let table = Table("executor", number);
            if let Some(Err(error)) = executor.policy.as_deref().map(policy::by_name) {
                return table.wrong("policy", error.to_string());
            }
            let threads = executor.threads.is_none_or(|threads| (1..=THREADS_MAX).contains(&threads));
            table.require("threads", threads, || format!("an executor has 1 to {THREADS_MAX} threads"))?;
        }
        Ok(())
    }

    fn check_groups(&self) -> Check {
        let mut seen = BTreeSet::new();
        for (number, group) in self.groups.iter().enumerate() {
            let table = Table("group", number);
            table.require("name", !group.name.is_empty(), || "a group has no name; give it one, or \"*\"".into())?;
            table.require("name", seen.insert((&group.node, &group.name)), || {
                format!("`{}` is there already; leave one out", group.pattern())
            })?;
            let names = self.executors.iter().map(|executor| executor.name.as_str());
            known(table, "executor", "executor", &group.executor, names)?;
        }
        Ok(())
    }

    fn check_callbacks(&self) -> Check {
        unique("callback", self.callbacks.iter().map(|callback| &callback.name))?;
        for (number, callback) in self.callbacks.iter().enumerate() {
            let depth = callback.depth.is_none_or(|depth| (1..=DEPTH_MAX).contains(&(depth as usize)));
            Table("callback", number).require("depth", depth, || format!("a depth is from 1 to {DEPTH_MAX}"))?;
        }
        Ok(())
    }

    fn check_chains(&self) -> Check {
        for (number, chain) in self.chains.iter().enumerate() {
            if let Some(pattern) = chain.callbacks.iter().find(|name| is_pattern(name)) {
                return Table("chain", number).wrong(
                    "callbacks",
                    format!(
                        "`{pattern}` is a pattern, and a chain names its callbacks; a name that does not begin with \
                         `/` stands for callbacks in every namespace, such as `planner/scan` for \
                         `/robot1/planner/scan` and `/robot2/planner/scan`"
                    ),
                );
            }
        }
        let Err(error) = self.chain_priorities() else {
            return Ok(());
        };
        let (name, key) = match &error {
            ChainError::Empty { chain } | ChainError::Cycle { chain, .. } => (chain.as_str(), "callbacks"),
            ChainError::Duplicate { chain } => (chain.as_str(), "name"),
            _ => ("", "name"),
        };
        let number = self.chains.iter().rposition(|chain| chain.name == name).unwrap_or(0);
        Table("chain", number).wrong(key, error.to_string())
    }

    fn check_threads(&self) -> Check {
        unique("thread", self.threads.iter().map(|thread| &thread.name))
    }

    fn check_clients(&self) -> Check {
        let mut seen = BTreeSet::new();
        for (number, client) in self.clients.iter().enumerate() {
            let table = Table("client", number);
            let is_named = (1..=CLIENT_NAME_MAX).contains(&client.name.len());
            table.require("name", is_named, || format!("a client's name has 1 to {CLIENT_NAME_MAX} bytes"))?;
            table.require("name", seen.insert((&client.accelerator, &client.name)), || {
                format!("`{}` of `{}` is there already; leave one out", client.name, client.accelerator)
            })?;
            let depth = client.depth.is_none_or(|depth| (1..=DEPTH_MAX).contains(&(depth as usize)));
            table.require("depth", depth, || format!("a depth is from 1 to {DEPTH_MAX}"))?;
            let budget = client.budget.is_none_or(|budget| !budget.capacity.is_zero() && !budget.period.is_zero());
            table.require("budget", budget, || "capacity and period of a budget are longer than 0".into())?;
            let memory = client.memory_mib.is_none_or(|mib| (1..=MEMORY_MIB_MAX).contains(&mib));
            table.require("memory_mib", memory, || format!("the memory has 1 to {MEMORY_MIB_MAX} MiB"))?;
        }
        Ok(())
    }
}
