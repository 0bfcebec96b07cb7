//! A deployment file that a program writes about itself, for a user to edit.

use std::time::Duration;

use rospin_scenario::deployment::ThreadPlan;
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

/// Returns a deployment file with everything that the program has, and the example of a chain in comments.
pub(crate) fn template(program: &Program) -> String {
    let mut plan = program.deployment.clone();
    // Leaves out names and durations that no file can contain.
    let can_be_named = |name: &str| !name.is_empty() && !name.contains(char::is_control);
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
    let executors: Vec<_> = plan.executors.iter().map(|executor| cut_off(&executor.name)).collect();
    // Leaves out the main thread, which has the process's name, and executors' threads, which have the executors' names.
    let others = threads_of_process().unwrap_or_default().into_iter().filter(|(thread, _)| !thread.is_main());
    let mut names: Vec<_> =
        others.map(|(_, name)| name).filter(|name| can_be_named(name) && !executors.contains(name)).collect();
    names.sort_unstable();
    names.dedup();
    plan.threads = names.into_iter().map(ThreadPlan::new).collect();
    let names = plan.callbacks.iter().map(|callback| callback.name.as_str());
    // Nodes name what every node has, such as parameter services, with a slash in front.
    let callbacks = chain(names.filter(|name| !name.starts_with('/')), program);
    format!("{BEGINNING}{}{}", plan.to_toml(), example(callbacks))
}

/// Returns callbacks for the example of a chain: the first timer, or the first callback if there is none, and the first callback
/// that is not a timer.
fn chain<'a>(names: impl Iterator<Item = &'a str> + Clone, program: &Program) -> Vec<&'a str> {
    let is_timer = |name: &&str| program.timers.contains(*name);
    let first = names.clone().find(is_timer).or_else(|| names.clone().next());
    let last = names.clone().find(|name| !is_timer(name) && Some(*name) != first);
    first.into_iter().chain(last).collect()
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
