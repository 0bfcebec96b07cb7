//! Several threads, and groups that exclude: busy windows of groups that share all threads, under every policy.
//!
//! Divide an executor's callbacks into *units*, so that the callbacks of a mutually exclusive group are in one unit. An
//! executor is work-conserving: no thread is idle while an activation is ready whose group is free. So while a unit has
//! something left to do, at each time something of it runs, or something of it awaits what it awaits, or all m threads
//! are busy with other units: then it is *passed over*.
//!
//! **Window.** Let a unit's window begin when it has something to do and had nothing before. In a window of length L
//! the unit has no more work than W(L), so the window is no longer than the least L that is no shorter than W(L) and
//! the time Y(L) for which it is passed over. Whatever is released in the window ends in it, with all that follows
//! inside the unit.
//!
//! **Passed over.** In the time Y, which is no longer than L, m Y of other work runs: what was left of the others when
//! the window began, and what is released in L. A unit that never runs on two threads at once has no more than Y of it.
//! So, for every j below m, (m - j) Y is no more than the work of all others but the j largest of that kind.
//!
//! **Backlog.** What is left of a unit at a time in its window, B, is no more than the largest W(L) + Y(L) - L. What is
//! left of all units together, V, follows from all B: go back to the last time at which a thread was idle. Nothing was
//! passed over then, so at most m - 1 units had something left (besides those that awaited something), with no more
//! than their B each. Since then all threads were busy, so V is no more than that and the largest W(L) - m L of all.
//! Each B follows from V, and V from the m - 1 largest of them. A solution is a bound, by induction over time: the
//! first backlog above it would follow from earlier ones that are not. Only m - 1 of the B enter V, and V enters a B
//! divided by m. So there is a solution wherever the load leaves time, with any number of units.
//!
//! **Messages between units.** By the arguments above, they arrive with the jitter of their senders, and bounds depend
//! on each other through it. Another count does without: to each activation belong its own time and that of all that
//! follows from it. What is left with all that follows, V', is as above that of m - 1 units when a thread was idle, and
//! what was released from outside of the executor since, less what all threads did. A unit has no more left than as
//! many activations as may be under way at once, no more of them than fit into B, and one that has begun. The work of
//! others in a window is then V', and what follows from releases in the window. The smaller Y holds.
//!
//! **What enters a unit.** When a unit's window begins, nothing of it is left. So whatever it gets in the window
//! follows from what other units had left then, E, or from what is released from outside of the executor since. E is no
//! more than what follows in this unit from the B of each other unit, with as many activations as fit into it, nor than
//! V'. In W(L), the smaller of this and the count with jitter holds. So a unit has a window even if nothing bounds its
//! senders.
//!
//! **Queues.** No more activations of a callback are left than its queue holds and may have begun. A unit without a
//! window has no more left than that, and all that follows from it, and the others have windows with that. If bounds
//! must hold for queues of any depth, it is as follows instead.
//!
//! **Starving units.** A unit without a window takes at most one thread, if it never runs on two at once, and so do the
//! units that follow from it: they may get any number of messages at once. The others get none from them. Count as idle
//! those threads that do not run the others. Then the others are those of an executor with so many threads less: if one
//! of them is passed over, all threads are busy, and no more of them with the units that left.
//!
//! **Levels.** Under fixed priorities all of this holds for the callbacks of at least some priority, and for timers
//! outside the ready set of a wait set up to some registration, which go before all others. What is less
//! urgent runs while a unit is passed over only if it had started before: at most one segment on each thread at the
//! beginning, and one on each thread but one each time that the unit's own work ends. The last time at which a thread
//! was idle becomes that at which one was idle, or took something less urgent. Of its own group, one less urgent
//! segment can run in the window.
//!
//! **Free callbacks.** A reentrant callback whose activations can have all threads waits only while all of them are
//! busy with what was left before, or was released since.
//!
//! Theorems and proofs: `book/src/analysis/several-threads.md`.

