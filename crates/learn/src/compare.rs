//! Differences between a system that was recorded and one in a file.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rospin_core::GroupKind;
use rospin_scenario::{Callback, Executor, Scenario, duration};

use crate::graph;

/// Difference of a thing between two systems. `-` stands for what is not there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Structure {
    /// Kind of thing: callback, edge, and so on.
    pub what: &'static str,
    /// Its name.
    pub name: String,
    /// Its value in the recording.
    pub recorded: String,
    /// Its value in the file.
    pub file: String,
}

/// Longest execution times of a callback that both systems have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    /// The callback.
    pub callback: String,
    /// Its longest execution time in the recording, over all its parts.
    pub recorded: Duration,
    /// Its longest execution time in the file.
    pub file: Duration,
}

impl Execution {
    /// Returns by how many percent of the file's time the recorded one is longer; infinity if the file's is zero.
    #[must_use]
    pub fn percent(&self) -> f64 {
        let recorded = self.recorded.as_secs_f64();
        let file = self.file.as_secs_f64();
        if recorded == file { 0.0 } else { (recorded - file) / file * 100.0 }
    }
}

/// Differences between a recorded system and one in a file.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Comparison {
    /// Differences in structure: callbacks, their kinds, whom their groups exclude, edges, chains.
    pub structure: Vec<Structure>,
    /// Differences in settings: executors, policies, priorities, periods, queues, deadlines.
    pub settings: Vec<Structure>,
    /// Execution times of all callbacks that both have, in the order of the file.
    pub executions: Vec<Execution>,
    /// Numbers of callbacks, edges and chains that both have.
    pub common: [usize; 3],
}

impl Comparison {
    /// Compares a recorded system with the one of a file.
    #[must_use]
    pub fn of(recorded: &Scenario, file: &Scenario) -> Self {
        let mut comparison = Self::default();
        let here = by_name(recorded);
        let there = by_name(file);
        let both: Vec<&str> = there.keys().copied().filter(|name| here.contains_key(name)).collect();
        comparison.common[0] = both.len();
        let kinds = |all: &BTreeMap<&str, &Callback>| {
            all.iter().map(|(name, callback)| ((*name).to_owned(), callback.kind.to_string())).collect()
        };
        differ(&mut comparison.structure, "callback", &kinds(&here), &kinds(&there));
        let both: BTreeSet<&str> = both.into_iter().collect();
        let [excludes, others] = [recorded, file].map(|system| exclusions(system, &both));
        differ(&mut comparison.structure, "excludes", &excludes, &others);
        let [edges, others] = [recorded, file].map(edges);
        comparison.common[1] = edges.intersection(&others).count();
        comparison.missing("edge", &edges, &others);
        comparison.chains(&edges, file);
        comparison.compare_settings(recorded, file, &both);
        for callback in file.callbacks.iter().filter(|callback| both.contains(callback.name.as_str())) {
            comparison.executions.push(Execution {
                callback: callback.name.clone(),
                recorded: longest(here[callback.name.as_str()]),
                file: longest(callback),
            });
        }
        comparison
    }

    /// Returns the number of callbacks whose execution times differ by at most `percent` of the file's, or by at most
    /// `time`.
    #[must_use]
    pub fn alike(&self, percent: f64, time: Duration) -> usize {
        let is_alike = |one: &&Execution| one.percent().abs() <= percent || one.recorded.abs_diff(one.file) <= time;
        self.executions.iter().filter(is_alike).count()
    }

    fn missing(&mut self, what: &'static str, here: &BTreeSet<(String, String)>, there: &BTreeSet<(String, String)>) {
        for (from, to) in here.symmetric_difference(there) {
            let [recorded, file] =
                [here, there].map(|all| if all.contains(&(from.clone(), to.clone())) { "yes" } else { "-" });
            let name = format!("{from} > {to}");
            self.structure.push(Structure { what, name, recorded: recorded.into(), file: file.into() });
        }
    }

