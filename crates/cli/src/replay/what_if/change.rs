//! The changes of a what-if, as options and on the scenario.

use std::path::PathBuf;

use clap::Args;
use rospin_engine::policy;
use rospin_scenario::deployment::names::namespace_of;
use rospin_scenario::{Deployment, ExecutionTime, Scenario};

use super::scenario::Repeated;

// No doc comment: clap would show it as the description of the command.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "What if")]
pub(crate) struct Changes {
    /// Simulates the recorded arrivals and execution times under this policy; EXECUTOR=POLICY for one executor
    #[arg(long, value_name = "POLICY", value_parser = assignment_or_all)]
    policy: Vec<(Option<String>, String)>,

    /// Gives a callback another priority
    #[arg(long, value_name = "CALLBACK=PRIORITY", value_parser = assignment)]
    priority: Vec<(String, String)>,

    /// Has a callback take so many times as long; `*` for all of them
    #[arg(long, value_name = "CALLBACK=FACTOR", value_parser = assignment)]
    scale: Vec<(String, String)>,

    /// Gives all executors so many threads; EXECUTOR=N for one executor
    #[arg(long, value_name = "N", value_parser = assignment_or_all)]
    threads: Vec<(Option<String>, String)>,

    /// Gives all threads together so many cores; without it, each has one of its own
    #[arg(long, value_name = "N")]
    pub(super) cores: Option<u16>,

    /// Applies a deployment file: policies, threads, groups on other executors, priorities, deadlines and depths
    #[arg(long, value_name = "FILE")]
    deployment: Vec<PathBuf>,

    /// Simulates what was recorded without any change, to see what the simulator leaves out
    #[arg(long)]
    simulate: bool,
}

/// Mistakes in changes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    #[error("{option} {name}: the recording has no such {what}; it has {known}")]
    Unknown { option: &'static str, what: &'static str, name: String, known: String },
    #[error("{option} {name}={value}: {reason}")]
    Value { option: &'static str, name: String, value: String, reason: String },
    #[error("--deployment: {0}")]
    Deployment(String),
}

fn assignment(text: &str) -> Result<(String, String), String> {
    // A callback's name may contain `=`.
    match text.rsplit_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

// The signature is the one that clap asks for.
#[expect(clippy::unnecessary_wraps)]
fn assignment_or_all(text: &str) -> Result<(Option<String>, String), String> {
    Ok(assignment(text).map_or_else(|_| (None, text.to_owned()), |(name, value)| (Some(name), value)))
}

/// Returns the first dozen of the names as text, and the number of the others.
fn known<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(12);
    names.truncate(12);
    let listed = names.join(", ");
    if more > 0 { format!("{listed} and {more} more") } else { listed }
}

impl Changes {
    /// Returns true if there is anything to simulate.
    pub(crate) fn is_any(&self) -> bool {
        let lists = self.policy.len() + self.priority.len() + self.scale.len() + self.threads.len();
        lists + self.deployment.len() > 0 || self.cores.is_some() || self.simulate
    }

    /// Returns true if something else than the number of cores changes.
    pub(super) fn changes_anything(&self) -> bool {
        let lists = self.policy.len() + self.priority.len() + self.scale.len() + self.threads.len();
        lists + self.deployment.len() > 0
    }

    /// Applies the changes to the scenario.
    pub(super) fn apply(&self, repeated: &mut Repeated) -> Result<(), ChangeError> {
        if !self.deployment.is_empty() {
            self.deploy(repeated)?;
        }
        let scenario = &mut repeated.scenario;
        for (executor, name) in &self.policy {
            let wrong = |reason| value_error("--policy", executor.as_deref(), name, reason);
            policy::by_name(name).map_err(|error| wrong(error.to_string()))?;
            each_executor(scenario, "--policy", executor.as_deref(), |executor| executor.policy.clone_from(name))?;
        }
        for (executor, count) in &self.threads {
            let wrong = |reason: &str| value_error("--threads", executor.as_deref(), count, reason.to_owned());
            let number = count.parse::<u16>().ok().filter(|count| (1..=256).contains(count));
            let number = number.ok_or_else(|| wrong("an executor has 1 to 256 threads"))?;
            each_executor(scenario, "--threads", executor.as_deref(), |executor| executor.threads = number)?;
        }
        for (callback, priority) in &self.priority {
            let number = priority.parse::<u32>();
            let wrong =
                |_| value_error("--priority", Some(callback), priority, "a priority is a whole number from 0".into());
            let number = number.map_err(wrong)?;
            each_callback(scenario, "--priority", callback, |callback| callback.priority = Some(number))?;
        }
        for (callback, factor) in &self.scale {
            let number = factor.parse::<f64>().ok().filter(|factor| factor.is_finite() && (0.0..=1e6).contains(factor));
            let wrong =
                || value_error("--scale", Some(callback), factor, "a factor is a number from 0 to 1000000".into());
            let number = number.ok_or_else(wrong)?;
            each_callback(scenario, "--scale", callback, |callback| {
                scale(&mut callback.execution, number);
                callback.awaits.iter_mut().for_each(|of| scale(&mut of.run, number));
            })?;
        }
        Ok(())
    }

