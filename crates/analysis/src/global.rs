//! Several threads, and a callback that no group excludes: busy windows of all threads at once.
//!
//! While an activation waits that nothing excludes, every thread is busy. Two bounds follow, and the smaller one holds:
//!
//! - From its release on: what is less urgent had begun before, at most one on each thread; of what is more urgent,
//!   that which was released no more than its own response time before (the interval of Baker, RTSS 2003, for what is
//!   not preempted). With S the time until it starts, in whole nanoseconds, S + 1 of which would all be busy otherwise:
//!   S = lfp floor((m largest less urgent + the others' work in S + 1) / m), and the response is S and its own time.
//! - From the last time on at which a thread was idle or took something less urgent: then nothing more urgent waited,
//!   so of all that was released before, at most one activation on each thread is left, and all else was released in
//!   the window (the extended interval of Baker, as in Guan et al., RTSS 2009, and Bertogna and Cirinei, RTSS 2007).
//!   That needs no response times of others, and holds for first-in first-out and EDF alike: what comes before is what
//!   is released by then, or due by then.
//!
//! Both require that no activation waits for another reason than the threads: there is no mutually exclusive group of
//! several callbacks (those are what "Thread Carefully", EMSOFT 2024, refutes published analyses for), and no callback
//! has more activations at once than may run at once. The latter is known from the response times, so it is part of the
//! induction of [`solve`](crate::solve): the first activation to exceed its bound would have seen others that did not.
//!
//! Theorems and proofs: `book/src/analysis/several-threads.md`.

use crate::interference::{Relation, Work};
use crate::known::Known;
use crate::search::Search;
use crate::system::Policy;
use crate::uniprocessor::{Order, order_of};
use crate::window::{Ahead, Interferer, at_least};

/// Returns the smaller of two bounds, by the interval since the release and by the window since a thread was idle.
/// `None` if neither applies or is found.
pub(crate) fn bound(known: &Known<'_>, callback: usize) -> Option<u64> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    if system.receive > 0
        || plan.is_async()
        || matches!(executor.policy, Policy::WaitSet { .. })
        || !is_free(known, callback)
    {
        return None;
    }
    // Collecting the data for the equation is itself work that the budget must cover.
    known.budget.spend(16 * executor.callbacks.len() as u64);
    from_release(known, callback).into_iter().chain(from_window(known, callback)).min()
}

/// Returns true if activations of a callback wait for threads only.
fn is_free(known: &Known<'_>, callback: usize) -> bool {
    let plan = &known.system.callbacks[callback];
    plan.mates.is_empty() && known.at_once(callback).is_some_and(|count| count <= u64::from(plan.in_flight))
}

/// Returns the bound by fixed priorities, for any groups of the other callbacks: it considers an interval that begins
/// at the release. `None` for other policies, and if something that it depends on has no bound.
fn from_release(known: &Known<'_>, callback: usize) -> Option<u64> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    if executor.policy != Policy::FixedPriority {
        return None;
    }
    let (mut before, mut blocking) = (Vec::new(), Vec::new());
    for &other in executor.callbacks.iter().filter(|other| **other != callback) {
        let mate = &system.callbacks[other];
        let relation = Relation::with_inheritance(system, callback, other, 0);
        if relation.is_before() {
            before.push(Work::of(known, other, mate.cost())?);
        }
        if relation.after {
            blocking.extend(copies(known, other, system.blocking(other), executor.threads));
        }
    }
    blocking.sort_unstable_by(|one, other| other.cmp(one));
    let earlier = known.at_once(callback)?.saturating_sub(1);
    let fixed = blocking.iter().take(executor.threads as usize).sum::<u64>() + earlier * plan.cost();
    let weight = 2 * before.len() as u64 + 1;
    let start = known.fixed_point(plan.executor, 1, weight, |start| {
        let work = before.iter().map(|work| work.within(start, start.saturating_sub(1)));
        work.fold(fixed, u64::saturating_add) / executor.threads + 1
    })?;
    (start - 1).checked_add(plan.cost())
}

/// Yields `time` once for each activation of the callback that may run at once on `threads` threads.
fn copies(known: &Known<'_>, callback: usize, time: u64, threads: u64) -> impl Iterator<Item = u64> {
    let most = threads.min(u64::from(known.system.callbacks[callback].in_flight));
    let count = known.at_once(callback).unwrap_or(most).min(most);
    std::iter::repeat_n(time, count as usize)
}

/// Returns the bound by the window since a thread was idle, or took a less urgent activation.
fn from_window(known: &Known<'_>, callback: usize) -> Option<u64> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let threads = executor.threads;
    let own = known.seen(callback)?;
    let (mut interferers, mut carried) = (Vec::new(), Vec::new());
    for &other in &executor.callbacks {
        let mate = &system.callbacks[other];
        carried.extend(copies(known, other, mate.longest_segment(), threads));
        if other == callback {
            continue;
        }
        let ahead = match order_of(known, callback, other)? {
            Order::After => continue,
            Order::Before(ahead) => ahead,
            Order::Key { lead } => Ahead::ByKey { lead, overtakes: false },
        };
        // An activation that waits for its group, or for itself, may be left over from before the window.
        if !is_free(known, other) || mate.is_async() {
            return None;
        }
        interferers.push(Interferer { arrivals: known.seen(other)?, cost: mate.cost(), ahead });
    }
    carried.sort_unstable_by(|one, other| other.cmp(one));
    let carried: u64 = carried.iter().take(threads as usize).sum();
    let all = || {
        let others = interferers.iter().map(|other| (&other.arrivals, other.cost));
        others.chain(std::iter::once((&own, plan.cost())))
    };
    let weight = all().map(|(arrivals, _)| arrivals.weight()).sum::<u64>() + 1;
    // The search begins at a lower limit: the solution for one processor that is as fast as all threads together.
    let steady = |fixed: u64| shared(fixed, threads, &mut all());
    let length = known.fixed_point(plan.executor, steady(carried), weight, |length| {
        let work = all().map(|(arrivals, cost)| arrivals.number(length).saturating_mul(cost));
        work.fold(carried, u64::saturating_add) / threads + 1
    })?;
    let end = |offset: u64| {
        let first = carried.saturating_add((own.number(offset + 1).max(1) - 1).saturating_mul(plan.cost()));
        let start = known.fixed_point(plan.executor, 1, weight, |start| {
            let work = interferers.iter().map(|other| other.before_start(offset, start));
            work.fold(first, u64::saturating_add) / threads + 1
        })?;
        // The activation cannot start before its release.
        (start - 1).max(offset).checked_add(plan.cost())
    };
    let next = |offset: u64| {
        let own = own.next_step(offset + 1).map(|step| step - 1);
        interferers.iter().filter_map(|other| other.next_offset(offset)).chain(own).min()
    };
    let enough = known.enough(callback);
    Search { enough, ..Search::of_window(known.budget, length) }.longest(end, next)
}

/// Returns a time that is no later than the first one by which `threads` threads can have done all the work: `fixed`,
/// which is there at the beginning, and `work`, as arrivals with the cost of each. It comes from a line that the work
/// is never below.
fn shared(fixed: u64, threads: u64, work: &mut dyn Iterator<Item = (&crate::arrivals::Arrivals, u64)>) -> u64 {
    // Each thread does an equal share of the work. Costs are rounded down, so that the line stays below the work.
    at_least(fixed / threads, work.map(|(arrivals, cost)| (arrivals, cost / threads)))
}