use std::cmp::Reverse;

use crate::arrivals::Arrivals;
use crate::division::Division;
use crate::known::{GATHERING, Known};
use crate::left::{Both, Lefts, State, Windows};
use crate::search::Search;
use crate::unit::{self, Part, Unit, Width, trees};
use crate::within;

/// Number of rounds after which a division without a solution is given up.
const ROUNDS: usize = 60;
/// Number of rounds that make a solution shorter that need not be the least one.
const SHORTENINGS: usize = 4;
/// Largest number of callbacks of an executor in which what follows in each unit is looked at.
const ONWARD_MAX: usize = 128;
/// Largest number of callbacks of an executor in which what follows of each callback is looked at.
const PATHS_MAX: usize = 48;

/// Units that share the threads of an executor.
pub(crate) struct Units<'a> {
    pub(crate) known: &'a Known<'a>,
    executor: usize,
    pub(crate) threads: u64,
    pub(crate) units: Vec<Unit>,
    /// Less urgent segments that may run at once, the longest one first.
    lower: Vec<u64>,
    /// True if some unit sends messages to another one, and none to one from which units left.
    pub(crate) is_linked: bool,
    /// True if it is known what follows in each unit.
    pub(crate) looks_onward: bool,
}

/// Returns the lengths of the longest windows of the executor's units at a level, by the unit's first callback. `None`
/// for a unit that may never be done, and if nothing is known of arrivals.
pub(crate) fn windows(
    known: &Known<'_>,
    executor: usize,
    division: Division,
    level: u32,
) -> Option<Vec<(usize, Option<u64>)>> {
    let mut units = Units::new(known, executor, division, level)?;
    let mut found: Vec<(usize, Option<u64>)> = Vec::new();
    while units.threads > 0 && !units.units.is_empty() {
        match units.solve() {
            Ok(windows) => {
                found.extend(units.units.iter().map(|unit| unit.first).zip(windows.lengths));
                break;
            }
            // Units that may never be done leave, each with a thread.
            Err(leave) => {
                if units.remove(leave).is_none() {
                    break;
                }
            }
        }
    }
    Some(found)
}

