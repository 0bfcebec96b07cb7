//! Several threads, first in, first out or EDF, and groups that exclude: bounds by the age of what waits.
//!
//! First in, first out and EDF run activations in the order of a key, which is a time: the release, or the deadline.
//! Whatever is released long after an activation has a later key and runs after it. So no group starves, however much
//! the others have to do, as long as no group asks for more than a thread and all of them together for no more than all
//! threads.
//!
//! A key is the release and a callback's deadline D; first in, first out all D are 0. Let d be the least and V the most
//! that is left of all groups together, just after a release. For a group, let d' and D' be the least and the largest
//! D, and b the largest W(x + 1) - x of its work.
//!
//! **Who is passed over is young.** Suppose that a group is passed over although it is free and has something ready,
//! and let k be the least key of that. All with a key up to k have been released by u = k - d. From u on, consider
//! those that are not done. While one of them is passed over, all threads run activations that were released by u, and
//! V / m ends that. Once none is passed over, none will be: each of their groups runs something, and when that ends,
//! the group's next one goes on the thread that became idle, or on another one, because what else could go first has
//! its group running. So the group is passed over until k - d + V / m at the latest.
//!
//! **What is left of a group.** Go back to the last time at which it was passed over. What was there then had keys from
//! k on, so it was released from k - D' on. Since then the group ran without a pause. So there is no more left than b +
//! V / m + D' - d.
//!
//! **What is left of all groups.** At the last time at which a thread was idle, no more than m - 1 groups had something
//! left. Since then all threads were busy. So V is no more than the m - 1 largest of what is left of one group, and the
//! largest W(x + 1) - m x of all work. That has a solution, because m - 1 times V / m is less than V.
//!
//! **Response.** From the last time at which its group was passed over, or had nothing to do, until an activation of a
//! callback with the deadline D ends, its group runs only what was released from k - D' on, and by the activation's key
//! minus d'. So it ends no later than V / m + b + D - d + D' - d' after its release. An activation of a reentrant
//! callback is a group of its own.
//!
//! Under EDF this holds for callbacks with a deadline. Of those without, one segment on each thread may have begun
//! before, and one in each group.
//!
//! Theorems and proofs: `book/src/analysis/several-threads.md`.

use std::cmp::Reverse;

use crate::arrivals::Arrivals;
use crate::division::Division;
use crate::known::{GATHERING, Known};
use crate::search::Search;
use crate::system::Policy;

/// Group, or reentrant callback.
struct Group {
    first: usize,
    /// Arrivals and execution times.
    work: Vec<(Arrivals, u64)>,
    /// Largest work that is released in x + 1, less x, with the longest segment of the group that comes after all.
    burst: u64,
    /// Least and largest deadline.
    deadlines: (u64, u64),
    /// True for a reentrant callback.
    is_free: bool,
}

/// Bounds of the groups of an executor.
pub(crate) struct Ages {
    threads: u64,
    groups: Vec<Group>,
    /// The most that is left of all groups.
    left: u64,
}

/// Returns the least length that is no shorter than the work in it and `once`, divided by the threads; and the largest
/// difference of that work and the time for it. `None` if there is too much work.
fn burst(known: &Known<'_>, executor: usize, threads: u64, work: &[&(Arrivals, u64)]) -> Option<u64> {
    let weight = work.iter().map(|(arrivals, _)| arrivals.weight()).sum::<u64>().max(1);
    let needs = |length: u64| {
        known.budget.spend(weight);
        let each = work.iter().map(|(arrivals, cost)| arrivals.number(length).saturating_mul(*cost));
        each.fold(0, u64::saturating_add).div_ceil(threads)
    };
    let length = known.fixed_point(executor, 1, 0, needs)?;
    let next =
        |offset: u64| work.iter().filter_map(|(arrivals, _)| arrivals.next_step(offset + 1)).min().map(|step| step - 1);
    let search = Search::of_window(known.budget, length);
    search.longest(|offset| Some(needs(offset + 1)), next)?.checked_mul(threads)
}

