//! What came of a run.

use std::collections::BTreeMap;

use serde::Serialize;

use super::accounts::TopicAccount;
use super::agreement::Subject;
use super::ledger::{Lateness, Tally};
use super::network::PacketCounts;
use super::resources::Resources;
use super::schedule::Schedule;
use crate::middleware::Middleware;

/// Faults of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct FaultRow {
    pub(super) count: u64,
    /// How long they lasted together.
    pub(super) seconds: f64,
    /// Those that could not be: their process did not run, for instance.
    pub(super) skipped: u64,
}

/// The most by which memory may have grown, as a share of what it was.
const GROWTH_MAX: f64 = 0.02;

/// What a process had when it was warm, and at the end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Flatness {
    pub(super) name: String,
    /// Ages of the process in seconds.
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    pub(super) first: Resources,
    pub(super) last: Resources,
}

impl Flatness {
    /// Returns by how much memory has grown, as a share of what it was: the heap that is in use, if the process counts
    /// it. Pages also hold what allocators keep for later, which grows with the peaks of a stormy time.
    pub(super) fn growth(&self) -> f64 {
        let (first, last) = match (self.first.heap, self.last.heap) {
            (Some(first), Some(last)) => (first.all_bytes, last.all_bytes),
            _ => (self.first.memory_kib, self.last.memory_kib),
        };
        last as f64 / first.max(1) as f64 - 1.0
    }

    /// Returns what is wrong; `None` if everything is flat. `may_keep` if the middleware's library keeps memory for what
    /// came and went, which it is known for and this project cannot change.
    pub(super) fn wrong(&self, may_keep: bool) -> Option<String> {
        let Self { name, from_s, to_s, first, last } = self;
        // A robot has a thread for each component that is loaded.
        let is_robot = name.starts_with("robot");
        let more_threads = !is_robot && last.threads > first.threads;
        let more = more_threads || last.files > first.files || last.sockets > first.sockets;
        let grows = !may_keep && self.growth() > GROWTH_MAX || more;
        grows.then(|| format!("{name} grew from {first:?} at an age of {from_s:.0} s to {last:?} at {to_s:.0} s"))
    }
}

/// All results of a run.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) middleware: Middleware,
    pub(super) schedule: Schedule,
    /// Length of the run, with its rests.
    pub(super) seconds: f64,
    pub(super) rests: u64,
    pub(super) faults: BTreeMap<&'static str, FaultRow>,
    /// Seconds from healing until each subject was right, a figure for each rest.
    pub(super) healed_s: BTreeMap<Subject, Vec<f64>>,
    pub(super) topics: BTreeMap<&'static str, TopicAccount>,
    pub(super) called: Tally,
    pub(super) relayed: Tally,
    pub(super) asked_goals: Tally,
    pub(super) goals_told: u64,
    pub(super) speed_sets: Tally,
    pub(super) changed: Tally,
    pub(super) components: Tally,
    pub(super) lateness: Lateness,
    pub(super) log_lines: u64,
    /// Of them, errors of the Zenoh library.
    pub(super) library_errors: u64,
    pub(super) packets: PacketCounts,
    pub(super) killed_for_memory: u64,
    pub(super) flatness: Vec<Flatness>,
    /// What was not as it must be, in words.
    pub(super) wrong: Vec<String>,
    pub(super) remarks: Vec<String>,
}

impl Outcome {
    /// Returns the number of faults that came.
    pub(super) fn faults(&self) -> u64 {
        self.faults.values().map(|row| row.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::HeapUse;
    use super::*;

    #[test]
    fn growth_is_wrong_and_shrinking_is_not() {
        let resources = |memory_kib, threads| Resources { memory_kib, heap: None, threads, files: 9, sockets: 4 };
        let flatness =
            |last| Flatness { name: "station".to_owned(), from_s: 600.0, to_s: 900.0, first: resources(1000, 5), last };
        assert_eq!(flatness(resources(1019, 5)).wrong(false), None);
        assert_eq!(flatness(resources(500, 4)).wrong(false), None);
        assert!(flatness(resources(1021, 5)).wrong(false).is_some());
        assert!(flatness(resources(1000, 6)).wrong(false).is_some());
        assert_eq!(flatness(resources(2000, 5)).wrong(true), None);
        assert!(flatness(resources(1000, 6)).wrong(true).is_some());
    }

    #[test]
    fn what_an_allocator_keeps_is_no_growth() {
        let resources = |memory_kib, all_bytes| {
            let heap = Some(HeapUse { all_bytes, rust_bytes: 0 });
            Resources { memory_kib, heap, threads: 5, files: 9, sockets: 4 }
        };
        let flatness = |last| {
            let (name, first) = ("station".to_owned(), resources(1000, 100_000));
            Flatness { name, from_s: 600.0, to_s: 900.0, first, last }
        };
        assert_eq!(flatness(resources(2000, 101_900)).wrong(false), None);
        assert!(flatness(resources(1000, 102_100)).wrong(false).is_some());
    }
}
