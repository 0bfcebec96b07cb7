//! Executors with one thread each that share several cores: preemptive fixed OS priorities on all of them.
//!
//! From the release of an activation to its end, its thread has a core, or waits for one. While it has one, it runs
//! what comes before the activation in its executor, what had begun before, or the activation. While it waits, every
//! one of the m cores runs another thread that is no less urgent. A thread runs on one core at a time, so of each other
//! executor no more counts than the time waited: m times that time is at most the sum over those executors of the
//! smaller of their work and that time (Bertogna and Cirinei, RTSS 2007, for threads in place of tasks). In whole
//! nanoseconds: had it waited for one more than a solution says, m times as much would have run in it. The cores must
//! be the same ones for all of them, since a thread that may not use one that is idle waits in vain.
//!
//! Theorems and proofs: `book/src/analysis/several-threads.md`.

use crate::interference::{Relation, Work};
use crate::known::{Found, Known};

const METHOD: &str =
    "executors that share cores: interference of no less urgent threads (after Bertogna and Cirinei 2007)";

/// Returns the bound of a callback of an executor that moves between cores. It has none where receiving costs time, or
/// where a callback on these cores is asynchronous.
pub(crate) fn bound(known: &Known<'_>, callback: usize) -> Found {
    Found { bound: response(known, callback), method: METHOD, stop: known.budget.stop() }
}

fn response(known: &Known<'_>, callback: usize) -> Option<u64> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let core = &system.cores[executor.core];
    let is_async = |callback: &usize| system.callbacks[*callback].is_async();
    if system.receive > 0 || core.executors.iter().any(|host| system.executors[*host].callbacks.iter().any(is_async)) {
        return None;
    }
    let (mut before, mut blocking) = (Vec::new(), 0);
    for &other in executor.callbacks.iter().filter(|other| **other != callback) {
        let mate = &system.callbacks[other];
        let relation = Relation::of(executor, plan, mate, 0);
        if relation.is_before() {
            before.push(Work::of(known, other, mate.cost())?.limited(relation));
        }
        if relation.after {
            blocking = blocking.max(mate.longest_segment());
        }
    }
    let mut hosts = Vec::new();
    for other in system.neighbours(plan.executor).filter(|other| other.os_priority >= executor.os_priority) {
        let works = other.callbacks.iter().map(|other| Work::of(known, *other, system.callbacks[*other].cost()));
        hosts.push(works.collect::<Option<Vec<_>>>()?);
    }
    let earlier = known.arrivals[callback].as_ref()?.number(known.responses[callback]?).saturating_sub(1);
    let fixed = (1 + earlier) * plan.cost() + blocking;
    let weight = (before.len() + hosts.iter().map(Vec::len).sum::<usize>() + 1) as u64;
    known.fixed_point(plan.executor, known.responses[callback]?, weight, |length| {
        let waiting = length.saturating_sub(plan.cost());
        let own: u64 = before.iter().map(|work| work.total(length)).sum();
        let host = |works: &Vec<Work>| works.iter().map(|work| work.total(length)).sum::<u64>().min(waiting + 1);
        fixed + own + hosts.iter().map(host).sum::<u64>() / core.numbers.len() as u64
    })
}