impl<'a> Units<'a> {
    /// Returns the units of a division at a level; `None` if some of their arrivals have no bound.
    fn new(known: &'a Known<'a>, executor: usize, division: Division, level: u32) -> Option<Self> {
        let system = known.system;
        let host = &system.executors[executor];
        let in_level = |callback: usize| level == 0 || system.urgency(callback) >= level;
        let mut all = vec![false; system.callbacks.len()];
        host.callbacks.iter().filter(|callback| in_level(**callback)).for_each(|callback| all[*callback] = true);
        let mut fresh = within::arrivals(known, &all)?;
        let trees = trees(system, &all);
        let sends = |receiver: usize| {
            let unit = division.unit_of(system, receiver);
            let mut senders = system.callbacks[receiver].publishers.iter();
            senders.any(|sender| all[*sender] && division.unit_of(system, *sender) != unit)
        };
        let is_linked = (0..all.len()).any(|receiver| all[receiver] && sends(receiver));
        let firsts = division.units(system, executor);
        let is_first = |first: &usize| {
            host.callbacks.iter().any(|callback| all[*callback] && division.unit_of(system, *callback) == *first)
        };
        let staying: Vec<usize> = firsts.iter().copied().filter(is_first).collect();
        let mut onward = vec![Vec::new(); system.callbacks.len()];
        let looks_onward = is_linked && host.callbacks.len() <= ONWARD_MAX;
        if looks_onward {
            let place = |callback| staying.partition_point(|first| *first < division.unit_of(system, callback));
            onward = unit::onward(known, &all, staying.len(), place)?;
        }
        let mut paths = vec![Vec::new(); system.callbacks.len()];
        if looks_onward && host.callbacks.len() <= PATHS_MAX {
            paths = unit::paths(known, &all);
        }
        let mut lower = Vec::new();
        let mut units = Vec::new();
        for first in firsts {
            let members =
                || host.callbacks.iter().copied().filter(move |callback| division.unit_of(system, *callback) == first);
            let blocking = members().filter(|member| !all[*member]).map(|member| system.blocking(member)).max();
            let plan = &system.callbacks[first];
            let width = if members().any(|member| Division::Groups.unit_of(system, member) != first) {
                Width::Wide
            } else if plan.in_flight == 1 || !plan.mates.is_empty() {
                Width::Narrow
            } else if u64::from(plan.in_flight) >= host.threads && !plan.is_async() {
                Width::Free
            } else {
                Width::Wide
            };
            if let Some(blocking) = blocking {
                let copies = if width == Width::Narrow { 1 } else { host.threads };
                lower.extend(std::iter::repeat_n(blocking, copies as usize));
            }
            if !staying.contains(&first) {
                continue;
            }
            known.budget.spend(GATHERING * system.callbacks.len() as u64);
            let mut inside = vec![false; system.callbacks.len()];
            members().filter(|member| all[*member]).for_each(|member| inside[member] = true);
            let mut arrivals = within::arrivals(known, &inside);
            if arrivals.is_none() && !looks_onward {
                return None;
            }
            let part = |callback: usize| {
                let plan = &system.callbacks[callback];
                let take = |from: &mut Vec<Arrivals>| std::mem::replace(&mut from[callback], Arrivals::Sum(Vec::new()));
                let excluded_by =
                    plan.in_flight == 1 || plan.holds_group() || !plan.is_async() && !plan.mates.is_empty();
                Some(Part {
                    callback,
                    arrivals: arrivals.as_mut().map(take),
                    cost: plan.cost(),
                    serial: plan.cost() + known.waits[callback]?,
                    fresh: take(&mut fresh),
                    tree: trees[callback],
                    at_once: known.at_once(callback).unwrap_or(u64::MAX),
                    onward: std::mem::take(&mut onward[callback]),
                    paths: std::mem::take(&mut paths[callback]),
                    begun: u64::from(plan.in_flight),
                    excluded_by: excluded_by.then(|| Division::Groups.unit_of(system, callback)),
                })
            };
            let parts: Option<Vec<_>> = members().filter(|member| all[*member]).map(part).collect();
            let awaits = members().any(|member| system.callbacks[member].is_async());
            // The callbacks of a free unit wait for no less urgent one of their own.
            let blocking = blocking.filter(|_| width == Width::Narrow).unwrap_or(0);
            units.push(Unit { first, parts: parts?, width, awaits, blocking });
        }
        lower.sort_unstable_by_key(|segment| Reverse(*segment));
        Some(Self { known, executor, threads: host.threads, units, lower, is_linked, looks_onward })
    }

    /// Returns the sum of the longest less urgent segments, one on each of so many threads.
    pub(crate) fn lower_on(&self, threads: u64) -> u64 {
        self.lower.iter().take(threads as usize).sum()
    }

    /// Returns the cost of a look at all arrivals in units of the budget.
    pub(crate) fn weight(&self) -> u64 {
        let once: u64 = self.units.iter().map(Unit::weight).sum();
        if self.is_linked { 2 * once } else { once }
    }

    /// Returns the least length, from `start` on, that is no shorter than `needs` of it.
    pub(crate) fn least(&self, start: u64, needs: impl Fn(u64) -> u64) -> Option<u64> {
        self.known.fixed_point(self.executor, start, self.weight(), needs)
    }

