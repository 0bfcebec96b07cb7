//! Executors with several threads, each on a core of its own: global scheduling without preemption.
//!
//! The argument is the one for work-conserving global schedulers (Baker, RTSS 2003; for jobs that are not preempted,
//! Guan et al., RTCSA 2008), over response-time intervals. While an activation waits, either an activation that
//! excludes it runs (one of its group, or an earlier one of the same callback), or all threads are busy with others.
//! The work of the former is counted in full, that of the latter is divided by the number of threads. A mutually
//! exclusive group whose work has no bound counts as one thread less. Where no group
//! excludes, or there is a thread for each, [`global`] and [`apart`] find smaller bounds.
//!
//! Work that is left of a callback from before counts by its response time, or by what its queue holds, whichever is
//! less.
//!
//! The emulated wait set is one of these schedulers, with every order possible. An idle thread that finds nothing in
//! the ready set polls, and then sees all activations whose groups are free. So no thread is idle while an activation
//! waits whose group is free: a thread that throws a ready set away throws away only what it could not run. All other
//! activations count as if they came before. Where they leave no time there is no solution, and the callback may indeed
//! starve: that is the case of `the_wait_set_starves_where_it_has_no_bound` in `tests/threads.rs`.
//!
//! Theorems and proofs: `book/src/analysis/several-threads.md`.

use std::collections::BTreeSet;

use crate::division::Division;
use crate::interference::{Relation, Work};
use crate::known::{Found, Known};
use crate::{apart, global, polled};

const APART: &str = "a thread for each group: busy window of the group";
const GLOBAL: &str = "global non-preemptive scheduling, by busy windows of all threads (after Guan et al. 2009)";
const BY_RESPONSES: &str = "work-conserving threads, by interference over the response time";

/// Returns the least of the bounds that are known for a callback of an executor with several threads.
pub(crate) fn bound(known: &Known<'_>, callback: usize) -> Found {
    let found = [
        (response(known, callback), BY_RESPONSES),
        (global::bound(known, callback), GLOBAL),
        (apart::bound(known, callback), APART),
        (polled::bound(known, callback), polled::METHOD),
    ];
    let least = found.into_iter().filter(|(bound, _)| bound.is_some()).min();
    let (bound, method) = least.unwrap_or((None, BY_RESPONSES));
    Found { bound, method, stop: known.budget.stop() }
}

/// Time that the other callbacks of an executor can take from one of them.
#[derive(Default)]
struct Load {
    /// Work of callbacks that exclude this one and come before it.
    serial: Vec<Work>,
    /// Work of callbacks that do not exclude this one and come before it. The threads share it.
    parallel: Vec<Work>,
    /// Mutually exclusive groups of other callbacks that come before this one, whose work has no bound. Each of them
    /// has one thread at most.
    unbounded: BTreeSet<usize>,
    /// Work of callbacks that come after this one, but may take the threads while its group is held; `None` for work
    /// without a bound.
    later: Vec<Option<Work>>,
    /// Longest time for which a less urgent callback of its group holds the group.
    holding: u64,
    /// Longest segment of a less urgent callback.
    blocking: u64,
}

/// Returns the load of a callback, of which up to `earlier` activations may not have ended when the next one is
/// released. `None` if some work that comes before it has no bound.
fn load(known: &Known<'_>, callback: usize, earlier: u64) -> Option<Load> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let delay = known.delay(callback)?;
    // While its group or an earlier activation keeps it from starting, callbacks that come after it may start.
    let passed_over = !plan.mates.is_empty() || earlier > 0;
    let mut load = Load::default();
    for &other in executor.callbacks.iter().filter(|other| **other != callback) {
        let mate = &system.callbacks[other];
        let relation = Relation::with_inheritance(system, callback, other, delay);
        let excludes = plan.mates.contains(&other);
        let hold = if mate.holds_group() { known.responses[other] } else { Some(mate.cost()) };
        match (excludes, relation.is_before()) {
            (true, true) => load.serial.push(Work::of(known, other, hold?)?.limited(relation)),
            (false, true) => match Work::of(known, other, mate.cost()) {
                Some(work) => load.parallel.push(work.limited(relation)),
                None if mate.in_flight == 1 => {
                    load.unbounded.insert(Division::Groups.unit_of(system, other));
                }
                None => return None,
            },
            (_, false) => {}
        }
        if excludes && relation.after {
            load.holding = load.holding.max(hold?);
        } else if !excludes && relation != Relation::ALL && (relation.after || passed_over) {
            load.blocking = load.blocking.max(mate.longest_segment());
            load.later.push(Work::of(known, other, mate.cost()));
        }
    }
    Some(load)
}

/// Returns the bound by the interval from release to end, for any groups; `None` if something that it depends on has
/// none, or if an asynchronous callback may be released again before it ends.
fn response(known: &Known<'_>, callback: usize) -> Option<u64> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    // Number of earlier activations of this callback that may not have ended at a release of it.
    let earlier = known.at_once(callback)?.saturating_sub(1);
    if plan.is_async() && earlier > 0 {
        return None;
    }
    let load = load(known, callback, earlier)?;
    let threads = executor.threads.checked_sub(load.unbounded.len() as u64).filter(|threads| *threads > 0)?;
    let segments = plan.segments.len() as u64;
    let acquisitions = if plan.releases_group { segments } else { 1 };
    let receiving: Vec<_> = known.receive_load(executor.core)?.collect();
    let own = plan.cost() + known.waits[callback]? + known.delay(callback)?;
    let serial = earlier * plan.cost() + acquisitions * load.holding;
    // Counted twice, because work that is carried in needs a second division.
    let weight = 2 * (2 * load.serial.len() + load.parallel.len() + load.later.len() + receiving.len() + 1) as u64;
    known.fixed_point(plan.executor, known.responses[callback].unwrap_or(own), weight, |length| {
        let waiting = length.saturating_sub(own);
        let receive: u64 = receiving.iter().map(|arrivals| arrivals.number(length) * system.receive).sum();
        let mates: u64 = load.serial.iter().map(|work| work.total(length)).sum();
        let parallel: u64 = load.parallel.iter().map(|work| work.within(length, waiting)).sum();
        // Less urgent callbacks start before this one is ready, or while its group is held: each time at most as many
        // as there are threads.
        let holds: u64 = load.serial.iter().map(|work| work.count(length)).sum();
        let holds = if plan.mates.is_empty() { 0 } else { holds + acquisitions };
        let blocked = (segments + earlier + holds) * load.blocking * executor.threads;
        let all: Option<u64> =
            load.later.iter().map(|work| work.as_ref().map(|work| work.within(length, waiting))).sum();
        let later = all.filter(|_| !plan.mates.is_empty()).map_or(blocked, |all| all.min(blocked));
        own + serial + mates + receive + (parallel + later) / threads
    })
}
