//! Several threads in such number that no group ever waits for a thread.
//!
//! A mutually exclusive group keeps at most one thread busy. A reentrant callback keeps as many threads busy as it may
//! have activations under way. If those numbers add up to no more than there are threads, a thread is idle whenever a
//! group is free and has a ready callback. Each mutually exclusive group is then served as if one thread served it
//! alone, and the analyses of one processor hold for it. The response time of a reentrant callback is its execution
//! time.
//!
//! A wait set with one thread more than that serves each group by priority: the kind, then the registration. For while
//! a callback of the group runs, a thread is idle, and finds nothing in the ready set that may run: the last thing that
//! it did was a poll, which left the group out. So when the callback ends, nothing of the group is in the ready set,
//! and the thread polls all that is ready.
//!
//! Theorems and proofs: `book/src/analysis/several-threads.md`.

use crate::known::Known;
use crate::system::Policy;
use crate::uniprocessor::group_window;

/// Returns the bound of a callback of an executor with so many threads that no group ever waits for one. `None` if the
/// executor has too few threads, if receiving takes time or the callback's group awaits something, or if no bound is
/// found.
pub(crate) fn bound(known: &Known<'_>, callback: usize) -> Option<u64> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let is_polled = matches!(executor.policy, Policy::WaitSet { .. });
    let needed = busy_at_most(known, plan.executor).saturating_add(u64::from(is_polled));
    if system.receive > 0 || plan.is_async() || needed > executor.threads {
        return None;
    }
    if plan.mates.iter().any(|mate| system.callbacks[*mate].is_async()) {
        return None;
    }
    let alone = plan.mates.is_empty();
    if alone && known.at_once(callback)? <= u64::from(plan.in_flight) {
        return Some(plan.cost());
    }
    if alone && plan.in_flight > 1 {
        return None;
    }
    group_window(known, callback)?.bound()
}

/// Returns the largest number of threads that an executor's callbacks keep busy at once: one for each mutually
/// exclusive group, and for a reentrant callback as many as it may have activations under way.
pub(crate) fn busy_at_most(known: &Known<'_>, executor: usize) -> u64 {
    let system = known.system;
    let mut count = 0_u64;
    for &callback in &system.executors[executor].callbacks {
        let plan = &system.callbacks[callback];
        // The group's first callback stands for the whole group.
        if plan.mates.first().is_some_and(|mate| *mate < callback) {
            continue;
        }
        let may = u64::from(plan.in_flight);
        let most = if plan.mates.is_empty() { known.at_once(callback).unwrap_or(may).min(may) } else { 1 };
        count = count.saturating_add(most);
    }
    count
}
