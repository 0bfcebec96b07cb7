//! The graph of a system: who releases whom, circles, and the ways from sources to sinks.

use std::collections::{BTreeMap, BTreeSet};

use rospin_core::EntityKind;
use rospin_scenario::{Chain, Scenario};

/// The largest number of chains.
pub(crate) const CHAINS: usize = 64;
/// The largest number of callbacks of a chain. A longer way ends there.
const CALLBACKS: usize = 64;
/// The largest number of steps of the search for chains.
const STEPS: usize = 100_000;

/// Returns for each callback the callbacks that its messages release.
pub(crate) fn edges(scenario: &Scenario) -> Vec<Vec<usize>> {
    let mut by_address: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, callback) in scenario.callbacks.iter().enumerate() {
        let is_addressed = callback.kind != EntityKind::Timer && callback.joins.is_empty();
        let own = if is_addressed { Some(&callback.name) } else { None };
        for address in callback.subscribes.iter().chain(&callback.joins).chain(own) {
            by_address.entry(address).or_default().push(place);
        }
    }
    let of = |address: &String| by_address.get(address.as_str()).cloned().unwrap_or_default();
    let receivers = scenario.callbacks.iter().map(|callback| {
        let all: BTreeSet<usize> = callback.publishes.iter().flat_map(of).collect();
        all.into_iter().collect()
    });
    receivers.collect()
}

/// Returns a circle of callbacks that release each other, if there is one.
pub(crate) fn circle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; edges.len()];
    for start in 0..edges.len() {
        // The way from the start, with the number of edges of each callback that were followed.
        let mut way: Vec<(usize, usize)> = Vec::new();
        if marks[start] == Mark::New {
            marks[start] = Mark::Open;
            way.push((start, 0));
        }
        while let Some((callback, next)) = way.last_mut() {
            let Some(receiver) = edges[*callback].get(*next).copied() else {
                marks[*callback] = Mark::Done;
                way.pop();
                continue;
            };
            *next += 1;
            match marks[receiver] {
                Mark::New => {
                    marks[receiver] = Mark::Open;
                    way.push((receiver, 0));
                }
                Mark::Open => {
                    let callbacks = way.iter().map(|(callback, _)| *callback);
                    return Some(callbacks.skip_while(|callback| *callback != receiver).collect());
                }
                Mark::Done => {}
            }
        }
    }
    None
}

/// Returns the ways of messages from a source to a sink, without those of a single callback. Returns true if some are
/// missing, because there are more than [`CHAINS`], one has more than [`CALLBACKS`], or the search took too many steps.
/// The graph must have no circles.
pub(crate) fn ways(edges: &[Vec<usize>]) -> (Vec<Vec<usize>>, bool) {
    let mut is_released = vec![false; edges.len()];
    for receiver in edges.iter().flatten() {
        is_released[*receiver] = true;
    }
    let mut found = Vec::new();
    let mut steps = 0;
    let mut is_cut = false;
    for source in (0..edges.len()).filter(|callback| !is_released[*callback] && !edges[*callback].is_empty()) {
        let mut way = vec![(source, 0)];
        while let Some((callback, next)) = way.last().copied() {
            steps += 1;
            if edges[callback].is_empty() || way.len() >= CALLBACKS {
                if found.len() == CHAINS || steps > STEPS {
                    return (found, true);
                }
                is_cut |= !edges[callback].is_empty();
                found.push(way.iter().map(|(callback, _)| *callback).collect());
                way.pop();
                continue;
            }
            way.pop();
            if let Some(receiver) = edges[callback].get(next) {
                way.extend([(callback, next + 1), (*receiver, 0)]);
            }
        }
    }
    (found, is_cut)
}

/// Returns the ways as chains, named by their ends.
pub(crate) fn chains(scenario: &Scenario, ways: &[Vec<usize>]) -> Vec<Chain> {
    let mut names = crate::names::Names::default();
    let name = |callback: usize| scenario.callbacks[callback].name.as_str();
    let chain = |way: &Vec<usize>| {
        let first = name(*way.first()?);
        let last = name(*way.last()?);
        let chain = names.unique(&format!("{first} to {last}"), &[]);
        Some(Chain::new(chain, 0, way.iter().map(|callback| name(*callback))))
    };
    ways.iter().filter_map(chain).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ways_lead_from_sources_to_sinks() {
        let edges = [vec![1, 2], vec![3], vec![3], vec![], vec![]];
        assert_eq!(ways(&edges), (vec![vec![0, 1, 3], vec![0, 2, 3]], false));
        assert_eq!(circle(&edges), None);
        assert_eq!(circle(&[vec![1], vec![2], vec![1]]), Some(vec![1, 2]));
        assert_eq!(circle(&[vec![0]]), Some(vec![0]));
    }

    #[test]
    fn ways_end_where_there_are_too_many() {
        // A ladder: two ways at each of 40 steps.
        let edges: Vec<Vec<usize>> = (0..120)
            .map(|place| match place % 3 {
                0 => vec![place + 1, place + 2],
                1 if place < 118 => vec![place + 2],
                2 if place < 119 => vec![place + 1],
                _ => vec![],
            })
            .collect();
        let (found, is_cut) = ways(&edges);
        assert!(found.len() == CHAINS && is_cut);
    }

    /// A line of a hundred callbacks: recordings follow chains of at most 64, so a longer one would have no measured
    /// latency.
    #[test]
    fn ways_have_as_many_callbacks_as_chains_that_are_measured() {
        let edges: Vec<Vec<usize>> = (1..=100).map(|next| if next < 100 { vec![next] } else { vec![] }).collect();
        let (found, is_cut) = ways(&edges);
        assert_eq!((found.iter().map(Vec::len).collect::<Vec<_>>(), is_cut), (vec![64], true));
        let (found, is_cut) =
            ways(&edges[36..].iter().map(|to| to.iter().map(|to| to - 36).collect()).collect::<Vec<_>>());
        assert_eq!((found[0].len(), is_cut), (64, false));
    }

    proptest! {
        /// A graph whose edges lead to larger numbers only has no circle, and one more edge back makes one.
        #[test]
        fn circles_are_found(pairs in prop::collection::vec((0..12_usize, 0..12_usize), 0..30)) {
            let mut edges = vec![Vec::new(); 12];
            for (from, to) in pairs.iter().filter(|(from, to)| from < to) {
                edges[*from].push(*to);
            }
            prop_assert_eq!(circle(&edges), None);
            let (found, _) = ways(&edges);
            for way in &found {
                prop_assert!(way.windows(2).all(|pair| edges[pair[0]].contains(&pair[1])));
            }
            if let Some(way) = found.first() {
                edges[*way.last().unwrap()].push(way[0]);
                let circle = circle(&edges).unwrap();
                let next = circle.iter().cycle().skip(1);
                prop_assert!(circle.iter().zip(next).all(|(from, to)| edges[*from].contains(to)));
            }
        }
    }
}
