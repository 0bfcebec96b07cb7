//! Chains of callbacks from a source to an actuator, and the priorities that follow from them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::entity::Priority;

/// The importance of a chain. A larger number is more critical.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Criticality(pub u32);

/// Callbacks that pass data on to each other, from a source to an actuator.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Chain {
    /// The name in messages and reports.
    pub name: String,
    /// The importance of the chain.
    pub criticality: Criticality,
    /// The end-to-end deadline: time from the release of the first entity to the end of the last one; `None` for no
    /// deadline.
    pub deadline: Option<Duration>,
    /// The names of its entities, in the order of the data flow.
    pub entities: Vec<String>,
}

impl Chain {
    /// Creates a chain without a deadline through `entities`, which are named in the order of the data flow. A larger
    /// `criticality` is more critical.
    pub fn new<I>(name: impl Into<String>, criticality: u32, entities: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        Self {
            name: name.into(),
            criticality: Criticality(criticality),
            deadline: None,
            entities: entities.into_iter().map(Into::into).collect(),
        }
    }

    /// Sets the end-to-end deadline.
    #[must_use]
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }
}

/// Errors of deriving priorities from chains.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// A chain has no entities.
    #[error("chain `{chain}` has no entities; name them in the order of the data flow")]
    Empty {
        /// The name of the chain.
        chain: String,
    },
    /// Two chains have the same name.
    #[error("two chains are called `{chain}`; give one of them another name")]
    Duplicate {
        /// The name that both chains have.
        chain: String,
    },
    /// The links of the chains form a cycle, so that data would come back to an entity.
    #[error("chain `{chain}` closes a cycle: {}; break it where data is only cached, with a timer as the start of a chain of its own", .path.join(" -> "))]
    Cycle {
        /// The chain whose link closes the cycle.
        chain: String,
        /// The cycle; its first entity is repeated at the end.
        path: Vec<String>,
    },
}

/// Priorities of callbacks, by the names of their entities.
///
/// ```
/// use rospin_core::{Chain, PriorityMap};
///
/// let brake = Chain::new("brake", 2, ["lidar", "detect", "brake"]);
/// let comfort = Chain::new("comfort", 1, ["map", "plan"]);
/// let priorities = PriorityMap::picas(&[brake, comfort])?;
/// assert!(priorities.get("brake") > priorities.get("lidar"), "later before earlier");
/// assert!(priorities.get("lidar") > priorities.get("plan"), "more critical before less critical");
/// # Ok::<(), rospin_core::ChainError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PriorityMap {
    by_name: BTreeMap<String, Priority>,
}

impl PriorityMap {
    /// Derives callback priorities from chains by the rules of PiCAS (Choi et al., RTAS 2021, section V):
    ///
    /// 1. Callbacks of a more critical chain come before callbacks of a less critical one. Of two chains of equal
    ///    criticality, the one that comes first in `chains` counts as more critical.
    /// 2. Inside a chain, the later callback comes before the earlier one, so that an instance of the chain is not
    ///    delayed by the next instance of the same chain.
    /// 3. A callback in several chains belongs to the most critical of them.
    ///
    /// "Comes before" means that the callback is more urgent, so has the larger priority. The least urgent callback has
    /// priority 1, the next one 2, and so on without gaps. An entity in no chain is not in the map.
    ///
    /// # Errors
    /// If a chain is empty, if two chains have the same name, or if the links of all chains together form a cycle.
    pub fn picas(chains: &[Chain]) -> Result<Self, ChainError> {
        check(chains)?;
        let mut by_criticality: Vec<&Chain> = chains.iter().collect();
        // The sort is stable: chains of equal criticality stay in the order of their declaration.
        by_criticality.sort_by_key(|chain| std::cmp::Reverse(chain.criticality));

        let mut most_urgent_first = Vec::new();
        let mut seen = BTreeSet::new();
        for entity in by_criticality.iter().flat_map(|chain| chain.entities.iter().rev()) {
            if seen.insert(entity) {
                most_urgent_first.push(entity);
            }
        }
        let ascending = most_urgent_first.into_iter().rev().zip(1..);
        Ok(Self { by_name: ascending.map(|(entity, level)| (entity.clone(), Priority(level))).collect() })
    }

