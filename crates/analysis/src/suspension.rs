//! Asynchronous callbacks on one thread: segments that do not preempt each other, with waits between them.
//!
//! Suspension breaks the busy window, so these bounds do without one: from the release of an activation to its end, time
//! is its own execution, its own waits, or it is ready and something else runs or holds its group. What else can run in
//! that time was released at most its own response time before it (the jitter treatment of self-suspension that Chen et
//! al., "Many suspensions, many problems", Real-Time Systems 2019, show to be sound).

use crate::interference::{Relation, Work};
use crate::solve::{Found, Known};
use crate::system::{Policy, System};
use crate::uniprocessor::{fixed_point, receive_load, supply};

const METHOD: &str = "limited-preemptive segments with suspension as jitter (Chen et al. 2019)";

/// Whether another callback of its group keeps the group while it waits, or it does so itself.
pub(crate) fn is_late(system: &System, callback: usize) -> bool {
    let plan = &system.callbacks[callback];
    plan.is_async() || plan.mates.iter().any(|mate| system.callbacks[*mate].holds_group())
}

/// Whether this analysis is the one for the callback.
pub(crate) fn concerns(system: &System, callback: usize) -> bool {
    let executor = &system.executors[system.callbacks[callback].executor];
    let by_priority = executor.policy == Policy::FixedPriority;
    is_late(system, callback)
        || (!by_priority && executor.callbacks.iter().any(|other| system.callbacks[*other].is_async()))
}

pub(crate) fn bound(known: &Known<'_>, callback: usize) -> Found {
    Found { bound: response(known, callback), method: METHOD }
}

/// Other callbacks of the executor, with how they are ordered.
fn others<'a>(known: &'a Known<'_>, callback: usize) -> Option<impl Iterator<Item = (usize, Relation)> + 'a> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let delay = known.delay(callback)?;
    let all = executor.callbacks.iter().copied().filter(move |other| *other != callback);
    Some(all.map(move |other| (other, Relation::of(executor, plan, &system.callbacks[other], delay))))
}

/// Execution, waits, and what keeps each of its segments from starting although it comes after.
fn alone(known: &Known<'_>, callback: usize) -> Option<u64> {
    let plan = &known.system.callbacks[callback];
    let after: Vec<usize> =
        others(known, callback)?.filter(|(_, relation)| relation.after).map(|(other, _)| other).collect();
    let longest = |counts: &dyn Fn(&&usize) -> bool| {
        let segments = after.iter().filter(counts).map(|other| known.system.callbacks[*other].longest_segment());
        segments.max().unwrap_or(0)
    };
    let first = longest(&|_| true);
    // While it holds its group, nothing of that runs.
    let later = longest(&|other| !plan.holds_group() || !plan.mates.contains(other));
    Some(plan.cost() + plan.waits + first + (plan.segments.len() as u64 - 1) * later)
}

/// From the start to the end of an activation that holds its group: nothing of its group runs meanwhile.
pub(crate) fn hold(known: &Known<'_>, callback: usize) -> Option<u64> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let mut fixed = alone(known, callback)?;
    let mut works = Vec::new();
    if executor.threads > 1 {
        // On threads of their own, with the others beside: as long as all of it takes.
        fixed = known.responses[callback]?;
    } else {
        for (other, relation) in others(known, callback)? {
            if relation.is_before() && !plan.mates.contains(&other) {
                // Segments go by the release of the activation, which was up to a response time before the start.
                works.push(Work::of(known, other, system.callbacks[other].cost())?);
            }
        }
        for other in system.elsewhere(callback) {
            works.push(Work::of(known, other, system.callbacks[other].cost())?);
        }
        for callback in receive_load(known, executor.core)? {
            works.push(Work::received(callback, known.receiving[executor.core]?, system.receive));
        }
    }
    fixed_point(&supply(executor), system.limit, 1, |length| {
        fixed + works.iter().map(|work| work.total(length)).sum::<u64>()
    })
}

fn response(known: &Known<'_>, callback: usize) -> Option<u64> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    // Activations of its own that are not over when it is released, itself not counted.
    let earlier = known.arrivals[callback].as_ref()?.number(known.responses[callback]?).saturating_sub(1);
    let mut works = Vec::new();
    let mut before = earlier;
    if earlier > 0 && plan.in_flight > 1 {
        if earlier >= u64::from(plan.in_flight) {
            // Held back by its own limit: not part of the argument.
            return None;
        }
        // Side by side, whichever of them is ready.
        works.push(Work::of(known, callback, plan.cost())?);
        before = 0;
    }
    let mut holding = 0;
    let holds = |other: usize| plan.mates.contains(&other) && system.callbacks[other].holds_group();
    // By release, what comes after this one can still delay one of its group that waits, and so this one.
    let unordered = executor.policy == Policy::Fifo && plan.mates.iter().any(|mate| holds(*mate));
    for (other, relation) in others(known, callback)? {
        let relation = if unordered { Relation::ALL } else { relation };
        if relation.is_before() {
            let cost = if holds(other) { alone(known, other)? } else { system.callbacks[other].cost() };
            works.push(Work::of(known, other, cost)?.limited(relation));
        }
        // One that comes after can hold the group already.
        if relation.after && holds(other) {
            holding = holding.max(hold(known, other)?);
        }
    }
    // A group that is free while it waits is asked for before each segment.
    let acquisitions = if plan.releases_group { plan.segments.len() as u64 } else { 1 };
    let each = alone(known, callback)? + acquisitions * holding;
    let fixed = (1 + before) * each + known.delay(callback)?;
    for other in system.elsewhere(callback) {
        works.push(Work::of(known, other, system.callbacks[other].cost())?);
    }
    for arrivals in receive_load(known, executor.core)? {
        works.push(Work::received(arrivals, known.receiving[executor.core]?, system.receive));
    }
    fixed_point(&supply(executor), system.limit, known.responses[callback]?, |length| {
        fixed + works.iter().map(|work| work.total(length)).sum::<u64>()
    })
}