impl Ages {
    /// Returns the bounds of an executor's groups; `None` if the theorem does not hold for it, or if some arrivals have
    /// no bound.
    pub(crate) fn of(known: &Known<'_>, executor: usize) -> Option<Self> {
        let system = known.system;
        let host = &system.executors[executor];
        let plans = || host.callbacks.iter().map(|callback| &system.callbacks[*callback]);
        let may_wait = |plan: &crate::system::Callback| {
            plan.is_async() || plan.in_flight > 1 && u64::from(plan.in_flight) < host.threads
        };
        let by_key = matches!(host.policy, Policy::Fifo | Policy::Edf);
        if !by_key || host.threads < 2 || system.receive > 0 || plans().any(may_wait) {
            return None;
        }
        known.budget.spend(GATHERING * host.callbacks.len() as u64);
        let deadline = |callback: usize| match host.policy {
            Policy::Edf => system.callbacks[callback].deadline,
            _ => Some(0),
        };
        let unit = |callback: usize| Division::Groups.unit_of(system, callback);
        let (mut groups, mut last) = (Vec::new(), Vec::new());
        for first in Division::Groups.units(system, executor) {
            let members: Vec<usize> = host.callbacks.iter().copied().filter(|member| unit(*member) == first).collect();
            let is_free = system.callbacks[first].in_flight > 1;
            let after = members.iter().filter(|member| deadline(**member).is_none());
            let blocking = after.map(|member| system.blocking(*member)).max();
            let copies = if is_free { host.threads } else { 1 };
            last.extend(std::iter::repeat_n(blocking.unwrap_or(0), copies as usize));
            let ordered: Vec<usize> = members.into_iter().filter(|member| deadline(*member).is_some()).collect();
            let deadlines = || ordered.iter().filter_map(|member| deadline(*member));
            let Some(deadlines) = deadlines().min().zip(deadlines().max()) else { continue };
            let work = ordered.iter().map(|member| Some((known.seen(*member)?, system.callbacks[*member].cost())));
            let work = work.collect::<Option<Vec<_>>>()?;
            let burst = if is_free { work[0].1 } else { burst(known, executor, 1, &work.iter().collect::<Vec<_>>())? };
            let burst = burst.checked_add(blocking.filter(|_| !is_free).unwrap_or(0))?;
            groups.push(Group { first, work, burst, deadlines, is_free });
        }
        let mut found = Self { threads: host.threads, groups, left: 0 };
        last.sort_unstable_by_key(|segment| Reverse(*segment));
        let begun = last.iter().take(host.threads as usize).sum::<u64>();
        let all: Vec<_> = found.groups.iter().flat_map(|group| &group.work).collect();
        let all = burst(known, executor, host.threads, &all)?;
        found.left = found.most_left(all.checked_add(begun)?)?;
        Some(found)
    }

    fn least_deadline(&self) -> u64 {
        self.groups.iter().map(|group| group.deadlines.0).min().unwrap_or(0)
    }

    /// Returns the most that is left of all groups: the least solution V of V = `burst` and the largest that is left of
    /// m - 1 groups. Each of those groups has its burst, the range of its deadlines, and V / m left; each reentrant
    /// callback has one activation a thread.
    fn most_left(&self, burst: u64) -> Option<u64> {
        let (mut groups, mut free) = (Vec::new(), Vec::new());
        for group in &self.groups {
            if group.is_free {
                free.extend(std::iter::repeat_n(group.burst, self.threads as usize - 1));
            } else {
                groups.push(group.burst.checked_add(group.deadlines.1 - self.least_deadline())?);
            }
        }
        groups.sort_unstable_by_key(|part| Reverse(*part));
        free.sort_unstable_by_key(|part| Reverse(*part));
        let most = self.threads as usize - 1;
        let mut left = 0;
        // With a number of groups among the m - 1, V is a line in V / m, and has one solution. The largest one solves
        // them all.
        for number in 0..=most.min(groups.len()) {
            let parts = groups.iter().take(number).chain(free.iter().take(most - number));
            let fixed = parts.fold(burst, |sum: u64, part| sum.saturating_add(*part));
            let whole = u128::from(fixed) * u128::from(self.threads);
            let solution = whole.div_ceil(u128::from(self.threads - number as u64));
            left = left.max(u64::try_from(solution).ok()?);
        }
        Some(left)
    }

    /// Returns the bound of a callback with this deadline, 0 first in, first out; `None` for a callback that has none.
    pub(crate) fn bound(&self, known: &Known<'_>, callback: usize) -> Option<u64> {
        let system = known.system;
        let plan = &system.callbacks[callback];
        let by_deadline = system.executors[plan.executor].policy == Policy::Edf;
        let deadline = if by_deadline { plan.deadline? } else { 0 };
        let first = Division::Groups.unit_of(system, callback);
        let group = self.groups.iter().find(|group| group.first == first)?;
        let (least, largest) = group.deadlines;
        let shift = (deadline - self.least_deadline()).checked_add(largest - least)?;
        (self.left / self.threads).checked_add(group.burst)?.checked_add(shift)
    }
}