    /// Returns by how much the work that is released in an interval can exceed what all threads do in it, at most.
    /// `work` is that of a unit. Returns `None` if it has no bound.
    fn burst(&self, work: fn(&Unit, u64) -> u64) -> Option<u64> {
        let needs = |length| {
            let work = self.units.iter().map(|unit| work(unit, length));
            work.fold(0, u64::saturating_add).div_ceil(self.threads)
        };
        let length = self.least(1, needs)?;
        let search = Search::of_window(self.known.budget, length);
        // The search returns the largest `needs(length) - (length - 1)`.
        let longest = search.longest(|offset| Some(needs(offset + 1)), |offset| self.next_offset(offset))?;
        Some(longest.saturating_sub(1).saturating_mul(self.threads))
    }

    /// Returns the first offset after this one from which on more is released.
    fn next_offset(&self, offset: u64) -> Option<u64> {
        self.units.iter().filter_map(|unit| unit.next_offset(offset)).min()
    }

    /// Returns the most that can be left at a time at which a thread is idle, if no more than `each` is left of a unit,
    /// and no more than `free` of an activation of a free callback.
    pub(crate) fn largest(&self, each: &[u64], free: impl Fn(&Part) -> u64) -> u64 {
        let (mut sum, mut largest) = (0, Vec::new());
        let most = self.threads as usize - 1;
        for (unit, left) in self.units.iter().zip(each) {
            match unit.width {
                Width::Free => largest.extend(std::iter::repeat_n(free(&unit.parts[0]), most)),
                _ if unit.awaits => sum = left.saturating_add(sum),
                _ => largest.push(*left),
            }
        }
        largest.sort_unstable_by_key(|left| Reverse(*left));
        largest.iter().take(most).fold(sum, |sum, more| sum.saturating_add(*more))
    }

    /// Returns the longest time for which a unit is passed over in a window of this length, with what was left before.
    pub(crate) fn passed_over(&self, unit: usize, length: u64, state: &State<'_>) -> u64 {
        let again = self.lower_again(unit, length);
        let others = || self.units.iter().enumerate().filter(|(other, _)| *other != unit);
        let works: Vec<_> = others().map(|(_, other)| (other.width, other.work(length))).collect();
        let now = works.iter().copied();
        let together = self.shared(again.saturating_add(state.left.own), now);
        // All that is left of reentrant callbacks is part of what is left of all.
        let has_free = others().any(|(_, other)| other.width == Width::Free);
        let of_each = |own: bool| {
            others().zip(&works).map(move |((number, other), (width, work))| {
                let is_free = *width == Width::Free;
                let left = if is_free { 0 } else { state.lefts.own[number] };
                let all = if is_free { 0 } else { state.following(unit, number) };
                let with_own = work.saturating_add(left);
                let with_all = other.fresh(length).saturating_add(all);
                let least = match (self.is_linked, is_free) {
                    (false, _) => with_own,
                    (true, false) => with_own.min(with_all),
                    (true, true) => {
                        if own {
                            with_own
                        } else {
                            with_all
                        }
                    }
                };
                (*width, least)
            })
        };
        let begun = again.saturating_add(self.lower_on(self.threads));
        let free = if has_free { state.left.own } else { 0 };
        let mut one_by_one = self.shared(begun.saturating_add(free), of_each(true));
        if has_free && self.is_linked {
            one_by_one = one_by_one.min(self.shared(begun.saturating_add(state.left.tree), of_each(false)));
        }
        let mut longest = together.min(one_by_one);
        if self.is_linked {
            let fresh = others().map(|(_, other)| (other.width, other.fresh(length)));
            longest = longest.min(self.shared(again.saturating_add(state.left.tree), fresh));
        }
        longest.min(length)
    }

    /// Returns how many less urgent segments can begin while a unit is not passed over in a window of this length, in
    /// time.
    pub(crate) fn lower_again(&self, unit: usize, length: u64) -> u64 {
        if self.lower.is_empty() {
            return 0;
        }
        // They can start while the unit runs, or while its group is held by a less urgent callback.
        let own = &self.units[unit];
        let times = own.count(length).saturating_sub(1) + u64::from(own.blocking > 0);
        times.saturating_mul(self.lower_on(self.threads - 1))
    }

