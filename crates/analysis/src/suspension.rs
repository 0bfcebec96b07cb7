//! Asynchronous callbacks on one thread: segments that do not preempt each other, with waits between them.
//!
//! Suspension breaks the busy window, so these bounds do without one: from the release of an activation to its end, time
//! is its own execution, its own waits, or it is ready and something else runs or holds its group. What else can run in
//! that time was released at most its own response time before it (the jitter treatment of self-suspension that Chen et
//! al., "Many suspensions, many problems", Real-Time Systems 2019, show to be sound).

use crate::solve::{Found, Known};
use crate::system::{Callback, Executor, Policy, System};

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

/// Whether `other`, of the same executor, can run before something of `callback` that is ready.
pub(crate) fn may_overtake(executor: &Executor, callback: &Callback, other: &Callback) -> bool {
    executor.policy != Policy::FixedPriority || other.priority >= callback.priority
}

pub(crate) fn bound(known: &Known<'_>, callback: usize) -> Found {
    Found { bound: response(known, callback), method: METHOD }
}

fn response(known: &Known<'_>, callback: usize) -> Option<u64> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let mut fixed = plan.cost() + plan.waits + known.delay(callback)?;
    // What may run before, and for how long each.
    let mut others = Vec::new();
    let mut blocking = 0;
    let mut holding = 0;
    for &other in executor.callbacks.iter().filter(|other| **other != callback) {
        let mate = &system.callbacks[other];
        let holds = plan.mates.contains(&other) && mate.holds_group();
        if may_overtake(executor, plan, mate) {
            let cost = if holds { known.responses[other]? } else { mate.cost() };
            others.push((known.spread(other)?, cost));
        } else if holds {
            holding = holding.max(known.responses[other]?);
        } else {
            blocking = blocking.max(mate.longest_segment());
        }
    }
    let segments = plan.segments.len() as u64;
    // A group that is free while it waits is asked for before each segment.
    let acquisitions = if plan.releases_group { segments } else { 1 };
    fixed += segments * blocking + acquisitions * holding;
    for other in system.elsewhere(callback) {
        others.push((known.spread(other)?, system.callbacks[other].cost()));
    }
    others.extend(crate::uniprocessor::receive_load(known, executor.core)?.map(|arrivals| (arrivals, system.receive)));
    let supply = crate::uniprocessor::supply(executor);
    let found = crate::uniprocessor::fixed_point(&supply, system.limit, |length| {
        fixed + others.iter().map(|(arrivals, cost)| arrivals.number(length) * cost).sum::<u64>()
    })?;
    // Two activations of one callback under way at once are not part of the argument.
    (known.arrivals[callback].as_ref()?.number(found) <= 1).then_some(found)
}
