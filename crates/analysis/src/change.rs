//! Changes of a system: their descriptions, and their application to the scenario.

use std::time::Duration;

use rospin_core::{EntityKind, GroupKind};
use rospin_scenario::{Bin, Callback, Chain, ExecutionTime, Executor, Group, Priorities, Scenario};

/// Change with which all deadlines hold.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Change {
    /// Another priority of a callback inside its executor.
    Priority {
        /// Name of the callback.
        callback: String,
        /// Present priority.
        from: u32,
        /// New priority.
        to: u32,
    },
    /// Another OS priority of an executor.
    OsPriority {
        /// Name of the executor.
        executor: String,
        /// Present priority.
        from: u8,
        /// New priority.
        to: u8,
    },
    /// Another executor for a callback group.
    Group {
        /// Name of the group.
        group: String,
        /// Name of the group's new executor; it may not exist yet.
        executor: String,
        /// The core of an executor that does not exist yet; `None` if the executor exists.
        core: Option<u16>,
    },
    /// Another kind of a callback group.
    Kind {
        /// Name of the group.
        group: String,
        /// The new kind.
        kind: GroupKind,
    },
    /// A mutually exclusive group for one callback alone, on the same executor.
    OwnGroup {
        /// Name of the callback.
        callback: String,
        /// Name of the new group.
        group: String,
    },
    /// Another core for an executor.
    Core {
        /// Name of the executor.
        executor: String,
        /// Number of the new core.
        core: u16,
    },
    /// Two callbacks in place of one. The first part sends the second part a message when it ends, and others can run
    /// between them.
    Split {
        /// Name of the callback. Its first part keeps the name.
        callback: String,
        /// Name of the second part.
        rest: String,
        /// The longest time of the first part.
        first: Duration,
        /// The longest time of the second part.
        second: Duration,
    },
}

impl Change {
    /// Returns a description of the change in a few words.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Priority { callback, from, to } => format!("give `{callback}` priority {to} instead of {from}"),
            Self::OsPriority { executor, from, to } => {
                format!("give executor `{executor}` OS priority {to} instead of {from}")
            }
            Self::Group { group, executor, core: None } => format!("move group `{group}` to executor `{executor}`"),
            Self::Group { group, executor, core: Some(core) } => {
                format!("move group `{group}` to an executor of its own, `{executor}`, on core {core}")
            }
            Self::Kind { group, kind: GroupKind::Reentrant } => {
                format!("make group `{group}` reentrant, if its callbacks may run at the same time")
            }
            Self::Kind { group, .. } => format!("make group `{group}` mutually exclusive"),
            Self::OwnGroup { callback, .. } => {
                format!("give `{callback}` a group of its own, if it may run beside the others of its group")
            }
            Self::Core { executor, core } => format!("move `{executor}` to core {core}"),
            Self::Split { callback, first, second, .. } => format!(
                "split `{callback}` into two callbacks of {first:?} and {second:?}, of which the first sends the second a message"
            ),
        }
    }

    /// Returns true if a deployment file can make this change. A split, another kind of a group and another group of a
    /// callback need a change of the program.
    #[must_use]
    pub const fn is_deployable(&self) -> bool {
        !matches!(self, Self::Split { .. } | Self::Kind { .. } | Self::OwnGroup { .. })
    }

    /// Returns a copy of the scenario with this change. A name that the scenario does not have leaves it as it is.
    #[must_use]
    pub fn apply(&self, scenario: &Scenario) -> Scenario {
        let mut changed = scenario.clone();
        match self {
            Self::Priority { callback, to, .. } => {
                let found = changed.callbacks.iter_mut().filter(|plan| plan.name == *callback);
                found.for_each(|plan| plan.priority = Some(*to));
            }
            Self::OsPriority { executor, to, .. } => {
                let found = changed.executors.iter_mut().filter(|plan| plan.name == *executor);
                found.for_each(|plan| plan.os_priority = *to);
            }
            Self::Group { group, executor, core } => {
                let of = changed.groups.iter().find(|plan| plan.name == *group).map(|plan| plan.executor.clone());
                let like = changed.executors.iter().find(|plan| Some(&plan.name) == of.as_ref()).cloned();
                if let (Some(core), Some(like)) = (core, like) {
                    let mut own = Executor::new(executor);
                    own.policy.clone_from(&like.policy);
                    own.os_priority = like.os_priority;
                    own.cores = vec![*core];
                    changed.executors.push(own);
                    changed.cores = Some(scenario.core_count());
                }
                let found = changed.groups.iter_mut().filter(|plan| plan.name == *group);
                found.for_each(|plan| plan.executor.clone_from(executor));
            }
            Self::Kind { group, kind } => {
                let found = changed.groups.iter_mut().filter(|plan| plan.name == *group);
                found.for_each(|plan| plan.kind = *kind);
            }
            Self::OwnGroup { callback, group } => {
                let plan = changed.callbacks.iter_mut().find(|plan| plan.name == *callback);
                if let Some(plan) = plan
                    && let Some(old) = scenario.groups.iter().find(|known| known.name == plan.group)
                {
                    plan.group.clone_from(group);
                    changed.groups.push(Group::new(group, &old.executor));
                }
            }
            Self::Core { executor, core } => {
                let found = changed.executors.iter_mut().filter(|plan| plan.name == *executor);
                found.for_each(|plan| plan.cores = vec![*core]);
            }
            Self::Split { callback, rest, .. } => divide(&mut changed, callback, rest),
        }
        changed
    }
}