    /// Returns the longest time for which all threads can be busy with `fixed` and the works, of which narrow ones have
    /// one thread each at most.
    fn shared(&self, fixed: u64, works: impl Iterator<Item = (Width, u64)>) -> u64 {
        let (mut sum, mut narrow) = (fixed, Vec::new());
        for (width, work) in works {
            sum = sum.saturating_add(work);
            if width == Width::Narrow {
                narrow.push(work);
            }
        }
        narrow.sort_unstable_by_key(|work| Reverse(*work));
        let mut longest = sum / self.threads;
        for (without, work) in (1..self.threads).zip(narrow) {
            if sum == u64::MAX {
                break;
            }
            sum -= work;
            longest = longest.min(sum / (self.threads - without));
        }
        longest
    }

    /// Returns the length of a unit's longest window and what may be left of it.
    pub(crate) fn window(&self, unit: usize, state: &State<'_>) -> Option<(u64, u64)> {
        let own = &self.units[unit];
        let needs = |length: u64| {
            let work = own.serial(length, state.entering[unit].work).saturating_add(own.blocking);
            work.saturating_add(self.passed_over(unit, length, state))
        };
        let length = self.least(1, needs)?;
        let search = Search::of_window(self.known.budget, length);
        let end = |offset| {
            self.known.budget.spend(self.weight());
            Some(needs(offset + 1))
        };
        Some((length, search.longest(end, |offset| self.next_offset(offset))?.saturating_sub(1)))
    }

    /// Returns the bound of a free callback.
    pub(crate) fn free(&self, unit: usize, state: &State<'_>) -> Option<u64> {
        let own = &self.units[unit].parts[0];
        // Those that are released together with it are not left from before.
        let at_once = match &own.arrivals {
            Some(arrivals) => arrivals.number(1).saturating_sub(1),
            None => own.fresh.number(1),
        };
        let together = at_once.saturating_mul(own.cost);
        let others = || self.units.iter().enumerate().filter(|(other, _)| *other != unit);
        let start = self.least(1, |start| {
            let work = others().map(|(_, other)| other.work(start)).fold(state.left.own, u64::saturating_add);
            let fresh = others().map(|(_, other)| other.fresh(start)).fold(state.left.tree, u64::saturating_add);
            let least = if self.is_linked { work.min(fresh) } else { work };
            (least.saturating_add(together) / self.threads).saturating_add(1)
        })?;
        (start - 1).checked_add(own.cost)
    }

    /// Makes units that may never be done leave, each with a thread, and those that they send to. `None` if that is not
    /// possible.
    fn remove(&mut self, leave: Vec<usize>) -> Option<()> {
        if leave.is_empty() || !self.lower.is_empty() {
            return None;
        }
        let mut stays = vec![true; self.units.len()];
        leave.into_iter().for_each(|unit| stays[unit] = false);
        let sends_to = |stays: &[bool], to: usize| {
            let mut leaving = self.units.iter().zip(stays).filter(|(_, stays)| !**stays);
            leaving.any(|(from, _)| from.parts.iter().any(|part| part.onward[to] > 0))
        };
        if self.looks_onward {
            // A unit without a bound leaves, and so must the units that it sends to, and those that they send to.
            loop {
                let follow: Vec<usize> = (0..stays.len()).filter(|to| stays[*to] && sends_to(&stays, *to)).collect();
                if follow.is_empty() {
                    break;
                }
                follow.into_iter().for_each(|unit| stays[unit] = false);
            }
        } else {
            // Messages from the units that leave are not in the count of all that follows, so that count does not hold
            // any more.
            self.is_linked = false;
        }
        let mut leaving = self.units.iter().zip(&stays).filter(|(_, stays)| !**stays);
        let narrow = |(unit, _): (&Unit, &bool)| unit.width == Width::Narrow;
        if !leaving.all(narrow) {
            return None;
        }
        self.threads = self.threads.saturating_sub(stays.iter().filter(|stays| !**stays).count() as u64);
        for part in self.units.iter_mut().flat_map(|unit| &mut unit.parts) {
            let mut keep = stays.iter();
            part.onward.retain(|_| keep.next().is_some_and(|stays| *stays));
        }
        let mut keep = stays.iter();
        self.units.retain(|_| keep.next().is_some_and(|stays| *stays));
        Some(())
    }

