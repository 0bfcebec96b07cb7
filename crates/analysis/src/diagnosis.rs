//! Diagnosis of a deadline that is not proven to hold: by how much it is missed, the callbacks that cause it, and
//! single changes that would fix it.
//!
//! A callback is a cause if the bound is shorter without its execution. Changes of priorities, OS priorities, executors
//! and cores, which a deployment file can make, are tried one by one, then kinds of groups and groups for single
//! callbacks, and then splits of callbacks that cause delays. A change is reported if the analysis proves that all
//! deadlines hold with it.

use std::collections::BTreeSet;
use std::time::Duration;

use rospin_core::GroupKind;
use rospin_scenario::Scenario;

use crate::analysis::Analysis;
use crate::budget::Budget;
use crate::busy::Windows;
use crate::chains;
use crate::change::{self, Change};
use crate::known::{Known, Solution};
use crate::solve::solve;
use crate::system::System;

/// Largest number of late deadlines that are explained.
const LATE_MAX: usize = 8;
/// Largest number of causes that are named for each late deadline.
const CAUSES_MAX: usize = 3;
/// Largest number of changes of each kind that are tried.
const TRIES_MAX: usize = 64;
/// Largest number of callbacks for which a split is tried.
const SPLITS_MAX: usize = 8;

/// Deadline that is not proven to hold.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Late {
    /// Name of the callback or chain.
    pub name: String,
    /// Time by which the bound exceeds the deadline; `None` if there is no bound.
    pub by: Option<Duration>,
    /// Names of at most three other callbacks that cause the delay, the largest cause first. The time is the amount by
    /// which the bound gets shorter if that callback takes no time. It is `None` if there is a bound only without that
    /// callback.
    pub causes: Vec<(String, Option<Duration>)>,
}

/// Returns the first [`LATE_MAX`] deadlines that are not proven to hold, with their causes; none if a core is
/// overloaded.
pub(crate) fn late(analysis: &Analysis<'_>, system: &System, budget: &Budget) -> Vec<Late> {
    if system.check_load().is_err() {
        return Vec::new();
    }
    let scenario = analysis.scenario();
    let count = system.callbacks.len();
    let bounds = |system: &System, solution: &Solution| -> Vec<Option<u64>> {
        let known = Known::of(system, solution, budget);
        let paces = chains::paces_for_latency(system, solution);
        let mut windows = Windows::default();
        let chains = scenario
            .chains
            .iter()
            .map(|chain| chains::bound(scenario, solution, &known, &paces, &mut windows, chain).latency);
        let chains = chains.map(|latency| latency.map(crate::system::nanos));
        solution.found.iter().map(|found| found.bound).chain(chains).collect()
    };
    let dues = system.callbacks.iter().map(|plan| plan.due);
    let dues: Vec<Option<u64>> =
        dues.chain(scenario.chains.iter().map(|chain| chain.deadline.map(crate::system::nanos))).collect();
    let now = bounds(system, &solve(system, budget));
    let is_late = |place: &usize| dues[*place].is_some_and(|due| now[*place].is_none_or(|bound| bound > due));
    let places: Vec<usize> = (0..now.len()).filter(is_late).take(LATE_MAX).collect();
    let mut causes = vec![Vec::new(); places.len()];
    if !places.is_empty() {
        let mut changed = system.clone();
        for callback in 0..count {
            if budget.is_spent() {
                break;
            }
            let plan = changed.callbacks[callback].clone();
            changed.callbacks[callback].segments.iter_mut().for_each(|segment| *segment = 1);
            changed.callbacks[callback].shortest = 0;
            let without = bounds(&changed, &solve(&changed, budget));
            changed.callbacks[callback] = plan;
            for (place, causes) in places.iter().zip(&mut causes) {
                let shorter = match (now[*place], without[*place]) {
                    (Some(now), Some(without)) => Some(now.saturating_sub(without)),
                    (None, Some(_)) => None,
                    (_, None) => continue,
                };
                let own = *place == callback;
                if !own && shorter != Some(0) {
                    causes.push((shorter, callback));
                }
            }
        }
    }
    let name = |place: usize| match place.checked_sub(count) {
        Some(chain) => scenario.chains[chain].name.clone(),
        None => system.callbacks[place].name.clone(),
    };
    let told = |(place, mut causes): (usize, Vec<(Option<u64>, usize)>)| {
        causes.sort_by_key(|(shorter, callback)| (std::cmp::Reverse(shorter.unwrap_or(u64::MAX)), *callback));
        let named = causes.into_iter().take(CAUSES_MAX);
        let named = named.map(|(shorter, other)| (name(other), shorter.map(Duration::from_nanos)));
        let by = now[place].zip(dues[place]).map(|(bound, due)| Duration::from_nanos(bound.saturating_sub(due)));
        Late { name: name(place), by, causes: named.collect() }
    };
    places.into_iter().zip(causes).map(told).collect()
}

/// Returns single changes with which all deadlines hold: of priorities, then of OS priorities, cores, groups' executors
/// and kinds, and callbacks' groups, then splits. For each kind of change, a callback, executor or group has at most one.
pub(crate) fn changes(analysis: &Analysis<'_>, late: &[Late], budget: &Budget) -> Vec<Change> {
    let scenario = analysis.scenario();
    let holds = |change: &Change| !budget.is_spent() && analysis.of(&change.apply(scenario)).holds(budget);
    let mut found = Vec::new();
    let kinds = [
        priorities(analysis, late),
        os_priorities(scenario),
        cores(scenario),
        groups(scenario),
        group_kinds(scenario),
        own_groups(scenario),
        splits(scenario, late),
    ];
    for candidates in kinds {
        let mut subjects = BTreeSet::new();
        for (subject, change) in candidates.into_iter().take(TRIES_MAX) {
            // One change for each subject is enough: the first that fixes all deadlines.
            if !subjects.contains(&subject) && holds(&change) {
                subjects.insert(subject);
                found.push(change);
            }
        }
    }
    found
}

