//! A chain inside one executor as a whole.
//!
//! The bounds of a chain's callbacks add up to a bound of the chain, but each of them counts all more urgent work anew.
//! Under fixed priorities in one executor there is a better way, by the argument of [`inside`]: from the release of the
//! chain's first callback to the end of its last one, one of its callbacks is always ready. So nothing runs that is
//! less urgent than the least urgent of them, except for a callback that had begun before. All other work in that time
//! is released in a busy window of that level, so the chain has ended when this work is done.
//!
//! If the first callback is the least urgent one, as PiCAS has it, its later releases do not matter: none of them runs
//! before the last callback has ended.
//!
//! Theorems and proofs: `book/src/analysis/chains.md`.

use rospin_core::EntityKind;

use crate::arrivals::Arrivals;
use crate::inside;
use crate::known::Known;
use crate::locks;
use crate::search::Search;
use crate::system::System;
use crate::window::at_least;

/// Returns the longest time from the release of the first of these callbacks to the end of the last one; `None` if
/// nothing better than the bounds of the callbacks is known.
pub(crate) fn bound(known: &Known<'_>, members: &[usize]) -> Option<u64> {
    let system = known.system;
    let (&first, &last) = (members.first()?, members.last()?);
    let executor = system.callbacks[first].executor;
    let passes_at_once = |pair: &[usize]| {
        let receiver = &system.callbacks[pair[1]];
        let mut senders = receiver.publishers.iter().zip(&receiver.ways);
        !receiver.is_join() && senders.all(|(sender, way)| *sender != pair[0] || way.longest == 0)
    };
    if !members.windows(2).all(passes_at_once) {
        return None;
    }
    if members.iter().any(|member| system.callbacks[*member].executor != executor) || !inside::applies(system, executor)
    {
        return None;
    }
    let least = *members.iter().min_by_key(|member| system.callbacks[**member].priority)?;
    let all = Window::new(known, least, last, None)?;
    let length = all.longest()?;
    let own = inside::arrivals(known, least, None)?[first].clone();
    let end = |at| {
        // Messages that a chain of one callback causes do not delay it: they are released after its end.
        let follows = u64::from(members.len() > 1);
        let earlier = is_least(system, first, members).then(|| (first, own.number(at + 1).max(1) - 1 + follows));
        match earlier {
            Some(_) => Window { own: (1 - follows) * all.cost, ..Window::new(known, least, last, earlier)? }.end(at),
            None => all.end(at),
        }
    };
    // Each step of the arrivals adds releases of the first callback, and so may give later ends.
    let search = Search::of_window(known.budget, length);
    search.longest(end, |at| Some(own.next_step(at + 1)? - 1))
}

/// Returns true if the first callback is less urgent than all others of the chain.
fn is_least(system: &System, first: usize, members: &[usize]) -> bool {
    let priority = |member: usize| system.callbacks[member].priority;
    members[1..].iter().all(|member| priority(*member) > priority(first))
}

/// Busy window of a chain: the work of the executor's callbacks that are at least as urgent as the chain's least urgent
/// one, and of callbacks that preempt them.
struct Window<'a> {
    known: &'a Known<'a>,
    executor: usize,
    /// Longest time that a less urgent callback of the executor may still run after the window has begun.
    blocking: u64,
    /// Execution time of the chain's last callback.
    cost: u64,
    /// Execution time of the only callback of a chain, which is not part of the work; 0 for longer chains.
    own: u64,
    /// Work of the executor's callbacks.
    work: Vec<(Arrivals, u64)>,
    /// Work of callbacks of more urgent executors on the same core, which preempts.
    preempting: Vec<(Arrivals, u64)>,
}

impl<'a> Window<'a> {
    /// Returns the window of the chain whose least urgent callback is `least`, and whose last one is `last`. `only`
    /// limits the releases of one callback to a number. Returns `None` if some of the work has no bound.
    fn new(known: &'a Known<'a>, least: usize, last: usize, only: Option<(usize, u64)>) -> Option<Self> {
        let system = known.system;
        let executor = system.callbacks[least].executor;
        let arrivals = inside::arrivals(known, least, only)?;
        let mates = || system.executors[executor].callbacks.iter().copied();
        let is_below = |mate: &usize| system.callbacks[*mate].priority < system.callbacks[least].priority;
        let above =
            system.neighbours(executor).filter(|other| other.os_priority > system.executors[executor].os_priority);
        let preempting = above.flat_map(|other| &other.callbacks);
        let preempting: Option<Vec<_>> =
            preempting.map(|other| Some((known.work_arrivals(*other)?, system.callbacks[*other].cost()))).collect();
        let mut preempting = preempting?;
        let host = &system.executors[executor];
        if system.shares_locks[host.core] {
            preempting.push((Arrivals::Once { count: 1 }, locks::blocking(system, host)));
        }
        Some(Self {
            known,
            executor,
            blocking: mates().filter(is_below).map(|mate| system.blocking(mate)).max().unwrap_or(0),
            cost: system.callbacks[last].cost(),
            own: 0,
            work: mates().map(|mate| (arrivals[mate].clone(), system.callbacks[mate].cost())).collect(),
            preempting,
        })
    }

    /// Returns the length of the longest such window; `None` if it has no bound.
    fn longest(&self) -> Option<u64> {
        let all = self.work.iter().chain(&self.preempting).map(|(arrivals, cost)| (arrivals, *cost));
        let start = at_least(self.blocking, all);
        self.solve(start, |length| self.blocking + demand(&self.work, length) + demand(&self.preempting, length))
    }

    /// Returns the latest end of the chain's last callback, if the chain begins at the offset `at` of the window. Once
    /// the last callback runs, only preemption delays it.
    fn end(&self, at: u64) -> Option<u64> {
        let begun =
            |length| self.blocking + self.own + 1 + demand(&self.work, length) + demand(&self.preempting, length);
        let start = self.solve(at + 1, |length| begun(length).saturating_sub(self.cost))?;
        let fixed = self.blocking + self.own + demand(&self.work, start);
        self.solve(1, |length| fixed + demand(&self.preempting, length))
    }

    /// Returns the least length, from `start` on, that gives enough time for the demand in it.
    fn solve(&self, start: u64, demand: impl Fn(u64) -> u64) -> Option<u64> {
        let weight = self.work.iter().chain(&self.preempting).map(|(arrivals, _)| arrivals.weight()).sum();
        self.known.fixed_point(self.executor, start, weight, demand)
    }
}

/// Returns how long work lasts that is released in an interval of this length.
fn demand(work: &[(Arrivals, u64)], length: u64) -> u64 {
    work.iter().fold(0, |sum: u64, (arrivals, cost)| sum.saturating_add(arrivals.number(length).saturating_mul(*cost)))
}

/// Returns how many messages may wait for a callback that only less urgent callbacks of its executor release: none of
/// these runs while a message waits. `None` if the callback is released in another way.
pub(crate) fn backlog(system: &System, callback: usize) -> Option<u64> {
    let plan = &system.callbacks[callback];
    if plan.kind == EntityKind::Timer || !inside::applies(system, plan.executor) {
        return None;
    }
    let releasers = inside::releasers(system, callback);
    // A callback that publishes twice is listed twice.
    releasers.iter().map(|one| releasers.iter().filter(|other| *other == one).count() as u64).max()
}
