//! What a deployment file consists of. What a plan leaves out stays as the program has it.

use std::time::Duration;

use rospin_core::OsScheduling;
use serde::{Deserialize, Serialize};

use super::scheduling;
use crate::lists;
use crate::model::Chain;
use crate::text;

/// Where a program's callback groups run, and how.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a deployment")]
#[non_exhaustive]
pub struct Deployment {
    /// What happens if the operating system refuses something.
    #[serde(default, skip_serializing_if = "text::is_default")]
    pub on_shortfall: Reaction,
    /// What happens if an executor, a group or a callback is named here that the program does not have; by default it does
    /// not start.
    #[serde(default = "fail", skip_serializing_if = "is_fail")]
    pub on_unknown: Reaction,
    /// Whether the process keeps all its memory in RAM.
    #[serde(default, skip_serializing_if = "text::is_default")]
    pub lock_memory: bool,
    /// Executors: the program's own, by their names, and more.
    #[serde(
        default,
        rename = "executor",
        deserialize_with = "lists::executors",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub executors: Vec<ExecutorPlan>,
    /// Which executor callback groups go to.
    #[serde(default, rename = "group", deserialize_with = "lists::groups", skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupPlan>,
    /// Priorities, deadlines and depths.
    #[serde(
        default,
        rename = "callback",
        deserialize_with = "lists::callbacks",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub callbacks: Vec<CallbackPlan>,
    /// Chains that callbacks get their priorities from, by the rules of PiCAS, unless they have one here.
    #[serde(default, rename = "chain", deserialize_with = "lists::chains", skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<Chain>,
    /// Threads that are not executors': a middleware's.
    #[serde(default, rename = "thread", deserialize_with = "lists::threads", skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadPlan>,
}

const fn fail() -> Reaction {
    Reaction::Fail
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
const fn is_fail(reaction: &Reaction) -> bool {
    matches!(reaction, Reaction::Fail)
}

/// What happens if something cannot be as the file says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reaction {
    /// A warning, and the program goes on.
    #[default]
    Warn,
    /// An error.
    Fail,
}

/// An executor.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an executor")]
#[non_exhaustive]
pub struct ExecutorPlan {
    /// Its name. One that the program does not create is added, and spins while one of the program's does.
    pub name: String,
    /// Policy, by its name in [`rospin_core::policy::POLICIES`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// How many threads run its callbacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u16>,
    /// How long its threads look for something to do before they sleep.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub busy_poll: Option<Duration>,
    /// How the kernel schedules its threads.
    #[serde(default, with = "scheduling", skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<OsScheduling>,
    /// Cores that its threads may use; any if empty.
    #[serde(default, deserialize_with = "lists::cores", skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<u16>,
    /// How late the kernel may wake its threads, if they are ordinary ones.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub timer_slack: Option<Duration>,
    /// How much of its threads' stacks is there before they begin.
    #[serde(default, skip_serializing_if = "text::is_default")]
    pub stack_prefault_kib: u32,
}

impl ExecutorPlan {
    /// Everything as the program has it.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            policy: None,
            threads: None,
            busy_poll: None,
            scheduling: None,
            cores: Vec::new(),
            timer_slack: None,
            stack_prefault_kib: 0,
        }
    }
}

/// Which executor callback groups go to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a group")]
#[non_exhaustive]
pub struct GroupPlan {
    /// The node that it belongs to, or a pattern with `*` and `?`; any if left out.
    #[serde(default = "any", skip_serializing_if = "is_any")]
    pub node: String,
    /// Its name, or a pattern with `*` and `?`. A name goes before a pattern.
    pub name: String,
    /// The executor, one of this file's.
    pub executor: String,
}

fn any() -> String {
    "*".to_owned()
}

fn is_any(pattern: &str) -> bool {
    pattern == "*"
}

impl GroupPlan {
    /// The group of that name, of whatever node.
    #[must_use]
    pub fn new(name: impl Into<String>, executor: impl Into<String>) -> Self {
        Self { node: any(), name: name.into(), executor: executor.into() }
    }
}

/// What callbacks have.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a callback")]
#[non_exhaustive]
pub struct CallbackPlan {
    /// The entity's name, or a pattern with `*` and `?`. A name goes before a pattern, an earlier pattern before a later one.
    pub name: String,
    /// Urgency, the larger number first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Time from release to completion.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// How many messages or requests wait at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
}

impl CallbackPlan {
    /// Everything as the program has it.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), priority: None, deadline: None, depth: None }
    }
}

/// Threads that are not executors'.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a thread")]
#[non_exhaustive]
pub struct ThreadPlan {
    /// The name that the kernel has for it, or a pattern with `*` and `?`.
    pub name: String,
    /// How the kernel schedules it.
    #[serde(default, with = "scheduling", skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<OsScheduling>,
    /// Cores that it may use; any if empty.
    #[serde(default, deserialize_with = "lists::cores", skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<u16>,
}

impl ThreadPlan {
    /// Everything as it is.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), scheduling: None, cores: Vec::new() }
    }
}
