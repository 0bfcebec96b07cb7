//! Checks of a scenario: all names exist, and nothing is impossible.

mod accelerators;
mod callbacks;
mod traffic;

use std::collections::BTreeSet;

use rospin_core::{ChainError, EntityKind, PriorityMap, policy};

use crate::callback::{Callback, ExecutionTime};
use crate::error::{CheckError, Path};
use crate::model::Scenario;
use crate::printable::{is_control, printable};

/// Maximum number of cores that a scenario's machine has.
const CORES_MAX: u16 = 64;
/// Maximum number of threads of an executor.
const THREADS_MAX: u16 = 256;

/// Result of a check: nothing, or the first error.
pub(crate) type Check = Result<(), CheckError>;

/// Table of a section, for errors about its keys: the section's name, and the table's number from 0.
#[derive(Clone, Copy)]
pub(crate) struct Table(pub(crate) &'static str, pub(crate) usize);

impl Table {
    /// Returns the error that the value of `key` is wrong.
    pub(crate) fn wrong<T>(self, key: &'static str, message: impl Into<String>) -> Result<T, CheckError> {
        let path = Path { section: self.0, table: Some(self.1), key: Some(key) };
        Err(CheckError { path, message: printable(&message.into()) })
    }

    /// Returns the error about `key` unless `holds`.
    pub(crate) fn require(self, key: &'static str, holds: bool, message: impl FnOnce() -> String) -> Check {
        if holds { Ok(()) } else { self.wrong(key, message()) }
    }
}

/// Returns the error about a key at the top of the file unless `holds`.
fn top(key: &'static str, holds: bool, message: impl Into<String>) -> Check {
    let path = Path { section: key, table: None, key: None };
    if holds { Ok(()) } else { Err(CheckError { path, message: printable(&message.into()) }) }
}

impl Scenario {
    /// Checks that the scenario can be run. [`parse`](Scenario::parse) does so itself.
    ///
    /// # Errors
    /// The first error, with its fix.
    pub fn check(&self) -> Result<(), CheckError> {
        top("duration", !self.duration.is_zero(), "the scenario lasts no time; give it a duration above zero")?;
        top("seed", i64::try_from(self.seed).is_ok(), "a seed is at most 9223372036854775807")?;
        top("name", !self.name.contains(is_control), "the name has control characters in it; leave them out")?;
        let cores = format!("a machine has 1 to {CORES_MAX} cores");
        top("cores", self.cores.is_none_or(|cores| (1..=CORES_MAX).contains(&cores)), cores)?;
        top("executor", !self.executors.is_empty(), "nothing runs callbacks; add an [[executor]] with a `name`")?;
        self.check_executors()?;
        self.check_accelerators()?;
        self.check_groups()?;
        self.check_callbacks()?;
        self.check_chains()?;
        self.check_releases()?;
        self.check_links()?;
        self.check_faults()
    }

    /// Returns the number of cores that the executors share: [`cores`](Self::cores), or without it the number of all
    /// executors' threads.
    #[must_use]
    pub fn core_count(&self) -> u16 {
        self.cores
            .unwrap_or_else(|| self.executors.iter().fold(0, |sum, executor| sum.saturating_add(executor.threads)))
    }

    /// Returns the callbacks that receive a message to `name`, with their places in [`callbacks`](Self::callbacks):
    /// those that subscribe to the topic or join it, or the callback of that name.
    pub fn receivers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (usize, &'a Callback)> {
        let is_for = move |callback: &Callback| {
            callback.subscribes.as_deref() == Some(name)
                || callback.joins.iter().any(|joined| joined == name)
                || (callback.name == name && is_addressed(callback))
        };
        self.callbacks.iter().enumerate().filter(move |(_, callback)| is_for(callback))
    }

    fn check_executors(&self) -> Check {
        unique("executor", self.executors.iter().map(|executor| &executor.name))?;
        let cores = self.core_count();
        for (number, executor) in self.executors.iter().enumerate() {
            let table = Table("executor", number);
            if let Err(error) = policy::by_name(&executor.policy) {
                return table.wrong("policy", error.to_string());
            }
            let threads = (1..=THREADS_MAX).contains(&executor.threads);
            table.require("threads", threads, || format!("an executor has 1 to {THREADS_MAX} threads"))?;
            let priority = (1..=99).contains(&executor.os_priority);
            table.require("os_priority", priority, || {
                "an OS priority is from 1 to 99, the larger the more urgent".into()
            })?;
            if let Some(core) = executor.cores.iter().find(|core| **core >= cores) {
                let message =
                    format!("there is no core {core}; the machine has 0 to {}: see `cores` at the top", cores - 1);
                return table.wrong("cores", message);
            }
            let ends = executor.stop.is_none_or(|stop| stop > executor.start);
            table.require("stop", ends, || "it is halted before it starts; give a later time".into())?;
        }
        let fits = cores <= CORES_MAX;
        top("executor", fits, format!("there are {cores} threads; say with `cores` how many cores they share"))
    }

    fn check_groups(&self) -> Check {
        unique("group", self.groups.iter().map(|group| &group.name))?;
        for (number, group) in self.groups.iter().enumerate() {
            let names = self.executors.iter().map(|executor| executor.name.as_str());
            known(Table("group", number), "executor", "executor", &group.executor, names)?;
        }
        Ok(())
    }

    /// Returns the names that a message can be sent to.
    fn addresses(&self) -> impl Iterator<Item = &str> {
        let callbacks = self.callbacks.iter().filter(|callback| is_addressed(callback));
        self.topics.iter().map(String::as_str).chain(callbacks.map(|callback| callback.name.as_str()))
    }

    fn check_chains(&self) -> Check {
        for (number, chain) in self.chains.iter().enumerate() {
            let table = Table("chain", number);
            table.require("name", !chain.name.contains(is_control), || {
                format!("`{}` has control characters in it; leave them out", chain.name)
            })?;
            let names = || self.callbacks.iter().map(|callback| callback.name.as_str());
            chain.callbacks.iter().try_for_each(|name| known(table, "callbacks", "callback", name, names()))?;
        }
        let chains: Vec<_> = self.chains.iter().map(crate::model::Chain::to_core).collect();
        if let Err(error) = PriorityMap::picas(&chains) {
            let (name, key) = match &error {
                ChainError::Duplicate { chain } => (chain, "name"),
                ChainError::Empty { chain } | ChainError::Cycle { chain, .. } => (chain, "callbacks"),
                _ => return top("chain", false, error.to_string()),
            };
            // The search runs backwards: of two chains with the same name, the second one is the error.
            let number = self.chains.iter().rposition(|chain| chain.name == *name).unwrap_or(0);
            return Table("chain", number).wrong(key, error.to_string());
        }
        for (number, chain) in self.chains.iter().enumerate() {
            for pair in chain.callbacks.windows(2) {
                self.check_link(Table("chain", number), &pair[0], &pair[1])?;
            }
        }
        Ok(())
    }

    /// Checks that the callback `to` receives messages of the callback `from` directly.
    fn check_link(&self, table: Table, from: &str, to: &str) -> Check {
        let publisher = self.callbacks.iter().find(|callback| callback.name == from);
        let sends = publisher.into_iter().flat_map(|callback| &callback.publishes);
        let linked = sends.flat_map(|address| self.receivers(address)).any(|(_, callback)| callback.name == to);
        table.require("callbacks", linked, || match self.callbacks.iter().find(|callback| callback.name == to) {
            Some(timer) if timer.kind == EntityKind::Timer => {
                format!("`{to}` is a timer and takes nothing from `{from}`; let a chain of its own start there")
            }
            Some(Callback { subscribes: Some(topic), .. }) => {
                format!("`{from}` hands nothing on to `{to}`; let it publish `{topic}`")
            }
            _ => format!("`{from}` hands nothing on to `{to}`; let it publish `{to}`"),
        })
    }
}

/// Checks that no name is empty, has control characters or occurs twice.
pub(crate) fn unique<'a>(section: &'static str, names: impl Iterator<Item = &'a String>) -> Check {
    let mut seen = BTreeSet::new();
    for (number, name) in names.enumerate() {
        let table = Table(section, number);
        table.require("name", !name.is_empty(), || format!("this {section} has no name; give it one"))?;
        table.require("name", !name.contains(is_control), || {
            format!("`{name}` has control characters in it; leave them out")
        })?;
        let article = if section.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        table.require("name", seen.insert(name), || {
            format!("there is {article} {section} `{name}` already; rename one of them")
        })?;
    }
    Ok(())
}

