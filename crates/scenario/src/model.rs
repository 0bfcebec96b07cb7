//! What a scenario consists of.
//!
//! Names refer to names; [`Scenario::check`] says whether they all lead somewhere. Every `new` gives the values that a
//! text leaves out.

use std::time::Duration;

use rospin_core::GroupKind;
use serde::{Deserialize, Serialize};

use crate::callback::Callback;
use crate::lists;
use crate::text;
use crate::traffic::{Fault, Link, Release};

/// A system of executors, callbacks and messages, and for how long it runs.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a scenario")]
#[non_exhaustive]
pub struct Scenario {
    /// For reports; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// For how long executors take up work; what runs then is waited for.
    #[serde(with = "text::duration")]
    pub duration: Duration,
    /// What everything random comes from.
    #[serde(default)]
    pub seed: u64,
    /// Processor cores that the executors share; one for each thread if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u16>,
    /// Where callbacks get a priority from that have none of their own.
    #[serde(default)]
    pub priorities: Priorities,
    /// The topics' names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topics: Vec<String>,
    /// The names of the locks that callbacks share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
    /// What runs callbacks.
    #[serde(
        default,
        rename = "executor",
        deserialize_with = "lists::executors",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub executors: Vec<Executor>,
    /// Units of mutual exclusion.
    #[serde(default, rename = "group", deserialize_with = "lists::groups", skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// What runs, in the order of registration.
    #[serde(
        default,
        rename = "callback",
        deserialize_with = "lists::callbacks",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub callbacks: Vec<Callback>,
    /// Paths of data through callbacks.
    #[serde(default, rename = "chain", deserialize_with = "lists::chains", skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<Chain>,
    /// Messages that come from outside.
    #[serde(default, rename = "release", deserialize_with = "lists::releases", skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<Release>,
    /// How long messages are under way.
    #[serde(default, rename = "link", deserialize_with = "lists::links", skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// What goes wrong.
    #[serde(default, rename = "fault", deserialize_with = "lists::faults", skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

/// Where callbacks get a priority from that have none of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Priorities {
    /// They have priority 0.
    #[default]
    Given,
    /// From the chains, by the rules of PiCAS.
    Picas,
}

/// Threads with one OS setting and one policy.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an executor")]
#[non_exhaustive]
pub struct Executor {
    /// Its name.
    pub name: String,
    /// Policy, by its name in [`rospin_core::policy::POLICIES`].
    #[serde(default = "default_policy")]
    pub policy: String,
    /// How many threads run its callbacks.
    #[serde(default = "one")]
    pub threads: u16,
    /// Priority of its threads, 1 to 99 as for `SCHED_FIFO`; the larger number preempts the smaller one.
    #[serde(default = "lowest_os_priority")]
    pub os_priority: u8,
    /// Cores that its threads may use; all if empty.
    #[serde(default, deserialize_with = "lists::cores", skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<u16>,
    /// When it begins to spin; what arrives before waits.
    #[serde(default, with = "text::duration", skip_serializing_if = "Duration::is_zero")]
    pub start: Duration,
    /// When it is halted, if before the end of the scenario.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
}

/// The engine's default.
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
    /// One thread, fixed priority, on any core, from the beginning to the end.
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

/// A unit of mutual exclusion.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a group")]
#[non_exhaustive]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Whether its callbacks exclude each other.
    #[serde(default = "exclusive", with = "text::group_kind")]
    pub kind: GroupKind,
    /// Its executor; in a text it may be left out if there is only one.
    #[serde(default)]
    pub executor: String,
}

const fn exclusive() -> GroupKind {
    GroupKind::MutuallyExclusive
}

impl Group {
    /// A mutually exclusive group.
    #[must_use]
    pub fn new(name: impl Into<String>, executor: impl Into<String>) -> Self {
        Self { name: name.into(), kind: GroupKind::MutuallyExclusive, executor: executor.into() }
    }
}

/// Callbacks that hand data on to each other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a chain")]
#[non_exhaustive]
pub struct Chain {
    /// Its name.
    pub name: String,
    /// How much depends on it: the larger number is the more critical one.
    #[serde(default)]
    pub criticality: u32,
    /// From the release of its first callback to the end of its last one.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// Names of its callbacks, in the order of the data flow.
    #[serde(deserialize_with = "lists::names")]
    pub callbacks: Vec<String>,
}

impl Chain {
    /// A chain without a deadline.
    pub fn new<I>(name: impl Into<String>, criticality: u32, callbacks: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let callbacks = callbacks.into_iter().map(Into::into).collect();
        Self { name: name.into(), criticality, deadline: None, callbacks }
    }

    /// As the core knows it.
    #[must_use]
    pub fn to_core(&self) -> rospin_core::Chain {
        let chain = rospin_core::Chain::new(&self.name, self.criticality, &self.callbacks);
        match self.deadline {
            Some(deadline) => chain.deadline(deadline),
            None => chain,
        }
    }
}
