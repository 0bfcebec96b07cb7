//! Busy windows of a whole set of callbacks: the simplest argument, which holds whatever the policy.
//!
//! Take a set of callbacks: all of an executor with one thread and of the executors on its core that are no less
//! urgent, or a mutually exclusive group for which there is always a thread. Its busy window begins when something of
//! the set is released while nothing of it was left, and ends once all that was released in it is done, with all that
//! follows from that inside the set. While the window is open, something of the set runs, or awaits something. So the
//! window is no longer than the least L that is no shorter than the work and the waits that belong to releases in L.
//! Whatever is released in the window ends in it, and so does whatever follows from that inside the set. Hence L is a
//! bound of every callback of the set and of every chain in it.
//!
//! Messages from one callback of the set to another have no jitter here: nothing of the set was left when the window
//! began, so a callback is released as often as its publishers are in the window. That is why this bound exists where
//! jitter that adds up from hop to hop leaves none.
//!
//! The assumptions: no message between two callbacks of the set is under way for longer than no time, except that it
//! may come from outside then; receiving belongs to the window of a core, and costs nothing for a group; no lock is
//! shared where something is awaited.
//!
//! Theorems and proofs: `book/src/analysis/one-thread.md` and `book/src/analysis/several-threads.md`.

use std::collections::{BTreeMap, BTreeSet};

use rospin_core::EntityKind;

use crate::ages::Ages;
use crate::apart;
use crate::division::{self, Division};
use crate::known::{GATHERING, Known};
use crate::locks;
use crate::set::Set;
use crate::units;
use crate::window::at_least;
use crate::within;

/// Name of the analysis for the age of what waits.
const AGE: &str = "age of what waits in groups that share the threads";

impl Set {
    /// Returns the sets of a callback whose busy windows bound it.
    fn of(known: &Known<'_>, callback: usize) -> Vec<Self> {
        let system = known.system;
        let plan = &system.callbacks[callback];
        let executor = &system.executors[plan.executor];
        if system.moves(plan.executor) {
            return Vec::new();
        }
        if executor.threads == 1 {
            // The receive thread is no part of a reservation.
            let apart = executor.reservation.is_some() && system.receive > 0;
            return if apart { Vec::new() } else { vec![Self::Core(plan.executor)] };
        }
        if system.receive > 0 {
            return Vec::new();
        }
        let mut found = Vec::new();
        if plan.in_flight == 1 && apart::busy_at_most(known, plan.executor) <= executor.threads {
            found.push(Self::Group(Division::Groups.unit_of(system, callback)));
        }
        let unit = |division: Division, level| {
            let first = division.unit_of(system, callback);
            Self::Unit { executor: plan.executor, division, level, first }
        };
        found.push(unit(Division::Groups, 0));
        let component = system.components[callback];
        let is_linked = |other: &usize| {
            system.components[*other] == component
                && Division::Groups.unit_of(system, *other) != Division::Groups.unit_of(system, callback)
        };
        if executor.callbacks.iter().any(is_linked) {
            found.push(unit(Division::Linked, 0));
        }
        found.push(unit(Division::Whole, 0));
        let level = division::level(system, callback);
        if level > 0 {
            found.push(unit(Division::Groups, level));
        }
        found
    }

    /// Returns the length of the set's longest busy window; `None` if some of its releases have no bound, or if it does
    /// not close.
    pub(crate) fn window(self, known: &Known<'_>) -> Option<u64> {
        let system = known.system;
        let inside = self.members(system);
        known.budget.spend(GATHERING * inside.iter().filter(|is_inside| **is_inside).count() as u64);
        let found = within::arrivals(known, &inside)?;
        let mut work = Vec::new();
        for (callback, arrivals) in found.into_iter().enumerate().filter(|(callback, _)| inside[*callback]) {
            let plan = &system.callbacks[callback];
            let receive = if plan.kind == EntityKind::Timer { 0 } else { system.receive };
            work.push((arrivals, plan.cost() + known.waits[callback]? + receive));
        }
        let executor = match self {
            Self::Group(first) => system.callbacks[first].executor,
            Self::Core(executor) | Self::Unit { executor, .. } => executor,
        };
        let mut once = 0;
        if let Self::Core(_) = self {
            let host = &system.executors[executor];
            // Messages for less urgent executors are received before anything runs. A join receives more than it is
            // released.
            let is_received = |other: &usize| {
                let plan = &system.callbacks[*other];
                system.receive > 0
                    && system.executors[plan.executor].core == host.core
                    && (plan.is_join() || !inside[*other] && plan.kind != EntityKind::Timer)
            };
            for other in (0..system.callbacks.len()).filter(is_received) {
                if system.callbacks[other].is_join() {
                    return None;
                }
                work.push((known.arrivals[other].clone()?, system.receive));
            }
            if system.shares_locks[host.core] {
                once = locks::blocking(system, host);
            }
        }
        let weight = work.iter().map(|(arrivals, _)| arrivals.weight()).sum::<u64>().max(1);
        let start = at_least(once, work.iter().map(|(arrivals, cost)| (arrivals, *cost)));
        known.fixed_point(executor, start, weight, |length| {
            let each = work.iter().map(|(arrivals, cost)| arrivals.number(length).saturating_mul(*cost));
            each.fold(once, u64::saturating_add)
        })
    }
}

