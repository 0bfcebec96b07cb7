//! The program beside its system file: names that only one of them has, and settings that differ.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rospin_core::EntityKind;
use rospin_scenario::deployment::names::{is_of_every_node, is_of_executor};
use rospin_scenario::nearest;

use super::judge::Judge;
use super::known::Callback;
use super::limits::Limit;

/// The largest number of names that are listed in one sentence.
const LISTED: usize = 10;

/// Returns the differences, a sentence each.
pub(super) fn differences(judge: &Judge) -> Vec<String> {
    let limits = &judge.limits;
    let of_program: BTreeSet<&str> = judge.names.keys().map(String::as_str).collect();
    let is_own = |name: &&str| {
        let callback = judge.names.get(*name).and_then(|place| judge.callbacks.get(*place));
        callback.is_none_or(|callback| !is_of_node(callback))
    };
    let own: Vec<&str> = of_program.iter().copied().filter(is_own).collect();
    let only_program: Vec<&str> = own.iter().copied().filter(|name| !limits.callbacks.contains_key(*name)).collect();
    let mut told = Vec::new();
    for name in limits.callbacks.keys().filter(|name| !of_program.contains(name.as_str())) {
        let near = match nearest(name, &only_program) {
            Some(near) => format!("; did you mean `{near}`?"),
            None => String::new(),
        };
        told.push(format!("the system file has a callback `{name}` that this program does not have{near}"));
    }
    if !only_program.is_empty() {
        let rest = only_program.len().saturating_sub(LISTED);
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let names: Vec<String> = only_program.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
        told.push(format!(
            "the system file does not have these callbacks of the program, whose time no bound counts: {}{more}",
            names.join(", ")
        ));
    }
    let mut elsewhere: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for name in &own {
        let callback = judge.names.get(*name).and_then(|place| judge.callbacks.get(*place));
        if let Some((callback, limit)) = callback.zip(limits.callbacks.get(*name)) {
            settings(judge, callback, limit, &mut told);
            let executor = judge.executors.get(&callback.executor).map_or("", |executor| executor.name.as_str());
            if !limit.executor.is_empty() && executor != limit.executor {
                elsewhere.entry((executor, &limit.executor)).or_default().push(format!("`{name}`"));
            }
        }
    }
    for ((has, says), names) in elsewhere {
        let names = names.join(", ");
        told.push(format!("on executor `{has}` are {names}; the system file says `{says}`"));
    }
    for chain in &limits.chains {
        let missing = chain.callbacks.iter().find(|name| !of_program.contains(name.as_str()));
        let is_here = chain.callbacks.iter().any(|name| of_program.contains(name.as_str()));
        if let Some(missing) = missing.filter(|_| is_here) {
            told.push(format!(
                "the latency of chain `{}` is not watched here, because `{missing}` is not in this program",
                chain.name
            ));
        }
    }
    let named = |name: &str| judge.executors.values().find(|executor| executor.name == *name);
    for (name, (policy, threads)) in &limits.executors {
        let Some(executor) = named(name) else { continue };
        if executor.policy != *policy || executor.threads != u64::from(*threads) {
            told.push(format!(
                "executor `{name}` has the policy {} and {} threads; the system file says {policy} and {threads}",
                executor.policy, executor.threads
            ));
        }
    }
    told
}

/// Returns true for the services of a node's parameters and types and for its log records, which every node has, and
/// for callbacks that are no node's.
fn is_of_node(callback: &Callback) -> bool {
    let Callback { name, group, .. } = callback;
    name.starts_with('/')
        || is_of_executor(name)
        || is_of_every_node(name) && name.rsplit('/').nth(1) == Some(group.as_str())
}

/// Adds the settings of the callback that differ from those of the file.
fn settings(judge: &Judge, callback: &Callback, limit: &Limit, told: &mut Vec<String>) {
    let name = &callback.name;
    let mut tell = |what: &str, has: String, says: String| {
        told.push(format!("callback `{name}` {what} {has}; the system file says {says}"));
    };
    if callback.kind != limit.kind {
        // Over middlewares, what carries messages may be another kind of entity.
        if callback.kind == EntityKind::Timer || limit.kind == EntityKind::Timer {
            tell("is a", callback.kind.to_string(), format!("a {}", limit.kind));
        }
        return;
    }
    if callback.period_ns != limit.period_ns {
        let told =
            |period: Option<u64>| period.map_or("none".to_owned(), |ns| format!("{:?}", Duration::from_nanos(ns)));
        tell("has the period", told(callback.period_ns), told(limit.period_ns));
    }
    if let Some(depth) = limit.depth.filter(|depth| callback.depth < *depth) {
        tell("has a queue of", callback.depth.to_string(), depth.to_string());
    }
    if let Some(backlog) = limit.backlog.filter(|backlog| callback.depth < *backlog) {
        tell(
            "has a queue of",
            callback.depth.to_string(),
            format!("that {backlog} messages may wait, as the analysis proves"),
        );
    }
    let executor = judge.executors.get(&callback.executor);
    let orders = executor.is_some_and(|executor| executor.policy == "fixed-priority");
    if let Some(priority) = limit.priority.filter(|priority| orders && callback.priority != *priority) {
        tell("has priority", callback.priority.to_string(), priority.to_string());
    }
}