    fn deploy(&self, repeated: &mut Repeated) -> Result<(), ChangeError> {
        let deployment =
            Deployment::load_all(&self.deployment).map_err(|error| ChangeError::Deployment(error.to_string()))?;
        let Repeated { scenario, nodes, .. } = repeated;
        for (group, node) in scenario.groups.iter_mut().zip(nodes) {
            // The own group of a node in a namespace reads like a group of the namespace.
            for node in [node.clone(), format!("{node}/{}", group.name)] {
                let to = deployment.executor_of(&node, &group.name);
                if let Some(to) = to.map_err(|error| ChangeError::Deployment(error.to_string()))? {
                    group.executor = to;
                }
            }
        }
        let named: Vec<String> = scenario.groups.iter().map(|group| group.executor.clone()).collect();
        for plan in &deployment.executors {
            let place = scenario.executors.iter().position(|executor| executor.name == plan.name);
            let executor = match place {
                Some(place) => &mut scenario.executors[place],
                None if named.contains(&plan.name) => {
                    scenario.executors.push(rospin_scenario::Executor::new(&plan.name));
                    let last = scenario.executors.len() - 1;
                    &mut scenario.executors[last]
                }
                None => continue,
            };
            if let Some(policy) = &plan.policy {
                executor.policy.clone_from(policy);
            }
            executor.threads = plan.threads.unwrap_or(executor.threads);
        }
        for callback in &mut scenario.callbacks {
            let namespace = namespace_of(namespace_of(&callback.name));
            if let Some(plan) = deployment.callback(&callback.name, namespace) {
                callback.priority = plan.priority.or(callback.priority);
                callback.deadline = plan.deadline.or(callback.deadline);
                callback.depth = plan.depth.unwrap_or(callback.depth);
            }
        }
        Ok(())
    }
}

fn value_error(option: &'static str, name: Option<&str>, value: &str, reason: String) -> ChangeError {
    ChangeError::Value { option, name: name.unwrap_or("*").to_owned(), value: value.to_owned(), reason }
}

fn each_executor(
    scenario: &mut Scenario,
    option: &'static str,
    name: Option<&str>,
    mut change: impl FnMut(&mut rospin_scenario::Executor),
) -> Result<(), ChangeError> {
    let mut found = false;
    for executor in scenario.executors.iter_mut().filter(|executor| name.is_none_or(|name| executor.name == name)) {
        found = true;
        change(executor);
    }
    if found {
        return Ok(());
    }
    let known = known(scenario.executors.iter().map(|executor| executor.name.as_str()));
    Err(ChangeError::Unknown { option, what: "executor", name: name.unwrap_or("*").to_owned(), known })
}

fn each_callback(
    scenario: &mut Scenario,
    option: &'static str,
    name: &str,
    mut change: impl FnMut(&mut rospin_scenario::Callback),
) -> Result<(), ChangeError> {
    let mut found = false;
    for callback in scenario.callbacks.iter_mut().filter(|callback| name == "*" || callback.name == name) {
        found = true;
        change(callback);
    }
    if found {
        return Ok(());
    }
    let known = known(scenario.callbacks.iter().map(|callback| callback.name.as_str()));
    Err(ChangeError::Unknown { option, what: "callback", name: name.to_owned(), known })
}

fn scale(times: &mut ExecutionTime, factor: f64) {
    if let ExecutionTime::List(times) = times {
        // The factor is checked: neither negative nor too large.
        times.iter_mut().for_each(|time| *time = time.mul_f64(factor));
    }
}