    /// Returns the priority of the entity called `name`; `None` if no chain contains it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Priority> {
        self.by_name.get(name).copied()
    }

    /// Returns all names and priorities, in the alphabetical order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Priority)> {
        self.by_name.iter().map(|(name, priority)| (name.as_str(), *priority))
    }
}

/// Checks the chains as a whole: their names, and that no links form a cycle.
fn check(chains: &[Chain]) -> Result<(), ChainError> {
    let mut names = BTreeSet::new();
    let mut links: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for chain in chains {
        if !names.insert(&chain.name) {
            return Err(ChainError::Duplicate { chain: chain.name.clone() });
        }
        if chain.entities.is_empty() {
            return Err(ChainError::Empty { chain: chain.name.clone() });
        }
        for pair in chain.entities.windows(2) {
            let from = pair[0].as_str();
            let to = pair[1].as_str();
            if let Some(way_back) = path(&links, to, from) {
                let cycle = std::iter::once(from).chain(way_back).map(str::to_owned).collect();
                return Err(ChainError::Cycle { chain: chain.name.clone(), path: cycle });
            }
            links.entry(from).or_default().insert(to);
        }
    }
    Ok(())
}

/// Returns a path along `links` from `from` to `to`, both included. Returns `None` if `links` do not lead there.
/// Searches depth first, without recursion, and visits each entity once.
fn path<'a>(links: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str, to: &'a str) -> Option<Vec<&'a str>> {
    let mut came_from: BTreeMap<&str, Option<&str>> = BTreeMap::from([(from, None)]);
    let mut open = vec![from];
    while let Some(entity) = open.pop() {
        if entity == to {
            let steps = std::iter::successors(Some(entity), |step| came_from.get(step).copied().flatten());
            let mut path: Vec<&str> = steps.collect();
            path.reverse();
            return Some(path);
        }
        for next in links.get(entity).into_iter().flatten() {
            if !came_from.contains_key(next) {
                came_from.insert(next, Some(entity));
                open.push(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_chains_first_and_inside_a_chain_later_before_earlier() {
        let chains = [Chain::new("comfort", 1, ["map", "plan"]), Chain::new("safety", 9, ["lidar", "detect", "brake"])];
        let map = PriorityMap::picas(&chains).unwrap();
        let mut order: Vec<_> = map.iter().collect();
        order.sort_by_key(|(_, priority)| std::cmp::Reverse(*priority));
        let names: Vec<_> = order.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["brake", "detect", "lidar", "plan", "map"]);
        assert_eq!(map.get("map"), Some(Priority(1)));
        assert_eq!(map.get("radio"), None);
    }

    #[test]
    fn a_shared_callback_counts_for_its_most_critical_chain() {
        let chains = [Chain::new("low", 1, ["a", "shared"]), Chain::new("high", 2, ["b", "shared"])];
        let map = PriorityMap::picas(&chains).unwrap();
        assert!(map.get("shared") > map.get("b"));
        assert!(map.get("b") > map.get("a"));
    }

    #[test]
    fn cycles_are_named() {
        let within = PriorityMap::picas(&[Chain::new("loop", 1, ["a", "b", "a"])]).unwrap_err();
        assert_eq!(within, ChainError::Cycle { chain: "loop".into(), path: vec!["b".into(), "a".into(), "b".into()] });
        let across = [Chain::new("there", 1, ["a", "b", "c"]), Chain::new("back", 1, ["c", "d", "a"])];
        let error = PriorityMap::picas(&across).unwrap_err();
        assert!(error.to_string().starts_with("chain `back` closes a cycle: d -> a -> b -> c -> d;"), "{error}");
        let itself = PriorityMap::picas(&[Chain::new("echo", 1, ["a", "a"])]).unwrap_err();
        assert!(matches!(itself, ChainError::Cycle { path, .. } if path == ["a", "a"]));
    }

    #[test]
    fn empty_and_duplicate_chains_are_refused() {
        let none: [&str; 0] = [];
        assert!(matches!(PriorityMap::picas(&[Chain::new("x", 1, none)]), Err(ChainError::Empty { .. })));
        let twice = [Chain::new("x", 1, ["a"]), Chain::new("x", 2, ["b"])];
        assert!(matches!(PriorityMap::picas(&twice), Err(ChainError::Duplicate { .. })));
    }
}
