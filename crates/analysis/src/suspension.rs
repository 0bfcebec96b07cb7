//! Asynchronous callbacks on one thread: segments that do not preempt each other, with waits between them.
//!
//! Suspension breaks the argument of the busy window, so these bounds do without it. At each time from the release of
//! an activation to its end, the activation runs, awaits something, or is ready while another one runs or holds its
//! group. Any other activation that runs in that interval was released at most its own response time before the
//! interval (suspension as jitter, which Chen et al., "Many suspensions, many problems", Real-Time Systems 2019, show
//! to be sound).
//!
//! A callback that holds its group is as urgent as the most urgent one that waits for it (priority inheritance: Sha,
//! Rajkumar and Lehoczky 1990). So a callback that waits for its group does not wait for less urgent callbacks of other
//! groups, except for those that start while the holder is suspended. And a callback of another group may have to wait
//! for a less urgent holder: see [`inherited`].
//!
//! Theorems and proofs: `book/src/analysis/exclusion.md`.

use std::collections::BTreeMap;

use crate::interference::{Relation, Work};
use crate::known::{Found, Known};
use crate::system::{Policy, System};

const METHOD: &str = "limited-preemptive segments with suspension as jitter (Chen et al. 2019)";

/// Returns the bound of the response time of a callback of an executor with one thread, where this callback or another
/// one awaits something. It is `None` if nothing bounds what it depends on.
pub(crate) fn bound(known: &Known<'_>, callback: usize) -> Found {
    Found { bound: response(known, callback), method: METHOD, stop: known.budget.stop() }
}

/// Returns the other callbacks of the executor, with their order relative to this one; `None` if the delay of the
/// callback's messages has no bound yet.
fn others<'a>(known: &'a Known<'_>, callback: usize) -> Option<impl Iterator<Item = (usize, Relation)> + 'a> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let delay = known.delay(callback)?;
    // While a suspended callback of this one's group holds the group, this one is not eligible. Under Fifo, and under
    // EDF without a deadline, callbacks released later can then overtake it, so all others may come before it.
    let waits = plan.mates.iter().any(|mate| system.callbacks[*mate].holds_group());
    let by_release = executor.policy == Policy::Fifo || (executor.policy == Policy::Edf && plan.deadline.is_none());
    let all = executor.callbacks.iter().copied().filter(move |other| *other != callback);
    Some(all.map(move |other| match Relation::of(executor, plan, &system.callbacks[other], delay) {
        _ if waits && by_release => (other, Relation::ALL),
        relation => (other, relation),
    }))
}

/// Returns how long less urgent callbacks run before this one by inheritance from more urgent ones: from the time at
/// which it could run to the time at which it does.
///
/// While it could run, no less urgent callback starts. So those that inherit held their groups before: one in each
/// group that has a more urgent member, and only its resumed segments inherit (Sha, Rajkumar, Lehoczky, "Priority
/// inheritance protocols", IEEE Transactions on Computers 1990: one critical section for each semaphore).
pub(crate) fn inherited(known: &Known<'_>, callback: usize) -> Option<u64> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let relations: BTreeMap<usize, Relation> = others(known, callback)?.collect();
    // Keys are groups, by the number of their first callback.
    let mut longest = BTreeMap::new();
    for (&other, &relation) in relations.iter().filter(|(other, _)| !plan.mates.contains(other)) {
        let holder = &system.callbacks[other];
        let inherits = || holder.mates.iter().any(|mate| relations[mate].is_before());
        if holder.holds_group() && is_passed_by(system, callback, relation) && inherits() {
            let group = holder.mates.iter().copied().fold(other, usize::min);
            let time = longest.entry(group).or_insert(0);
            *time = holder.segments[1..].iter().sum::<u64>().max(*time);
        }
    }
    Some(longest.values().sum())
}

/// Returns true if a callback of that relation can start, although it comes after this one, while this one waits.
fn is_passed_by(system: &System, callback: usize, relation: Relation) -> bool {
    relation.after || (system.is_late(callback) && relation.before.is_some())
}

