//! Chains: messages followed from callback to callback, as they went.

use std::collections::BTreeMap;

use crate::model::Model;

/// Largest number of callbacks of a chain. A longer one is followed only that far, from its end.
const LINKS: usize = 64;

/// A sequence of callbacks, each of which took a message of the one before, and its runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Chain {
    /// The places in [`Model::callbacks`] of its callbacks, from the source on.
    pub callbacks: Vec<usize>,
    /// The places in [`Model::activations`] of the first and the last activation of each run, in the order of the last
    /// ones.
    pub runs: Vec<(usize, usize)>,
}

impl Chain {
    /// Returns for each run the time from the release of its first activation to the end of its last one, in
    /// nanoseconds. The time before the executors of all its callbacks spun is not counted.
    pub fn latencies_ns<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = u64> + 'a {
        let executors = self.callbacks.iter().map(|callback| model.callbacks[*callback].executor);
        let since = executors.filter_map(|executor| model.executors[executor].since_ns).max().unwrap_or(0);
        let of = move |&(first, last): &(usize, usize)| {
            Some(model.activations[last].end_ns?.saturating_sub(model.activations[first].release_ns.max(since)))
        };
        self.runs.iter().filter_map(of)
    }
}

/// Returns the chains along which messages went. A run of a chain ends with an activation of whose messages none was
/// taken. From there it is followed back: from each activation to the one that published the first message which it
/// took. Chains of one callback are left out.
#[must_use]
pub fn chains(model: &Model) -> Vec<Chain> {
    let mut found: BTreeMap<Vec<usize>, Vec<(usize, usize)>> = BTreeMap::new();
    let is_end = |place: usize| {
        let outputs = &model.activations[place].outputs;
        model.activations[place].end_ns.is_some()
            && !outputs.iter().any(|message| model.messages[*message].taken.is_some())
    };
    for last in (0..model.activations.len()).filter(|place| is_end(*place)) {
        let mut path = vec![model.activations[last].callback];
        let mut first = last;
        while path.len() < LINKS {
            let source = model.activations[first].inputs.iter().find_map(|message| model.messages[*message].from);
            let Some(source) = source.filter(|source| *source != first) else { break };
            first = source;
            path.push(model.activations[source].callback);
        }
        if path.len() > 1 {
            path.reverse();
            found.entry(path).or_default().push((first, last));
        }
    }
    found.into_iter().map(|(callbacks, runs)| Chain { callbacks, runs }).collect()
}