    /// Returns the windows of all units; otherwise units without which others may have one.
    ///
    /// A unit that has no window, or whose backlog keeps growing, has no more left than its queues hold.
    fn solve(&self) -> Result<Windows, Vec<usize>> {
        let is_bounded = self.units.iter().all(Unit::is_bounded);
        let own = if is_bounded { self.burst(Unit::work) } else { None };
        let tree = if self.is_linked { self.burst(Unit::fresh) } else { None };
        if own.is_none() && tree.is_none() {
            return Err(Vec::new());
        }
        let bursts = Both { own: own.unwrap_or(u64::MAX), tree: tree.unwrap_or(u64::MAX) };
        let mut full = vec![false; self.units.len()];
        let mut lefts = Lefts::nothing(self);
        loop {
            let stuck = match self.rounds(bursts, &mut lefts, &full) {
                Ok(windows) => return Ok(self.shortened(bursts, windows)),
                Err(stuck) => stuck,
            };
            if stuck.is_empty() || !stuck.iter().all(|unit| !full[*unit] && self.units[*unit].is_held()) {
                return Err(stuck);
            }
            stuck.into_iter().for_each(|unit| full[unit] = true);
        }
    }

    /// Returns windows of all units, with what follows from them; units that are `full` have as much left as their
    /// queues hold. Otherwise returns units that have no window, or those that still grow when the search ends; of these,
    /// the one that grows most if queues hold any number. `lefts` is what is left at least.
    fn rounds(&self, bursts: Both, lefts: &mut Lefts, full: &[bool]) -> Result<Windows, Vec<usize>> {
        // Sum of the last growth, and what was left before the last leap, to which a leap too far goes back.
        let (mut growth, mut before) = (0.0, None);
        let mut fastest = Vec::new();
        for round in 0..ROUNDS {
            let windows = self.follows(bursts, lefts, full);
            let is_open = |unit: &usize| windows.lengths[*unit].is_none() && !full[*unit];
            let open: Vec<usize> = (0..self.units.len()).filter(is_open).collect();
            if !open.is_empty() {
                let Some(safe) = before.take() else {
                    return Err(open);
                };
                (*lefts, growth) = (safe, 0.0);
                continue;
            }
            let now = lefts.growth(&windows.lefts);
            if now == 0.0 {
                return Ok(windows);
            }
            fastest = if self.units.iter().all(Unit::is_held) {
                lefts.growing(&windows.lefts, full)
            } else {
                lefts.fastest(&windows.lefts, full).into_iter().collect()
            };
            // Each round adds less than the one before, as a geometric series does. A leap to near its limit saves
            // rounds.
            let ratio = now / growth;
            growth = now;
            if round % 3 == 2 && ratio < 1.0 {
                let leapt = lefts.leap(&windows.lefts, ratio / (1.0 - ratio) * 1.001);
                lefts.grow(&windows.lefts);
                before = Some(std::mem::replace(lefts, leapt));
                growth = 0.0;
            } else {
                lefts.grow(&windows.lefts);
            }
        }
        Err(fastest)
    }

    /// Returns windows that are no longer than those of a solution: what follows from a solution is one.
    fn shortened(&self, bursts: Both, mut windows: Windows) -> Windows {
        let full = vec![false; self.units.len()];
        for _ in 0..SHORTENINGS {
            let now = self.follows(bursts, &windows.lefts, &full);
            if now.lefts == windows.lefts {
                break;
            }
            windows = now;
        }
        windows
    }
}