/// Returns the split of a callback in the middle; `None` if the parts together would not behave as the whole, if the
/// callback is too short to split, or if the name of the second part is taken.
pub(crate) fn split(scenario: &Scenario, callback: &str) -> Option<Change> {
    let plan = scenario.callbacks.iter().find(|plan| plan.name == callback)?;
    let rest = format!("{callback} rest");
    let is_taken =
        |name: &String| scenario.callbacks.iter().any(|other| other.name == *name) || scenario.topics.contains(name);
    // An additional chain could change all priorities that are derived from chains.
    if plan.is_async() || is_taken(&rest) || scenario.priorities != Priorities::Given {
        return None;
    }
    let whole = longest(&plan.execution);
    let first = whole / 2;
    (!first.is_zero()).then(|| Change::Split { callback: callback.to_owned(), rest, first, second: whole - first })
}

/// Replaces the callback by its two parts, also in chains. A new chain of both parts has the deadline of the whole.
fn divide(scenario: &mut Scenario, callback: &str, rest: &str) {
    let Some(place) = scenario.callbacks.iter().position(|plan| plan.name == callback) else { return };
    let plan = &mut scenario.callbacks[place];
    let mut second = Callback::new(rest, EntityKind::Subscription, &plan.group);
    second.priority = plan.priority;
    second.deadline = plan.relative_deadline();
    second.publishes = std::mem::replace(&mut plan.publishes, vec![rest.to_owned()]);
    (plan.execution, second.execution) = halves(&plan.execution);
    for chain in &mut scenario.chains {
        if let Some(member) = chain.callbacks.iter().position(|member| member == callback) {
            chain.callbacks.insert(member + 1, rest.to_owned());
        }
    }
    if let Some(deadline) = second.deadline {
        let mut both = Chain::new(format!("{callback} and rest"), 0, [callback, rest]);
        both.deadline = Some(deadline);
        scenario.chains.push(both);
    }
    scenario.callbacks.insert(place + 1, second);
}

/// Returns the execution times of the first and of the second part of a split in the middle.
fn halves(time: &ExecutionTime) -> (ExecutionTime, ExecutionTime) {
    let part = |second: bool| {
        let of = move |time: &Duration| if second { *time - *time / 2 } else { *time / 2 };
        match time {
            ExecutionTime::Uniform(min, max) => ExecutionTime::Uniform(of(min), of(max)),
            ExecutionTime::List(times) => ExecutionTime::List(times.iter().map(of).collect()),
            ExecutionTime::Recorded(bins) => {
                ExecutionTime::Recorded(bins.iter().map(|bin| Bin { time: of(&bin.time), count: bin.count }).collect())
            }
            fixed => ExecutionTime::Fixed(of(&longest(fixed))),
        }
    };
    (part(false), part(true))
}

fn longest(time: &ExecutionTime) -> Duration {
    Duration::from_nanos(crate::lower::longest(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of the map blocks control for half as long.
    #[test]
    fn a_split_keeps_work_data_and_deadlines() {
        let text = "duration = \"1 s\"\ntopics = [\"out\"]\n[[executor]]\nname = \"x\"\n[[group]]\nname = \"g\"\n\
            [[callback]]\nname = \"map\"\nkind = \"timer\"\nperiod = \"40 ms\"\npublishes = [\"out\"]\n\
            execution = { list = [\"9 ms\", \"1 ns\"] }\n\
            [[callback]]\nname = \"plan\"\nkind = \"subscription\"\nsubscribes = \"out\"\nexecution = \"1 ms\"\n\
            [[chain]]\nname = \"c\"\ncallbacks = [\"map\", \"plan\"]\n";
        let scenario = Scenario::parse(text).unwrap();
        let change = split(&scenario, "map").unwrap();
        assert!(!change.is_deployable());
        assert_eq!(
            change.describe(),
            "split `map` into two callbacks of 4.5ms and 4.5ms, of which the first sends the second a message"
        );
        let changed = change.apply(&scenario);
        changed.check().unwrap();
        let names: Vec<_> = changed.callbacks.iter().map(|plan| plan.name.as_str()).collect();
        assert_eq!(names, ["map", "map rest", "plan"]);
        assert_eq!(changed.chains[0].callbacks, names);
        assert_eq!(changed.chains[1].deadline, Some(Duration::from_millis(40)));
        let ns = Duration::from_nanos;
        assert_eq!(changed.callbacks[0].execution, ExecutionTime::List(vec![ns(4_500_000), ns(0)]));
        assert_eq!(changed.callbacks[1].execution, ExecutionTime::List(vec![ns(4_500_000), ns(1)]));
        assert_eq!(split(&changed, "map"), None, "the name is taken");
    }
}