/// Returns changes that raise late callbacks, and callbacks of late chains, above others of their executor, as little
/// as possible.
fn priorities(analysis: &Analysis<'_>, late: &[Late]) -> Vec<(String, Change)> {
    let Ok(system) = analysis.unloaded_system() else { return Vec::new() };
    let chains = &analysis.scenario().chains;
    let in_late_chain = |name: &str| {
        let of = |chain: &&rospin_scenario::Chain| late.iter().any(|late| late.name == chain.name);
        chains.iter().filter(of).any(|chain| chain.callbacks.iter().any(|member| member == name))
    };
    let mut found = Vec::new();
    for plan in system
        .callbacks
        .iter()
        .filter(|plan| late.iter().any(|late| late.name == plan.name) || in_late_chain(&plan.name))
    {
        let others = system.executors[plan.executor].callbacks.iter().map(|other| system.callbacks[*other].priority);
        let above: BTreeSet<u32> = others.filter(|other| *other >= plan.priority).collect();
        for level in above {
            let change =
                Change::Priority { callback: plan.name.clone(), from: plan.priority, to: level.saturating_add(1) };
            found.push((plan.name.clone(), change));
        }
    }
    found
}

/// Returns changes that raise an executor just above another, or above the executors of its own OS priority.
fn os_priorities(scenario: &Scenario) -> Vec<(String, Change)> {
    let mut found = Vec::new();
    for executor in &scenario.executors {
        let levels: BTreeSet<u8> = scenario.executors.iter().map(|other| other.os_priority).collect();
        for level in levels.into_iter().filter(|level| *level >= executor.os_priority && *level < 99) {
            let (name, from) = (executor.name.clone(), executor.os_priority);
            if scenario.executors.len() > 1 {
                found.push((name.clone(), Change::OsPriority { executor: name, from, to: level + 1 }));
            }
        }
    }
    found
}

/// Returns changes that give an executor each single core that it does not have alone already.
fn cores(scenario: &Scenario) -> Vec<(String, Change)> {
    let mut found = Vec::new();
    for executor in &scenario.executors {
        for core in (0..scenario.core_count()).filter(|core| executor.cores != [*core]) {
            found.push((executor.name.clone(), Change::Core { executor: executor.name.clone(), core }));
        }
    }
    found
}

/// Returns changes that move groups to existing executors, then changes that give a group an executor of its own.
fn groups(scenario: &Scenario) -> Vec<(String, Change)> {
    let mut found = Vec::new();
    for group in &scenario.groups {
        let is_alone = scenario.groups.iter().filter(|other| other.executor == group.executor).count() < 2;
        let name = || group.name.clone();
        for executor in scenario.executors.iter().filter(|executor| executor.name != group.executor) {
            found.push((name(), Change::Group { group: name(), executor: executor.name.clone(), core: None }));
        }
        let own = format!("{} alone", group.name);
        let is_new = scenario.executors.iter().all(|executor| executor.name != own);
        for core in (0..scenario.core_count()).filter(|_| !is_alone && is_new) {
            found.push((name(), Change::Group { group: name(), executor: own.clone(), core: Some(core) }));
        }
    }
    found
}

/// Returns true if a group is on an executor with several threads. On one thread, groups make no difference.
fn is_on_threads(scenario: &Scenario, group: &str) -> bool {
    let group = scenario.groups.iter().find(|known| known.name == group);
    let executor = group.and_then(|group| scenario.executors.iter().find(|known| known.name == group.executor));
    executor.is_some_and(|executor| executor.threads > 1)
}

/// Returns changes that give a group the other kind.
fn group_kinds(scenario: &Scenario) -> Vec<(String, Change)> {
    let mut found = Vec::new();
    for group in scenario.groups.iter().filter(|group| is_on_threads(scenario, &group.name)) {
        let is_reentrant = group.kind == GroupKind::Reentrant;
        let kind = if is_reentrant { GroupKind::MutuallyExclusive } else { GroupKind::Reentrant };
        found.push((group.name.clone(), Change::Kind { group: group.name.clone(), kind }));
    }
    found
}

/// Returns changes that take a callback out of a mutually exclusive group with others, into one of its own.
fn own_groups(scenario: &Scenario) -> Vec<(String, Change)> {
    let mut found = Vec::new();
    for callback in scenario.callbacks.iter().filter(|callback| is_on_threads(scenario, &callback.group)) {
        let kind = scenario.groups.iter().find(|group| group.name == callback.group).map(|group| group.kind);
        let members = scenario.callbacks.iter().filter(|other| other.group == callback.group).count();
        let group = format!("{} alone", callback.name);
        let is_new = scenario.groups.iter().all(|known| known.name != group);
        if kind == Some(GroupKind::MutuallyExclusive) && members > 1 && is_new {
            found.push((callback.name.clone(), Change::OwnGroup { callback: callback.name.clone(), group }));
        }
    }
    found
}

/// Returns changes that split a callback in two, for each of the first [`SPLITS_MAX`] callbacks that make others late.
fn splits(scenario: &Scenario, late: &[Late]) -> Vec<(String, Change)> {
    let mut found: Vec<(String, Change)> = Vec::new();
    for (cause, _) in late.iter().flat_map(|late| &late.causes) {
        if found.len() < SPLITS_MAX
            && found.iter().all(|(known, _)| known != cause)
            && let Some(split) = change::split(scenario, cause)
        {
            found.push((cause.clone(), split));
        }
    }
    found
}