/// Checks that `name`, the value of `key`, is one of `names`. `what` says in the error which kind of thing it is to
/// name.
pub(crate) fn known<'a>(
    table: Table,
    key: &'static str,
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'a str>,
) -> Check {
    let names: Vec<_> = names.collect();
    table.require(key, names.contains(&name), || {
        let known = names.join(", ");
        match (name.is_empty(), known.is_empty()) {
            (_, true) => format!("there is no {what} `{name}`, nor any other; declare it"),
            (true, _) => format!("say which {what}; known are {known}"),
            _ => format!("there is no {what} `{name}`; known are {known}"),
        }
    })
}

/// Returns true if messages can be sent to the callback by its name.
fn is_addressed(callback: &Callback) -> bool {
    callback.kind != EntityKind::Timer && callback.joins.is_empty()
}

/// Checks the values of an execution time.
fn check_execution(table: Table, key: &'static str, time: &ExecutionTime) -> Check {
    match time {
        ExecutionTime::Fixed(_) => Ok(()),
        ExecutionTime::Uniform(min, max) => {
            table.require(key, min <= max, || "the first time is the shorter one; swap them".into())
        }
        ExecutionTime::List(times) => table.require(key, !times.is_empty(), || "the list is empty; add a time".into()),
        ExecutionTime::Recorded(bins) => {
            let any = bins.iter().any(|bin| bin.count > 0);
            table.require(key, any, || "nothing was recorded; add a time and how often it was seen".into())
        }
    }
}
