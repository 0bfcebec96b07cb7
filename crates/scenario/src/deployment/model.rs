//! Model of a deployment file. A setting that an entry leaves out stays as the program has it.

use std::time::Duration;

use rospin_core::OsScheduling;
use serde::{Deserialize, Serialize};

use super::scheduling;
use crate::lists;
use crate::model::Chain;
use crate::text;

/// Executors and OS settings of a program's callback groups.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a deployment")]
#[non_exhaustive]
pub struct Deployment {
    /// Reaction if the operating system refuses a setting.
    #[serde(default, skip_serializing_if = "text::is_default")]
    pub on_shortfall: Reaction,
    /// Reaction if the file names an executor, a group or a callback that the program does not have. If a file leaves
    /// it out, it is [`Fail`](Reaction::Fail). That of [`Deployment::default`] is [`Warn`](Reaction::Warn).
    #[serde(default = "fail", skip_serializing_if = "is_fail")]
    pub on_unknown: Reaction,
    /// Names and patterns of executors, groups and callbacks that other programs have. They let chains cross processes,
    /// and let several programs share one file. A group is named by its node, a slash and its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<String>,
    /// True if the process keeps all of its memory in RAM.
    #[serde(default, skip_serializing_if = "text::is_default")]
    pub lock_memory: bool,
    /// Executors: those of the program, by their names, and additional ones.
    #[serde(
        default,
        rename = "executor",
        deserialize_with = "lists::executors",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub executors: Vec<ExecutorPlan>,
    /// Executors of callback groups.
    #[serde(default, rename = "group", deserialize_with = "lists::groups", skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupPlan>,
    /// Priorities, deadlines and depths of callbacks.
    #[serde(
        default,
        rename = "callback",
        deserialize_with = "lists::callbacks",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub callbacks: Vec<CallbackPlan>,
    /// Chains from which callbacks get their priorities, by the rules of PiCAS. A priority in this file takes
    /// precedence.
    #[serde(default, rename = "chain", deserialize_with = "lists::chains", skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<Chain>,
    /// Threads that do not belong to executors, such as a middleware's.
    #[serde(default, rename = "thread", deserialize_with = "lists::threads", skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadPlan>,
    /// Clients of accelerators' servers, in other processes.
    #[serde(default, rename = "client", deserialize_with = "lists::clients", skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientPlan>,
}

const fn fail() -> Reaction {
    Reaction::Fail
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
const fn is_fail(reaction: &Reaction) -> bool {
    matches!(reaction, Reaction::Fail)
}

/// Reaction to a setting that the kernel does not grant, or to a name that the program does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reaction {
    /// The program logs a warning and continues.
    #[default]
    Warn,
    /// The spin ends with an error.
    Fail,
}

/// Settings of an executor. A setting that is `None` stays as the program has it. So do the cores if `cores` is empty,
/// and the touched part of the stack if `stack_prefault_kib` is 0.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an executor")]
#[non_exhaustive]
pub struct ExecutorPlan {
    /// Name of the executor. If the program has no executor of that name, one is added, and spins while one of the
    /// program's executors does.
    pub name: String,
    /// Name of the policy, one of [`rospin_core::policy::POLICIES`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Number of threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u16>,
    /// Time for which the threads look for work before they sleep.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub busy_poll: Option<Duration>,
    /// Scheduling of the threads by the kernel.
    #[serde(default, with = "scheduling", skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<OsScheduling>,
    /// Cores on which the threads may run.
    #[serde(default, deserialize_with = "lists::cores", skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<u16>,
    /// Timer slack of the threads: the delay that the kernel may add to wake-ups of threads without real-time
    /// scheduling.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub timer_slack: Option<Duration>,
    /// Part of each thread's stack that is touched at the beginning of a spin, in KiB.
    #[serde(default, skip_serializing_if = "text::is_default")]
    pub stack_prefault_kib: u32,
}

