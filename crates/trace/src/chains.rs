//! Chains: messages followed from callback to callback, as they went.

use std::collections::BTreeMap;

use crate::model::Model;

/// The longest chain that is followed.
const LINKS: usize = 64;

/// A chain of callbacks that messages took.
#[derive(Clone, PartialEq, Debug)]
pub struct Chain {
    /// The places of its callbacks, from the source on.
    pub callbacks: Vec<usize>,
    /// The places of the first and the last activation of each run, in the order of the last ones.
    pub runs: Vec<(usize, usize)>,
}

impl Chain {
    /// Returns the times from the release of the first activation to the end of the last one.
    pub fn latencies_ns<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = u64> + 'a {
        let of = |&(first, last): &(usize, usize)| {
            Some(model.activations[last].end_ns?.saturating_sub(model.activations[first].release_ns))
        };
        self.runs.iter().filter_map(of)
    }
}

/// Returns the chains that messages took: each ends with an activation whose messages nobody took, and goes back along the
/// messages that came first. Chains of one callback are left out.
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
