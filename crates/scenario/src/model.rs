//! Model of a scenario.
//!
//! Parts refer to each other by name; [`Scenario::check`] checks that the names exist. Every `new` has the default
//! values of a text.

use std::time::Duration;

use rospin_core::GroupKind;
use serde::{Deserialize, Serialize};

use crate::accelerator::Accelerator;
use crate::callback::Callback;
use crate::lists;
use crate::text;
use crate::traffic::{Fault, Link, Release};

/// System of executors, callbacks and messages, and the duration of its run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a scenario")]
#[non_exhaustive]
pub struct Scenario {
    /// Name for reports; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Time during which executors start callbacks. Callbacks that run at its end still run to their ends.
    #[serde(with = "text::duration")]
    pub duration: Duration,
    /// Seed of all random numbers.
    #[serde(default)]
    pub seed: u64,
    /// Number of processor cores that the executors share. For `None`, there is one for each thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u16>,
    /// Origin of the priorities of callbacks that have no priority of their own.
    #[serde(default)]
    pub priorities: Priorities,
    /// Names of the topics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topics: Vec<String>,
    /// Names of the locks that callbacks share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
    /// Executors.
    #[serde(
        default,
        rename = "executor",
        deserialize_with = "lists::executors",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub executors: Vec<Executor>,
    /// Accelerators.
    #[serde(
        default,
        rename = "accelerator",
        deserialize_with = "lists::accelerators",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub accelerators: Vec<Accelerator>,
    /// Callback groups.
    #[serde(default, rename = "group", deserialize_with = "lists::groups", skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// Callbacks, in the order of registration.
    #[serde(
        default,
        rename = "callback",
        deserialize_with = "lists::callbacks",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub callbacks: Vec<Callback>,
    /// Chains of callbacks.
    #[serde(default, rename = "chain", deserialize_with = "lists::chains", skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<Chain>,
    /// Messages that come from outside.
    #[serde(default, rename = "release", deserialize_with = "lists::releases", skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<Release>,
    /// Delays of messages between callbacks.
    #[serde(default, rename = "link", deserialize_with = "lists::links", skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Faults that are injected.
    #[serde(default, rename = "fault", deserialize_with = "lists::faults", skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

/// Origin of the priorities of callbacks that have no priority of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Priorities {
    /// Callbacks without a priority have priority 0.
    #[default]
    Given,
    /// Priorities are derived from the chains, by the rules of PiCAS.
    Picas,
}

/// Executor: threads with one OS scheduling setting and one policy.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an executor")]
#[non_exhaustive]
pub struct Executor {
    /// Name of the executor.
    pub name: String,
    /// Name of the policy, one of [`rospin_core::policy::POLICIES`].
    #[serde(default = "default_policy")]
    pub policy: String,
    /// Number of threads.
    #[serde(default = "one")]
    pub threads: u16,
    /// OS priority of the threads, 1 to 99 as for `SCHED_FIFO`. A larger number preempts a smaller one.
    #[serde(default = "lowest_os_priority")]
    pub os_priority: u8,
    /// Cores on which the threads may run; empty for all cores.
    #[serde(default, deserialize_with = "lists::cores", skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<u16>,
    /// Time at which the executor starts to spin. Messages that arrive earlier wait in their queues.
    #[serde(default, with = "text::duration", skip_serializing_if = "Duration::is_zero")]
    pub start: Duration,
    /// Time at which the executor is halted, if that is before the end of the scenario.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
}

/// Returns the engine's default policy.
fn default_policy() -> String {
    "fixed-priority".to_owned()
}

const fn one() -> u16 {
    1
}

const fn lowest_os_priority() -> u8 {
    1
}

impl Executor {
    /// Returns an executor with one thread and fixed priorities, on any core, from the start to the end.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            policy: default_policy(),
            threads: 1,
            os_priority: 1,
            cores: Vec::new(),
            start: Duration::ZERO,
            stop: None,
        }
    }
}

/// Callback group.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a group")]
#[non_exhaustive]
pub struct Group {
    /// Name of the group.
    pub name: String,
    /// Kind of group: mutually exclusive or reentrant.
    #[serde(default = "exclusive", with = "text::group_kind")]
    pub kind: GroupKind,
    /// Name of the group's executor. A scenario file may leave it out if there is only one executor.
    #[serde(default)]
    pub executor: String,
}

const fn exclusive() -> GroupKind {
    GroupKind::MutuallyExclusive
}

impl Group {
    /// Returns a mutually exclusive group.
    #[must_use]
    pub fn new(name: impl Into<String>, executor: impl Into<String>) -> Self {
        Self { name: name.into(), kind: GroupKind::MutuallyExclusive, executor: executor.into() }
    }
}

/// Chain: callbacks that pass data from one to the next.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a chain")]
#[non_exhaustive]
pub struct Chain {
    /// Name of the chain.
    pub name: String,
    /// Criticality; a larger number is more critical.
    #[serde(default)]
    pub criticality: u32,
    /// Deadline: time from the release of the first callback to the end of the last one.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// Names of the callbacks, in the order of the data flow.
    #[serde(deserialize_with = "lists::names")]
    pub callbacks: Vec<String>,
}

impl Chain {
    /// Returns a chain without a deadline.
    pub fn new<I>(name: impl Into<String>, criticality: u32, callbacks: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let callbacks = callbacks.into_iter().map(Into::into).collect();
        Self { name: name.into(), criticality, deadline: None, callbacks }
    }

    /// Returns the chain as a [`rospin_core::Chain`].
    #[must_use]
    pub fn to_core(&self) -> rospin_core::Chain {
        let chain = rospin_core::Chain::new(&self.name, self.criticality, &self.callbacks);
        match self.deadline {
            Some(deadline) => chain.deadline(deadline),
            None => chain,
        }
    }
}