    /// Counts the file's chains that are ways of messages in the recording, and adds a difference for each of the
    /// others: the link at which it breaks.
    fn chains(&mut self, edges: &BTreeSet<(String, String)>, file: &Scenario) {
        for chain in &file.chains {
            let mut links = chain.callbacks.windows(2);
            let broken = links.find(|pair| !edges.contains(&(pair[0].clone(), pair[1].clone())));
            match broken {
                None => self.common[2] += 1,
                Some(pair) => self.structure.push(Structure {
                    what: "chain",
                    name: chain.name.clone(),
                    recorded: format!("ends at {}", pair[0]),
                    file: format!("goes on to {}", pair[1]),
                }),
            }
        }
    }

    fn compare_settings(&mut self, recorded: &Scenario, file: &Scenario, both: &BTreeSet<&str>) {
        let here = by_name(recorded);
        let there = by_name(file);
        let executors = |system: &Scenario| {
            let told = |one: &Executor| format!("{}, {} threads", one.policy, one.threads);
            system.executors.iter().map(|one| (one.name.clone(), told(one))).collect()
        };
        differ(&mut self.settings, "executor", &executors(recorded), &executors(file));
        let value = |time: Option<Duration>| time.map_or("-".to_owned(), duration::format);
        for name in both {
            let [one, other] = [here[name], there[name]];
            let executor = |system: &Scenario, callback: &Callback| {
                let group = system.groups.iter().find(|group| group.name == callback.group);
                group.map_or_else(String::new, |group| group.executor.clone())
            };
            let priority = |callback: &Callback| callback.priority.map(|priority| priority.to_string());
            let mut pairs = vec![
                ("executor of", executor(recorded, one), executor(file, other)),
                ("period", value(one.period), value(other.period)),
                ("deadline", value(one.relative_deadline()), value(other.relative_deadline())),
                ("depth", one.depth.to_string(), other.depth.to_string()),
            ];
            // Priorities of the file that follow from its chains are not there to be compared.
            if let (Some(one), Some(other)) = (priority(one), priority(other)) {
                pairs.push(("priority", one, other));
            }
            for (what, recorded, file) in pairs.into_iter().filter(|(_, one, other)| one != other) {
                self.settings.push(Structure { what, name: (*name).to_owned(), recorded, file });
            }
        }
    }
}

fn by_name(system: &Scenario) -> BTreeMap<&str, &Callback> {
    system.callbacks.iter().map(|callback| (callback.name.as_str(), callback)).collect()
}

/// Adds a difference for each name that is not the same in both.
fn differ(
    differences: &mut Vec<Structure>,
    what: &'static str,
    here: &BTreeMap<String, String>,
    there: &BTreeMap<String, String>,
) {
    let names: BTreeSet<&String> = here.keys().chain(there.keys()).collect();
    for name in names {
        let [recorded, file] = [here, there].map(|all| all.get(name).cloned().unwrap_or_else(|| "-".to_owned()));
        if recorded != file {
            differences.push(Structure { what, name: name.clone(), recorded, file });
        }
    }
}

/// Returns for each callback the others in its mutually exclusive group, as text. Only the callbacks in `both` systems
/// count; those of reentrant groups have no entry.
fn exclusions(system: &Scenario, both: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let mut groups: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for callback in system.callbacks.iter().filter(|callback| both.contains(callback.name.as_str())) {
        groups.entry(&callback.group).or_default().insert(&callback.name);
    }
    let mut excluded = BTreeMap::new();
    for group in system.groups.iter().filter(|group| group.kind == GroupKind::MutuallyExclusive) {
        let members = groups.remove(group.name.as_str()).unwrap_or_default();
        for one in &members {
            let others: Vec<&str> = members.iter().copied().filter(|other| other != one).collect();
            let others = if others.is_empty() { "only itself".to_owned() } else { others.join(", ") };
            excluded.insert((*one).to_owned(), others);
        }
    }
    excluded
}

