//! Callback groups, which the tracepoints do not name.

use std::collections::{BTreeMap, BTreeSet};

use super::activity::Run;
use super::assemble::Assembly;

/// The largest number of names in a note.
const LISTED: usize = 10;

impl Assembly<'_> {
    /// Gives each node a group for its callbacks on an executor, and more where they ran at the same time.
    pub(super) fn find_groups(&mut self) {
        let overlaps = self.overlaps();
        // By executor and node: the members of each group.
        let mut members: BTreeMap<(usize, &str), Vec<Vec<usize>>> = BTreeMap::new();
        let mut apart = BTreeSet::new();
        let mut beside_themselves = Vec::new();
        for (place, entity) in self.objects.entities.iter().enumerate() {
            let node = entity.node.as_deref().unwrap_or_default();
            let home = self.homes[place].unwrap_or(usize::MAX);
            let executor = self.executors.get(home);
            let base = match node.trim_start_matches('/') {
                "" => executor.map_or("", |executor| executor.name.as_str()),
                node => node,
            };
            if overlaps.contains(&(place, place)) {
                beside_themselves.push(self.names[place].as_str());
                self.groups.push((format!("{base} beside itself {}", beside_themselves.len()), false));
                continue;
            }
            let groups = members.entry((home, node)).or_default();
            let is_free = |group: &Vec<usize>| !group.iter().any(|other| overlaps.contains(&(*other, place)));
            let number = match groups.iter().position(is_free) {
                Some(number) => number,
                None => {
                    groups.push(Vec::new());
                    groups.len() - 1
                }
            };
            groups[number].push(place);
            if number > 0 {
                apart.insert(base);
            }
            let name = if number == 0 { base.to_owned() } else { format!("{base} {}", number + 1) };
            self.groups.push((name, true));
        }
        let mut note =
            "ros2_tracing names neither executors nor callback groups. Threads that ran the same callback are \
                        taken for one executor, and the callbacks of a node there for one mutually exclusive group."
                .to_owned();
        if !apart.is_empty() {
            note += &format!(" Callbacks that ran at the same time have several groups: {}.", listed(apart));
        }
        if !beside_themselves.is_empty() {
            note += &format!(" Callbacks that ran beside themselves are reentrant: {}.", listed(beside_themselves));
        }
        self.notes.push(note);
    }

    /// Returns the pairs of entities of one node that ran at the same time, the earlier entity first.
    fn overlaps(&self) -> BTreeSet<(usize, usize)> {
        let mut by_executor: BTreeMap<usize, Vec<&Run>> = BTreeMap::new();
        for run in self.runs().filter(|run| run.end.is_some()) {
            let home = self.homes[run.entity].filter(|home| self.executors[*home].threads.len() > 1);
            if let Some(home) = home {
                by_executor.entry(home).or_default().push(run);
            }
        }
        let mut pairs = BTreeSet::new();
        for mut runs in by_executor.into_values() {
            runs.sort_by_key(|run| run.start);
            // The run that each thread has now.
            let mut running: BTreeMap<usize, &Run> = BTreeMap::new();
            for run in runs {
                running.retain(|_, other| other.end > Some(run.start));
                let node = |run: &Run| self.objects.entities[run.entity].node.as_deref();
                for other in running.values().filter(|other| node(other).is_some() && node(other) == node(run)) {
                    pairs.insert((run.entity.min(other.entity), run.entity.max(other.entity)));
                }
                running.insert(run.thread, run);
            }
        }
        pairs
    }
}

/// Returns the names with commas, of many the first ones.
fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let more = names.len().saturating_sub(LISTED);
    let text = names[..names.len() - more].join(", ");
    if more > 0 { format!("{text}, and {more} more") } else { text }
}
