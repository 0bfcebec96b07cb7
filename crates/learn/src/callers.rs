//! Callers of services and other callbacks whose releases are no messages: whoever ran at the time of the release.
//!
//! Requests and responses leave no events. The release of a service's callback has the time of the call, so its callers
//! are those that ran at these times, if that can hardly be by chance. An event would be certain, but would have to
//! travel with every request.

use std::collections::BTreeMap;

use rospin_trace::Model;

/// The probability of a coincidence, below which a callback counts as a caller: the share of time for which it ran, to
/// the power of the number of releases at which it ran.
const CHANCE: f64 = 1e-3;
/// The largest number of segments that are looked at for a release.
const LOOKS: usize = 10_000;

/// Segments by process, in the order of their starts: start, end, callback.
pub(crate) struct Callers {
    segments: Vec<Vec<(u64, u64, usize)>>,
    /// By process: the length of the longest segment, in nanoseconds.
    longest: Vec<u64>,
    /// By callback: the share of the recorded time for which it ran.
    shares: Vec<f64>,
}

impl Callers {
    /// Collects the segments of all callbacks of the model.
    pub(crate) fn of(model: &Model) -> Self {
        let mut segments = vec![Vec::new(); model.processes.len()];
        let mut busy = vec![0_u64; model.callbacks.len()];
        for activation in &model.activations {
            let callback = activation.callback;
            let all = &mut segments[model.callbacks[callback].process];
            for segment in &activation.segments {
                all.push((segment.start_ns, segment.end_ns, callback));
                busy[callback] += segment.end_ns - segment.start_ns;
            }
        }
        for segments in &mut segments {
            segments.sort_unstable();
        }
        let longest = |all: &Vec<(u64, u64, usize)>| all.iter().map(|(start, end, _)| end - start).max().unwrap_or(0);
        let span = model.span.1.saturating_sub(model.span.0).max(1) as f64;
        Self {
            longest: segments.iter().map(longest).collect(),
            segments,
            shares: busy.into_iter().map(|busy| busy as f64 / span).collect(),
        }
    }

    /// Returns the callers of `callback`, each with the number of its releases that they caused, and the releases
    /// without a caller. A caller is a callback of the process that ran at more releases than can be by chance, and for
    /// which `counts` is true.
    pub(crate) fn of_releases(
        &self,
        process: usize,
        callback: usize,
        releases: &[u64],
        counts: impl Fn(usize) -> bool,
    ) -> (Vec<(usize, usize)>, Vec<u64>) {
        let running: Vec<Vec<usize>> = releases.iter().map(|at| self.running(process, *at)).collect();
        let mut hits = BTreeMap::<usize, usize>::new();
        for one in running.iter().flatten() {
            *hits.entry(*one).or_default() += 1;
        }
        let is_caller = |one: usize, hits: usize| {
            let share = self.shares[one].min(1.0);
            let by_chance = share * releases.len() as f64;
            one != callback && counts(one) && share.powf(hits as f64) < CHANCE && hits as f64 > 2.0 * by_chance
        };
        hits.retain(|one, hits| is_caller(*one, *hits));
        // Of two that ran at the same releases, the one that ran at more of them is the caller.
        let caller = |running: &Vec<usize>| running.iter().filter_map(|one| Some((*hits.get(one)?, *one))).max();
        let mut calls = BTreeMap::<usize, usize>::new();
        let mut rest = Vec::new();
        for (running, at) in running.iter().zip(releases) {
            match caller(running) {
                Some((_, one)) => *calls.entry(one).or_default() += 1,
                None => rest.push(*at),
            }
        }
        (calls.into_iter().collect(), rest)
    }

    /// Returns the callbacks of the process that ran at the time `at`.
    fn running(&self, process: usize, at: u64) -> Vec<usize> {
        let Some(segments) = self.segments.get(process) else { return Vec::new() };
        let begun = segments.partition_point(|(start, ..)| *start <= at);
        let recent = segments[..begun].iter().rev().take(LOOKS);
        let recent = recent.take_while(|(start, ..)| start.saturating_add(self.longest[process]) >= at);
        recent.filter(|(_, end, _)| *end >= at).map(|(.., callback)| *callback).collect()
    }
}