fn edges(system: &Scenario) -> BTreeSet<(String, String)> {
    let name = |place: usize| system.callbacks[place].name.clone();
    let edges = graph::edges(system).into_iter().enumerate();
    edges.flat_map(|(from, to)| to.into_iter().map(move |to| (name(from), name(to)))).collect()
}

/// Returns the longest execution time, over all parts of an asynchronous callback.
fn longest(callback: &Callback) -> Duration {
    callback.awaits.iter().fold(callback.execution.longest(), |sum, part| sum.saturating_add(part.run.longest()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        duration = "1 s"
        topics = ["scan", "tracks"]
        [[executor]]
        name = "main"
        [[group]]
        name = "g"
        [[group]]
        name = "h"
        [[callback]]
        name = "lidar"
        kind = "timer"
        group = "g"
        period = "10 ms"
        execution = "1 ms"
        publishes = ["scan"]
        [[callback]]
        name = "tracker"
        kind = "subscription"
        group = "h"
        subscribes = "scan"
        execution = "2 ms"
        publishes = ["tracks"]
        [[callback]]
        name = "planner"
        kind = "subscription"
        group = "h"
        subscribes = "tracks"
        execution = "100 us"
        [[chain]]
        name = "drive"
        callbacks = ["lidar", "tracker", "planner"]
    "#;

    fn compare(change: (&str, &str)) -> Comparison {
        assert!(FILE.contains(change.0));
        let recorded = FILE.replace(change.0, change.1);
        Comparison::of(&Scenario::parse(&recorded).unwrap(), &Scenario::parse(FILE).unwrap())
    }

    #[test]
    fn a_system_is_like_itself() {
        let same = compare(("lidar", "lidar"));
        assert!(
            same.structure.is_empty() && same.settings.is_empty() && same.alike(0.0, Duration::ZERO) == 3,
            "{same:?}"
        );
        assert_eq!(same.common, [3, 2, 1]);
    }

    #[test]
    fn each_change_of_structure_is_told() {
        let told = |change| {
            let found = compare(change).structure;
            found
                .iter()
                .map(|one| format!("{} {}: {} / {}", one.what, one.name, one.recorded, one.file))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            told((
                "kind = \"timer\"\n        group = \"g\"\n        period = \"10 ms\"",
                "kind = \"service\"\n        group = \"g\""
            )),
            ["callback lidar: service / timer"]
        );
        assert_eq!(
            told(("group = \"h\"\n        subscribes = \"tracks\"", "group = \"g\"\n        subscribes = \"tracks\"")),
            [
                "excludes lidar: planner / only itself",
                "excludes planner: lidar / tracker",
                "excludes tracker: only itself / planner"
            ]
        );
        let unchained = "publishes = [\"tracks\"]";
        let file = Scenario::parse(FILE).unwrap();
        let recorded =
            FILE.replace(unchained, "").replace("\"lidar\", \"tracker\", \"planner\"", "\"lidar\", \"tracker\"");
        let found = Comparison::of(&Scenario::parse(&recorded).unwrap(), &file);
        let whats: Vec<_> = found.structure.iter().map(|one| (one.what, one.name.as_str())).collect();
        assert_eq!(whats, [("edge", "tracker > planner"), ("chain", "drive")]);
    }

    #[test]
    fn settings_and_times_are_no_structure() {
        let longer = compare(("execution = \"2 ms\"", "execution = \"2.2 ms\""));
        assert!(
            longer.structure.is_empty()
                && longer.alike(5.0, Duration::ZERO) == 2
                && longer.alike(5.0, Duration::from_micros(200)) == 3
        );
        assert!((longer.executions[1].percent() - 10.0).abs() < 1e-9);
        let slower = compare(("10 ms", "20 ms"));
        let whats: Vec<_> = slower.settings.iter().map(|one| (one.what, one.recorded.as_str())).collect();
        assert_eq!(whats, [("period", "20 ms"), ("deadline", "20 ms")]);
        assert!(slower.structure.is_empty());
    }
}