/// Largest shares of the budget that all those searches may take: in the rounds of a solver, and with the searches of
/// those that make its solution shorter.
const SHARES: [f64; 2] = [0.6, 0.9];

/// Results that several callbacks share, as long as nothing changes that they follow from.
#[derive(Default)]
pub(crate) struct Windows {
    /// Lengths of windows, by set.
    lengths: BTreeMap<Set, Option<u64>>,
    /// Divisions of executors whose windows are known, with their levels.
    divided: BTreeSet<(usize, Division, u32)>,
    /// Bounds by the age of what waits, by executor; `None` for an executor that has none.
    ages: BTreeMap<usize, Option<Ages>>,
    /// Work that was spent on these results and on those that were forgotten.
    spent: u64,
    /// Inverse of the share of the budget that a search may take.
    portion: u64,
    /// True if the rounds of the solver are over.
    shortens: bool,
}

impl Windows {
    /// Sets the inverse of the share of the budget that a search may take.
    pub(crate) fn set_portion(&mut self, portion: u64) {
        self.portion = portion;
    }

    /// Forgets all results, because something has changed that they may follow from.
    pub(crate) fn forget(&mut self) {
        *self = Self { spent: self.spent, portion: self.portion, shortens: self.shortens, ..Self::default() };
    }

    /// Leaves the rest of the budget to searches that make a solution shorter.
    pub(crate) fn shorten(&mut self) {
        self.shortens = true;
    }

    /// Returns what `search` finds; `None` without a search if searches have taken their share of the budget.
    fn search<T>(&mut self, known: &Known<'_>, search: impl FnOnce() -> Option<T>) -> Option<T> {
        let budget = known.budget;
        if self.spent as f64 > SHARES[usize::from(self.shortens)] * budget.whole() as f64 {
            return None;
        }
        let before = budget.left();
        budget.begin((budget.whole() / self.portion.max(1)).min(before));
        let found = search();
        self.spent += before - budget.left();
        found
    }

    /// Returns the length of the set's longest busy window, and the name of the analysis; `None` if it has no bound.
    fn length(&mut self, known: &Known<'_>, set: Set) -> Option<(u64, &'static str)> {
        if let Set::Unit { executor, division, level, .. } = set {
            if self.divided.insert((executor, division, level)) {
                let found = self.search(known, || units::windows(known, executor, division, level));
                for (first, length) in found.unwrap_or_default() {
                    self.lengths.insert(Set::Unit { executor, division, level, first }, length);
                }
            }
            return Some((self.lengths.get(&set).copied().flatten()?, set.method()));
        }
        let length = *self.lengths.entry(set).or_insert_with(|| set.window(known));
        Some((length?, set.method()))
    }
}

/// Returns the least of the lengths of the busy windows that bound a callback and of its bound by the age of what
/// waits, with the name of the analysis that gave it; `None` if nothing bounds the callback.
pub(crate) fn floor(known: &Known<'_>, windows: &mut Windows, callback: usize) -> Option<(u64, &'static str)> {
    let executor = known.system.callbacks[callback].executor;
    let sets = Set::of(known, callback);
    let mut least = sets.into_iter().filter_map(|set| windows.length(known, set)).min();
    if known.system.executors[executor].threads > 1 {
        if !windows.ages.contains_key(&executor) {
            let ages = windows.search(known, || Ages::of(known, executor));
            windows.ages.insert(executor, ages);
        }
        let by_age =
            windows.ages[&executor].as_ref().and_then(|ages| ages.bound(known, callback)).map(|bound| (bound, AGE));
        least = least.into_iter().chain(by_age).min();
    }
    least
}

/// Returns the length of the shortest busy window in which a chain begins and ends, with the name of the analysis;
/// `None` if it may leave each of them.
pub(crate) fn chain(known: &Known<'_>, windows: &mut Windows, members: &[usize]) -> Option<(u64, &'static str)> {
    let sets = members.iter().flat_map(|member| Set::of(known, *member));
    let whole: Vec<Set> = sets.filter(|set| set.has_chain(known.system, members)).collect();
    whole.into_iter().filter_map(|set| windows.length(known, set)).min()
}
