//! Recordings as a scenario, of which the simulator runs the same arrivals and execution times.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use rospin_engine::{EntityKind, GroupKind};
use rospin_scenario::{Await, Callback, Chain, ExecutionTime, Executor, Group, Pattern, Release, Scenario};
use rospin_trace::Model;
use rospin_trace::chains::chains;

use super::observed::System;

/// The scenario of a recording, with what the simulator needs beside it.
#[derive(Clone)]
pub(super) struct Repeated {
    pub(super) scenario: Scenario,
    /// The numbers of messages by callback, then by activation, then by receiver in the order in which the callback
    /// publishes.
    pub(super) outputs: Vec<Vec<Vec<u32>>>,
    /// The node of each group, in the scenario's order; empty if the names of its callbacks do not tell.
    pub(super) nodes: Vec<String>,
    /// The recorded latencies of the chains, in the scenario's order.
    pub(super) latencies_ns: Vec<Vec<u64>>,
    /// Parts of the recording that the simulator does not repeat, a sentence each.
    pub(super) notes: Vec<String>,
}

/// Names that are in use.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    fn unique(&mut self, name: &str, beside: &str) -> String {
        let plain: String = name.chars().filter(|c| !c.is_control()).collect();
        let plain = if plain.is_empty() { "unnamed".to_owned() } else { plain };
        let candidates = std::iter::once(plain.clone())
            .chain([format!("{plain} ({beside})")])
            .chain((2_u64..).map(|number| format!("{plain} ({beside}) {number}")));
        let free = candidates.into_iter().find(|candidate| !self.0.contains(candidate)).unwrap_or(plain);
        self.0.insert(free.clone());
        free
    }
}

impl Repeated {
    /// Returns the scenario of the system on `cores`; `None` gives each thread a core of its own. `model` is made of
    /// the same recordings.
    pub(super) fn of(system: &System, model: &Model, cores: Option<u16>) -> Self {
        let mut scenario = Scenario::default();
        let mut notes = Vec::new();
        "recording".clone_into(&mut scenario.name);
        scenario.duration = Duration::from_nanos((system.end_ns - system.begin_ns).max(1));
        scenario.cores = cores;
        let mut names = Names::default();
        let mut executors = BTreeMap::new();
        for (recording, described) in &system.executors {
            let name = names.unique(&described.name, &described.program);
            let mut executor = Executor::new(&name);
            executor.policy.clone_from(&described.policy);
            executor.threads = described.threads.max(1);
            scenario.executors.push(executor);
            executors.insert((*recording, described.number), name);
        }
        let (mut names, mut group_names) = (Names::default(), Names::default());
        let mut groups: BTreeMap<(usize, u16, u64), String> = BTreeMap::new();
        let mut nodes = Vec::new();
        let callback_names: Vec<String> = system
            .callbacks
            .iter()
            .map(|callback| {
                let executor = executors.get(&(callback.recording, callback.executor));
                names.unique(&callback.entity.name, executor.map_or("?", String::as_str))
            })
            .collect();
        let mut outputs = Vec::new();
        for (callback, name) in system.callbacks.iter().zip(&callback_names) {
            let executor = executors.get(&(callback.recording, callback.executor)).cloned().unwrap_or_default();
            let entity = &callback.entity;
            let group =
                groups.entry((callback.recording, callback.executor, entity.group_number)).or_insert_with(|| {
                    let mut group = Group::new(group_names.unique(&entity.group, &executor), &executor);
                    group.kind = if entity.excludes { GroupKind::MutuallyExclusive } else { GroupKind::Reentrant };
                    nodes.push(node_of(&entity.name, &entity.group));
                    scenario.groups.push(group.clone());
                    group.name
                });
            let mut plan = Callback::new(name, entity.kind, group.clone());
            plan.priority = Some(entity.priority);
            plan.deadline = entity.deadline_ns.map(Duration::from_nanos);
            plan.depth = u32::try_from(callback.depth.unwrap_or(1000)).unwrap_or(u32::MAX).clamp(1, 100_000);
            plan.execution = list(callback.first_runs());
            for number in 0..callback.awaits() {
                let (waits, runs) = callback.await_times(number);
                plan.awaits.push(Await::new(list(waits), list(runs)));
            }
            plan.releases_group_at_await = entity.frees_group && plan.is_async();
            let is_shared = !entity.excludes || plan.is_async() && entity.frees_group;
            plan.max_in_flight = is_shared.then_some(entity.max_in_flight.clamp(1, 1024));
            match callback.steady_period(system.end_ns) {
                Some((first, period)) if entity.kind == EntityKind::Timer => {
                    plan.period = Some(Duration::from_nanos(period));
                    plan.offset = Some(Duration::from_nanos(first.saturating_sub(system.begin_ns)));
                }
                _ => {
                    let mut arrivals = callback.arrivals.clone();
                    if entity.kind == EntityKind::Timer {
                        plan.kind = EntityKind::Subscription;
                        arrivals = callback.activations.iter().map(|activation| activation.release_ns).collect();
                        if !arrivals.is_empty() {
                            notes.push(format!(
                                "`{name}` did not run with one period from its start to the end; it runs when it ran."
                            ));
                        }
                    }
                    let since = |at: &u64| Duration::from_nanos(at.saturating_sub(system.begin_ns));
                    if !arrivals.is_empty() {
                        let times = arrivals.iter().map(since).collect();
                        scenario.releases.push(Release::new([name.clone()], Pattern::List(times)));
                    }
                }
            }
            let receivers: Vec<usize> = {
                let all = callback.activations.iter().flat_map(|activation| activation.outputs.keys().copied());
                let mut all: Vec<usize> = all.collect();
                all.sort_unstable();
                all.dedup();
                all
            };
            plan.publishes = receivers.iter().map(|receiver| callback_names[*receiver].clone()).collect();
            let of = |receiver: &usize, counts: &BTreeMap<usize, u32>| counts.get(receiver).copied().unwrap_or(0);
            outputs.push(
                callback
                    .activations
                    .iter()
                    .map(|activation| receivers.iter().map(|receiver| of(receiver, &activation.outputs)).collect())
                    .collect(),
            );
            scenario.callbacks.push(plan);
        }
        let latencies_ns = add_chains(&mut scenario, system, model, &callback_names);
        if system.dropped > 0 {
            notes.push(format!("{} events are missing in the recording.", system.dropped));
        }
        Self { scenario, outputs, nodes, latencies_ns, notes }
    }
}