/// Times for which a callback waits while callbacks that come after it hold its group or the thread.
struct Delays {
    /// Longest segment that can run when the callback is released.
    first: u64,
    /// Longest segment that can run when one of the callback's own segments is resumed.
    later: u64,
    /// Longest segment that can run when a callback of the same group, which holds the group, is resumed.
    mate: u64,
    /// Time that callbacks with inherited priority can take, each time that a segment becomes ready.
    inherited: u64,
}

/// Returns the [`Delays`] of a callback, each at its longest; `None` if the delay of its messages has no bound yet.
fn delays(known: &Known<'_>, callback: usize) -> Option<Delays> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let inherited = inherited(known, callback)?;
    let mut delays = Delays { first: 0, later: 0, mate: 0, inherited };
    for (other, relation) in others(known, callback)? {
        let segment = system.callbacks[other].longest_segment();
        let is_mate = plan.mates.contains(&other);
        if relation.after {
            delays.first = delays.first.max(segment);
        }
        if is_passed_by(system, callback, relation) {
            // While the group is held, no other callback of the group runs.
            if !is_mate || !plan.holds_group() {
                delays.later = delays.later.max(segment);
            }
            if !is_mate {
                delays.mate = delays.mate.max(segment);
            }
        }
    }
    Some(delays)
}

impl Delays {
    /// Returns the longest time for which a callback of the same group holds the group while this one waits for it;
    /// `None` if its awaits have no bound yet. It leaves out the callbacks that come before this one. The holder is at
    /// least as urgent as this callback meanwhile, so others start only while the holder is suspended.
    fn hold(&self, known: &Known<'_>, mate: usize) -> Option<u64> {
        let plan = &known.system.callbacks[mate];
        let resumed = plan.segments.len() as u64 - 1;
        Some(plan.cost() + known.waits[mate]? + resumed * (self.mate + self.inherited))
    }
}

/// Returns the longest time from a release of the callback to its end; `None` if it depends on something without a
/// bound.
fn response(known: &Known<'_>, callback: usize) -> Option<u64> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    // Number of earlier activations of this callback that may not have ended at a release of it.
    let earlier = known.arrivals[callback].as_ref()?.number(known.responses[callback]?).saturating_sub(1);
    // For each callback its work, and the time that callbacks with inherited priority can take after it.
    let mut works = Vec::new();
    let mut before = earlier;
    if earlier > 0 && plan.in_flight > 1 {
        if earlier >= u64::from(plan.in_flight) {
            // The activation waits for its own limit of activations in flight. The argument does not cover this case.
            return None;
        }
        // Activations of the callback run interleaved, whichever of them is ready.
        works.push((Work::of(known, callback, plan.cost())?, 0));
        before = 0;
    }
    let delays = delays(known, callback)?;
    let mut holding = 0;
    for (other, relation) in others(known, callback)? {
        let mate = &system.callbacks[other];
        let holds = plan.mates.contains(&other) && mate.holds_group();
        if relation.is_before() {
            let (cost, then) = if holds { (delays.hold(known, other)?, delays.inherited) } else { (mate.cost(), 0) };
            works.push((Work::of(known, other, cost)?.limited(relation), then));
        }
        // A callback that comes after this one can hold the group already.
        if relation.after && holds {
            holding = holding.max(delays.hold(known, other)?);
        }
    }
    let resumed = plan.segments.len() as u64 - 1;
    // If the callback keeps its group while it waits, it needs the group once. If it releases the group, another
    // callback can hold the group each time that a segment becomes ready.
    let later = if plan.releases_group { delays.later.max(holding) } else { delays.later };
    let each = plan.cost()
        + known.waits[callback]?
        + delays.first.max(holding)
        + resumed * later
        + (resumed + 1) * delays.inherited;
    let fixed = (1 + before) * each + known.delay(callback)?;
    for other in system.elsewhere(callback) {
        works.push((Work::of(known, other, system.callbacks[other].cost())?, 0));
    }
    for arrivals in known.receive_load(executor.core)? {
        works.push((Work::received(arrivals, known.receiving[executor.core]?, system.receive), 0));
    }
    known.fixed_point(plan.executor, known.responses[callback]?, works.len() as u64 + 1, |length| {
        let total = |(work, then): &(Work, u64)| work.total(length) + work.count(length) * then;
        fixed + works.iter().map(total).sum::<u64>()
    })
}