impl ExecutorPlan {
    /// Returns an entry for the executor called `name` that changes nothing.
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

/// Executor of the callback groups that match.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a group")]
#[non_exhaustive]
pub struct GroupPlan {
    /// Name of the node, or a pattern with `*` and `?`. A name that does not begin with `/` is relative to the node's
    /// namespace. By default it matches any node.
    #[serde(default = "any", skip_serializing_if = "is_any")]
    pub node: String,
    /// Name of the group, or a pattern with `*` and `?`. An exact name takes precedence over a pattern.
    pub name: String,
    /// Name of the executor, which this file must list.
    pub executor: String,
}

fn any() -> String {
    "*".to_owned()
}

fn is_any(pattern: &str) -> bool {
    pattern == "*"
}

impl GroupPlan {
    /// Returns an entry that assigns the groups called `name`, of any node, to `executor`.
    #[must_use]
    pub fn new(name: impl Into<String>, executor: impl Into<String>) -> Self {
        Self { node: any(), name: name.into(), executor: executor.into() }
    }
}

/// Settings of callbacks. A setting that is `None` stays as the program has it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a callback")]
#[non_exhaustive]
pub struct CallbackPlan {
    /// Name of the entity, or a pattern with `*` and `?`. A name that does not begin with `/` is relative to the
    /// namespace of the entity's node. An exact name takes precedence over a pattern, an earlier pattern over a later
    /// one.
    pub name: String,
    /// Priority inside the executor; a larger number is more urgent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Deadline: time from release to completion.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// Depth of the queue of messages or requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
}

impl CallbackPlan {
    /// Returns an entry for the entity called `name` that changes nothing.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), priority: None, deadline: None, depth: None }
    }
}

/// Settings of threads that do not belong to executors. A setting that is `None` or empty stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a thread")]
#[non_exhaustive]
pub struct ThreadPlan {
    /// Name of the thread in the kernel, or a pattern with `*` and `?`.
    pub name: String,
    /// Scheduling of the thread by the kernel.
    #[serde(default, with = "scheduling", skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<OsScheduling>,
    /// Cores on which the thread may run.
    #[serde(default, deserialize_with = "lists::cores", skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<u16>,
}

impl ThreadPlan {
    /// Returns an entry for the thread called `name` that changes nothing.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), scheduling: None, cores: Vec::new() }
    }
}

/// A client of an accelerator's server: a process that may use the device, and how much of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a client")]
#[non_exhaustive]
pub struct ClientPlan {
    /// Name of the client, which it tells the server.
    pub name: String,
    /// Name of the accelerator.
    pub accelerator: String,
    /// Priority of its requests: that of its chain. A larger number is more urgent.
    #[serde(default, skip_serializing_if = "text::is_default")]
    pub priority: u32,
    /// Relative deadline of its requests, for an accelerator that serves the earliest deadline first.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// Number of requests that it may have at a time; 8 if the file does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Longest bound that a segment may have. Requests with longer segments, or with segments without a bound, are
    /// refused.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub longest_segment: Option<Duration>,
    /// Device time that it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetPlan>,
    /// Number of the user whose processes may be the client. If the file does not say, it is the server's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
    /// Size in MiB up to which the server shares memory with the client; 256 if the file does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u32>,
}

impl ClientPlan {
    /// Returns an entry for a client of priority 0 without limits but the usual ones.
    #[must_use]
    pub fn new(name: impl Into<String>, accelerator: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            accelerator: accelerator.into(),
            priority: 0,
            deadline: None,
            depth: None,
            longest_segment: None,
            budget: None,
            user: None,
            memory_mib: None,
        }
    }
}

/// Device time that a client may use in each period.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a budget; write `budget = { capacity = \"2 ms\", period = \"10 ms\" }`")]
pub struct BudgetPlan {
    /// The device time.
    #[serde(with = "text::duration")]
    pub capacity: Duration,
    /// The period.
    #[serde(with = "text::duration")]
    pub period: Duration,
}