/// Adds the chains whose messages went within a process. Returns their recorded latencies.
fn add_chains(scenario: &mut Scenario, system: &System, model: &Model, names: &[String]) -> Vec<Vec<u64>> {
    let mut latencies = Vec::new();
    let place = |callback: &usize| {
        let of = &model.callbacks[*callback];
        let executor = model.executors[of.executor].number;
        let is_it = |known: &&super::observed::Observed| {
            (known.recording, known.executor, known.entity.bits) == (of.process, executor, of.entity)
        };
        system.callbacks.iter().position(|known| is_it(&known))
    };
    for chain in chains(model) {
        let Some(places) = chain.callbacks.iter().map(place).collect::<Option<Vec<usize>>>() else { continue };
        let passes_on = |pair: &[usize]| scenario.callbacks[pair[0]].publishes.contains(&names[pair[1]]);
        let is_once = places.iter().collect::<HashSet<_>>().len() == places.len();
        if !is_once || !places.windows(2).all(passes_on) {
            continue;
        }
        let title = places.iter().map(|place| names[*place].as_str()).collect::<Vec<_>>().join(" > ");
        scenario.chains.push(Chain::new(title, 0, places.iter().map(|place| names[*place].clone())));
        latencies.push(chain.latencies_ns(model).collect());
    }
    latencies
}

fn list(times: Vec<Duration>) -> ExecutionTime {
    if times.is_empty() { ExecutionTime::default() } else { ExecutionTime::List(times) }
}

/// Returns the node of a group, from the name of a callback: `left/camera` of `left/camera/driver/frame` in the group
/// `driver`. Returns an empty text for a name without `/`.
///
/// The own group of a node in a namespace reads like a further group of a node: of `left/camera/frame` in the group
/// `camera`, this returns `left`.
fn node_of(callback: &str, group: &str) -> String {
    let inner = format!("/{group}/");
    let node = callback.find(&inner).map(|at| &callback[..at]);
    node.or_else(|| callback.rsplit_once('/').map(|(node, _)| node)).unwrap_or("").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_what_names_begin_with() {
        assert_eq!(node_of("left/camera/driver/frame", "driver"), "left/camera");
        assert_eq!(node_of("camera/frame", "camera"), "camera");
        assert_eq!(node_of("left/camera/frame", "camera"), "left");
        assert_eq!(node_of("frame", "robot"), "");
    }

    #[test]
    fn no_two_names_are_the_same() {
        let mut names = Names::default();
        let all: Vec<String> = (0..3).map(|_| names.unique("scan", "main")).collect();
        assert_eq!(all, ["scan", "scan (main)", "scan (main) 2"]);
        assert_eq!(names.unique("a\nb", ""), "ab");
    }
}
