//! A deployment file that a program writes about itself, for a user to edit.

use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use rospin_scenario::deployment::names::{forms, is_of_every_node, is_of_executor, namespace_of};
use rospin_scenario::deployment::{CallbackPlan, ThreadPlan};
use rospin_scenario::{Chain, Deployment};

use crate::catalog::Program;
use crate::os::{cut_off, threads_of_process};

/// Beginning of the file. The example of the key `elsewhere` is here because that key must stand above all tables.
const BEGINNING: &str = "\
# What the program has. Leave out what should stay as it is.

# Executors, groups and callbacks that other programs have. Chains may name them, and programs may share one file.
# elsewhere = [\"camera/*\"]

# Names are relative to the namespace of a node, or to one above it, unless they begin with `/`: left out, a namespace may be any, so that one
# file serves several robots.

";

/// Explanation above the example of a chain.
const CHAINS: &str = "\
# Chains give callbacks their priorities: the more critical chain first, and in a chain the later callback. A chain names its callbacks
# from the sensor to the actuator. Only the first of them may be a timer.
";

/// Writes the template to the file. Where it replaces an earlier one, the file is always complete for its readers,
/// unless only the file itself can be written.
pub(crate) fn write(program: &Program, path: &Path) -> io::Result<()> {
    let text = template(program);
    if !fs::symlink_metadata(path).is_ok_and(|file| file.is_file()) {
        // It is new, a link or a device.
        return fs::write(path, text);
    }
    // Other programs may write the same file at the same time.
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    if fs::write(&part, &text).and_then(|()| fs::rename(&part, path)).is_ok() {
        return Ok(());
    }
    // The folder lets nobody create files, or the file is mounted by itself.
    let _ = fs::remove_file(&part);
    fs::write(path, text)
}

/// Returns a deployment file with everything that the program has, and the example of a chain in comments.
fn template(program: &Program) -> String {
    let mut plan = program.deployment.clone();
    // Leaves out names and durations that no file can contain, and what is no node's.
    let can_be_named = |name: &str| !name.is_empty() && !name.contains(char::is_control) && !is_of_executor(name);
    plan.executors.retain(|executor| can_be_named(&executor.name));
    plan.groups.retain(|group| can_be_named(&group.name) && can_be_named(&group.executor));
    plan.callbacks.retain(|callback| can_be_named(&callback.name));
    let can_be_said = |duration: &Duration| u64::try_from(duration.as_nanos()).is_ok();
    for executor in &mut plan.executors {
        executor.busy_poll = executor.busy_poll.filter(can_be_said);
    }
    for callback in &mut plan.callbacks {
        callback.deadline = callback.deadline.filter(can_be_said);
    }
    let chain = example(chain(&plan, program));
    name_groups(&mut plan);
    name_callbacks(&mut plan, program);
    let executors: Vec<_> = plan.executors.iter().map(|executor| cut_off(&executor.name)).collect();
    // Leaves out the main thread, which has the process's name, and executors' threads, which have the executors'
    // names.
    let others = threads_of_process().unwrap_or_default().into_iter().filter(|(thread, _)| !thread.is_main());
    let mut names: Vec<_> =
        others.map(|(_, name)| name).filter(|name| can_be_named(name) && !executors.contains(name)).collect();
    names.sort_unstable();
    names.dedup();
    plan.threads = names.into_iter().map(ThreadPlan::new).collect();
    format!("{BEGINNING}{}{chain}", plan.to_toml())
}

/// Names groups relative to the namespaces of their nodes, so that the groups of several robots are one. A group that
/// is on another executor than that one has an absolute name.
fn name_groups(plan: &mut Deployment) {
    let groups = std::mem::take(&mut plan.groups);
    for group in &groups {
        let node = relative(&group.node, namespace_of(&group.node));
        if !plan.groups.iter().any(|other| (other.node.as_str(), &other.name) == (node, &group.name)) {
            let mut named = group.clone();
            node.clone_into(&mut named.node);
            plan.groups.push(named);
        }
    }
    for group in groups {
        let is_there = plan.executor_of(&group.node, &group.name).is_ok_and(|of| of.as_ref() == Some(&group.executor));
        if !is_there {
            plan.groups.push(group);
        }
    }
}

/// Names callbacks relative to the namespaces of their nodes, so that the callbacks of several robots are one. A
/// callback that has other settings than that one has an absolute name.
fn name_callbacks(plan: &mut Deployment, program: &Program) {
    let callbacks = std::mem::take(&mut plan.callbacks);
    for callback in &callbacks {
        let name = relative(&callback.name, program.namespace_of(&callback.name));
        if !plan.callbacks.iter().any(|other| other.name == name) {
            plan.callbacks.push(called(name, callback));
        }
    }
    for callback in callbacks {
        let found = plan.callback(&callback.name, program.namespace_of(&callback.name));
        if found.is_none_or(|found| called(&callback.name, found) != callback) {
            plan.callbacks.push(called(&format!("/{}", callback.name), &callback));
        }
    }
}

/// Returns the settings of a callback for one called `name`.
fn called(name: &str, callback: &CallbackPlan) -> CallbackPlan {
    let mut named = callback.clone();
    name.clone_into(&mut named.name);
    named
}

/// Returns the shortest relative name of a thing called `name`, whose node is in `namespace`.
fn relative<'a>(name: &'a str, namespace: &str) -> &'a str {
    forms(name, namespace).last().copied().unwrap_or(name)
}

/// Returns callbacks for the example of a chain, by their relative names: the first timer, or the first callback if
/// there is none, and the first callback that is not a timer. Callbacks that every node has are left out.
fn chain<'a>(plan: &'a Deployment, program: &Program) -> Vec<&'a str> {
    let names = plan.callbacks.iter().map(|callback| callback.name.as_str()).filter(|name| !is_of_every_node(name));
    let is_timer = |name: &&str| program.timers.contains(*name);
    let first = names.clone().find(is_timer).or_else(|| names.clone().next());
    let last = names.clone().find(|name| !is_timer(name) && Some(*name) != first);
    first.into_iter().chain(last).map(|name| relative(name, program.namespace_of(name))).collect()
}

/// Returns the example of a chain in comments, or nothing if there are no callbacks.
fn example(callbacks: Vec<&str>) -> String {
    if callbacks.is_empty() {
        return String::new();
    }
    let mut chain = Chain::new("example", 1, callbacks);
    chain.deadline = Some(Duration::from_millis(100));
    let mut plan = Deployment::default();
    plan.chains.push(chain);
    let text = plan.to_toml();
    let lines = text.lines().skip_while(|line| !line.starts_with('['));
    let lines: String = lines.map(|line| format!("# {line}\n")).collect();
    format!("\n{CHAINS}{lines}")
}
