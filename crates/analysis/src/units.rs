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
//! **Starving units.** A unit without a window takes at most one thread, if it never runs on two at once. The others
//! are those of an executor with one thread less, without it.
//!
//! **Levels.** Under fixed priorities all of this holds for the callbacks of at least some priority. What is less
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
use crate::busy;
use crate::global;
use crate::known::{GATHERING, Known};
use crate::search::Search;
use crate::system::{Policy, System};

/// Number of rounds after which a division without a solution is given up.
const ROUNDS: usize = 60;
/// Largest number of callbacks of an executor in which levels are looked at.
const LEVELS_MAX: usize = 64;
/// Number of rounds that make a solution shorter that need not be the least one.
const SHORTENINGS: usize = 4;

/// The way in which callbacks of an executor are divided into units.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Division {
    /// Each mutually exclusive group is a unit, and each callback of a reentrant group.
    Groups,
    /// Groups that send messages to each other are one unit.
    Linked,
    /// All callbacks of the executor are one unit.
    Whole,
}

impl Division {
    /// Returns the first callback of the unit that a callback belongs to.
    pub(crate) fn unit_of(self, system: &System, callback: usize) -> usize {
        let plan = &system.callbacks[callback];
        match self {
            Self::Groups => plan.mates.first().map_or(callback, |mate| callback.min(*mate)),
            Self::Linked => system.components[callback],
            Self::Whole => system.executors[plan.executor].callbacks[0],
        }
    }

    /// Returns the first callback of each unit of an executor, in order.
    pub(crate) fn units(self, system: &System, executor: usize) -> Vec<usize> {
        let callbacks = system.executors[executor].callbacks.iter();
        let mut firsts: Vec<usize> = callbacks.map(|callback| self.unit_of(system, *callback)).collect();
        firsts.sort_unstable();
        firsts.dedup();
        firsts
    }
}

/// Returns for each callback the first callback of its component: of callbacks that are in one group, or in one
/// executor and linked by a message that is under way for no time.
pub(crate) fn components(callbacks: &[crate::system::Callback]) -> Vec<usize> {
    fn root(parents: &mut [usize], callback: usize) -> usize {
        let mut top = callback;
        while parents[top] != top {
            parents[top] = parents[parents[top]];
            top = parents[top];
        }
        top
    }
    let mut parents: Vec<usize> = (0..callbacks.len()).collect();
    for (callback, plan) in callbacks.iter().enumerate() {
        let senders = plan.publishers.iter().zip(&plan.ways).filter(|(_, way)| way.longest == 0);
        let senders = senders.map(|(sender, _)| *sender).filter(|sender| callbacks[*sender].executor == plan.executor);
        for other in plan.mates.iter().copied().chain(senders) {
            let (one, other) = (root(&mut parents, callback), root(&mut parents, other));
            // The root is the first callback of a component.
            parents[one.max(other)] = one.min(other);
        }
    }
    (0..callbacks.len()).map(|callback| root(&mut parents, callback)).collect()
}

/// Returns the least urgent level of a callback that has a meaning of its own: its priority, or 0 if all callbacks
/// belong to it.
pub(crate) fn level(system: &System, callback: usize) -> u32 {
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let others = || executor.callbacks.iter().map(|other| &system.callbacks[*other]);
    let is_plain = executor.policy == Policy::FixedPriority
        && executor.callbacks.len() <= LEVELS_MAX
        && !others().any(crate::system::Callback::is_async);
    if is_plain && others().any(|other| other.priority < plan.priority) { plan.priority } else { 0 }
}

/// Number of threads that a unit's callbacks can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Width {
    /// One at most.
    Narrow,
    /// Several.
    Wide,
    /// All; nothing but the threads keeps an activation waiting.
    Free,
}

/// Callback of a unit.
struct Part {
    /// Arrivals in a window of the unit.
    arrivals: Arrivals,
    /// Execution time of an activation.
    cost: u64,
    /// Execution time of an activation, and the time that it awaits something.
    serial: u64,
    /// Arrivals that follow from what is released in the executor in a window, without what was there before.
    fresh: Arrivals,
    /// Execution time of an activation and of all that follows from it.
    tree: u64,
    /// Largest number of its activations that are not done at one time, by its bound so far; `u64::MAX` if that is not
    /// known.
    at_once: u64,
}

struct Unit {
    first: usize,
    parts: Vec<Part>,
    width: Width,
    /// True if some callback awaits something.
    awaits: bool,
    /// Longest time for which a less urgent callback of the same group can run in a window.
    blocking: u64,
}

impl Unit {
    /// Returns the sum over all parts.
    fn sum(&self, of_part: impl Fn(&Part) -> u64) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(of_part(part)))
    }

    /// Returns the execution time that belongs to releases in an interval of this length.
    fn work(&self, length: u64) -> u64 {
        self.sum(|part| part.arrivals.number(length).saturating_mul(part.cost))
    }

    /// Returns the execution time of all that follows in this unit from releases in an interval of this length.
    fn fresh(&self, length: u64) -> u64 {
        self.sum(|part| part.fresh.number(length).saturating_mul(part.cost))
    }

    /// Returns the most that may be left of its activations and of all that follows from them, when no more than
    /// `backlog` is left of the unit itself.
    fn tree(&self, backlog: u64) -> u64 {
        let all = self.sum(|part| part.at_once.saturating_mul(part.tree));
        if self.width != Width::Narrow || self.awaits {
            return all;
        }
        // One activation may have begun. Its rest is in the backlog, and whatever it sends at its end is still to come.
        let begun = self.parts.iter().map(|part| part.tree - part.cost).max().unwrap_or(0);
        let mut parts: Vec<&Part> = self.parts.iter().collect();
        parts.sort_by(|one, other| {
            (other.tree as f64 / other.cost as f64).total_cmp(&(one.tree as f64 / one.cost as f64))
        });
        let (mut room, mut sum) = (backlog, begun);
        for part in parts {
            let taken = part.at_once.saturating_mul(part.cost).min(room);
            room -= taken;
            let value = (u128::from(taken) * u128::from(part.tree)).div_ceil(u128::from(part.cost.max(1)));
            sum = sum.saturating_add(u64::try_from(value).unwrap_or(u64::MAX));
        }
        all.min(sum)
    }

    /// Returns the same, with the time that activations await something.
    fn serial(&self, length: u64) -> u64 {
        self.sum(|part| part.arrivals.number(length).saturating_mul(part.serial))
    }

    /// Returns the number of activations that belong to releases in an interval of this length.
    fn count(&self, length: u64) -> u64 {
        self.sum(|part| part.arrivals.number(length))
    }

    fn weight(&self) -> u64 {
        self.parts.iter().map(|part| part.arrivals.weight()).sum::<u64>().max(1)
    }

    /// Returns the first offset after this one from which on more is released.
    fn next_offset(&self, offset: u64) -> Option<u64> {
        let steps = self.parts.iter().flat_map(|part| [&part.arrivals, &part.fresh]);
        steps.filter_map(|arrivals| arrivals.next_step(offset + 1)).min().map(|step| step - 1)
    }
}

/// By unit, what may be left of it at any time, and the length of its longest window. For a free callback, the length
/// is its bound.
struct Windows {
    backlogs: Vec<u64>,
    lengths: Vec<Option<u64>>,
}

impl Windows {
    fn all_end(&self) -> bool {
        self.lengths.iter().all(Option::is_some)
    }
}

/// The most work that may be left at any time.
struct State<'a> {
    /// Work that may be left of each unit.
    backlogs: &'a [u64],
    /// Work that may be left of all units together, with the rest of less urgent segments that have begun.
    left: Both,
}

/// Units that share the threads of an executor.
struct Units<'a> {
    known: &'a Known<'a>,
    executor: usize,
    threads: u64,
    units: Vec<Unit>,
    /// Less urgent segments that may run at once, the longest one first.
    lower: Vec<u64>,
    /// True if some unit sends messages to another one.
    is_linked: bool,
}

/// A time without and with what follows from it in other units.
#[derive(Clone, Copy)]
struct Both {
    own: u64,
    tree: u64,
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
        let Some(windows) = units.solve() else { break };
        if windows.all_end() {
            found.extend(units.units.iter().map(|unit| unit.first).zip(windows.lengths));
            break;
        }
        // Units that may never be done leave, each with a thread.
        let ends = |unit: usize| windows.lengths[unit].is_some();
        let stays = |unit: usize| ends(unit) || units.units[unit].width == Width::Narrow;
        if !units.lower.is_empty() || !(0..units.units.len()).all(stays) {
            break;
        }
        let starving = (0..units.units.len()).filter(|unit| !ends(*unit)).count() as u64;
        units.threads = units.threads.saturating_sub(starving);
        // Messages from the units that leave are not in the count of all that follows, so that count does not hold any
        // more.
        units.is_linked = false;
        let mut lengths = windows.lengths.iter();
        units.units.retain(|_| lengths.next().is_some_and(Option::is_some));
    }
    Some(found)
}

/// Returns the execution time of each callback and of all that follows from its end among the callbacks that are
/// `inside`.
fn trees(system: &System, inside: &[bool]) -> Vec<u64> {
    let mut trees: Vec<u64> = system.callbacks.iter().map(crate::system::Callback::cost).collect();
    // Receivers come before publishers in this order.
    for &receiver in system.order.iter().rev().filter(|receiver| inside[**receiver]) {
        let plan = &system.callbacks[receiver];
        for (sender, way) in plan.publishers.iter().zip(&plan.ways) {
            if inside[*sender] && way.longest == 0 {
                trees[*sender] = trees[*sender].saturating_add(trees[receiver]);
            }
        }
    }
    trees
}

impl<'a> Units<'a> {
    /// Returns the units of a division at a level; `None` if some of their arrivals have no bound.
    fn new(known: &'a Known<'a>, executor: usize, division: Division, level: u32) -> Option<Self> {
        let system = known.system;
        let host = &system.executors[executor];
        let in_level = |callback: usize| system.callbacks[callback].priority >= level;
        let mut all = vec![false; system.callbacks.len()];
        host.callbacks.iter().filter(|callback| in_level(**callback)).for_each(|callback| all[*callback] = true);
        let mut fresh = busy::arrivals(known, &all)?;
        let trees = trees(system, &all);
        let sends = |receiver: usize| {
            let unit = division.unit_of(system, receiver);
            let mut senders = system.callbacks[receiver].publishers.iter();
            senders.any(|sender| all[*sender] && division.unit_of(system, *sender) != unit)
        };
        let is_linked = (0..all.len()).any(|receiver| all[receiver] && sends(receiver));
        let mut lower = Vec::new();
        let mut units = Vec::new();
        for first in division.units(system, executor) {
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
            if !members().any(|member| all[member]) {
                continue;
            }
            known.budget.spend(GATHERING * system.callbacks.len() as u64);
            let mut inside = vec![false; system.callbacks.len()];
            members().filter(|member| all[*member]).for_each(|member| inside[member] = true);
            let mut arrivals = busy::arrivals(known, &inside)?;
            let part = |callback: usize| {
                let plan = &system.callbacks[callback];
                let take = |from: &mut Vec<Arrivals>| std::mem::replace(&mut from[callback], Arrivals::Sum(Vec::new()));
                Some(Part {
                    arrivals: take(&mut arrivals),
                    cost: plan.cost(),
                    serial: plan.cost() + known.waits[callback]?,
                    fresh: take(&mut fresh),
                    tree: trees[callback],
                    at_once: global::at_once(known, callback).unwrap_or(u64::MAX),
                })
            };
            let parts: Option<Vec<_>> = members().filter(|member| all[*member]).map(part).collect();
            let awaits = members().any(|member| system.callbacks[member].is_async());
            // The callbacks of a free unit wait for no less urgent one of their own.
            let blocking = blocking.filter(|_| width == Width::Narrow).unwrap_or(0);
            units.push(Unit { first, parts: parts?, width, awaits, blocking });
        }
        lower.sort_unstable_by_key(|segment| Reverse(*segment));
        Some(Self { known, executor, threads: host.threads, units, lower, is_linked })
    }

    /// Returns the sum of the longest less urgent segments, one on each of so many threads.
    fn lower_on(&self, threads: u64) -> u64 {
        self.lower.iter().take(threads as usize).sum()
    }

    /// Returns the cost of a look at all arrivals in units of the budget.
    fn weight(&self) -> u64 {
        let once: u64 = self.units.iter().map(Unit::weight).sum();
        if self.is_linked { 2 * once } else { once }
    }

    /// Returns the least length, from `start` on, that is no shorter than `needs` of it.
    fn least(&self, start: u64, needs: impl Fn(u64) -> u64) -> Option<u64> {
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

    /// Returns what may be left of all units together when each of the units has no more left than its backlog.
    fn left(&self, bursts: Both, backlogs: &[u64]) -> Both {
        let begun = self.lower_on(self.threads);
        let own = self.largest(backlogs, |part| part.cost).saturating_add(bursts.own).saturating_add(begun);
        let trees: Vec<u64> = self.units.iter().zip(backlogs).map(|(unit, backlog)| unit.tree(*backlog)).collect();
        let tree = self.largest(&trees, |part| part.tree).saturating_add(bursts.tree).saturating_add(begun);
        Both { own, tree }
    }

    /// Returns the most that can be left at a time at which a thread is idle, if no more than `each` is left of a unit,
    /// and no more than `free` of an activation of a free callback.
    fn largest(&self, each: &[u64], free: impl Fn(&Part) -> u64) -> u64 {
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
    fn passed_over(&self, unit: usize, length: u64, state: &State<'_>) -> u64 {
        let again = self.lower_again(unit, length);
        let others = || self.units.iter().enumerate().filter(|(other, _)| *other != unit);
        let works: Vec<_> = others().map(|(number, other)| (number, other.width, other.work(length))).collect();
        let now = works.iter().map(|(_, width, work)| (*width, *work));
        let together = self.shared(again.saturating_add(state.left.own), now);
        let of_each = works.iter().map(|(number, width, work)| {
            let left = if *width == Width::Free { state.left.own } else { state.backlogs[*number] };
            (*width, work.saturating_add(left))
        });
        let one_by_one = self.shared(again.saturating_add(self.lower_on(self.threads)), of_each);
        let mut longest = together.min(one_by_one);
        if self.is_linked {
            let fresh = others().map(|(_, other)| (other.width, other.fresh(length)));
            longest = longest.min(self.shared(again.saturating_add(state.left.tree), fresh));
        }
        longest.min(length)
    }

    /// Returns how many less urgent segments can begin while a unit is not passed over in a window of this length, in
    /// time.
    fn lower_again(&self, unit: usize, length: u64) -> u64 {
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
    fn window(&self, unit: usize, state: &State<'_>) -> Option<(u64, u64)> {
        let own = &self.units[unit];
        let needs = |length: u64| {
            let work = own.serial(length).saturating_add(own.blocking);
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
    fn free(&self, unit: usize, state: &State<'_>) -> Option<u64> {
        let own = &self.units[unit].parts[0];
        // Those that are released together with it are not left from before.
        let together = own.arrivals.number(1).saturating_sub(1).saturating_mul(own.cost);
        let others = || self.units.iter().enumerate().filter(|(other, _)| *other != unit);
        let start = self.least(1, |start| {
            let work = others().map(|(_, other)| other.work(start)).fold(state.left.own, u64::saturating_add);
            let fresh = others().map(|(_, other)| other.fresh(start)).fold(state.left.tree, u64::saturating_add);
            let least = if self.is_linked { work.min(fresh) } else { work };
            (least.saturating_add(together) / self.threads).saturating_add(1)
        })?;
        (start - 1).checked_add(own.cost)
    }

    /// Returns what follows for all units if no more than `backlogs` is ever left of them.
    fn follows(&self, bursts: Both, backlogs: &[u64]) -> Windows {
        let state = State { backlogs, left: self.left(bursts, backlogs) };
        let mut windows = Windows { backlogs: Vec::new(), lengths: Vec::new() };
        for unit in 0..self.units.len() {
            if self.units[unit].width == Width::Free {
                windows.backlogs.push(0);
                windows.lengths.push(self.free(unit, &state));
                continue;
            }
            let (length, backlog) = self.window(unit, &state).unzip();
            windows.backlogs.push(backlog.unwrap_or(0));
            windows.lengths.push(length);
        }
        windows
    }

    /// Returns the windows of all units; with a unit without a length if it may never be done, and `None` if nothing
    /// was found.
    fn solve(&self) -> Option<Windows> {
        let bursts = Both { own: self.burst(Unit::work)?, tree: self.burst(Unit::fresh)? };
        let mut backlogs = vec![0; self.units.len()];
        // Sum of the last growth, and the backlogs before the last leap, to which a leap too far goes back.
        let (mut growth, mut before) = (0.0, None);
        for round in 0..ROUNDS {
            let windows = self.follows(bursts, &backlogs);
            if !windows.all_end() {
                let Some(safe) = before.take() else { return Some(windows) };
                (backlogs, growth) = (safe, 0.0);
                continue;
            }
            let grows = backlogs.iter().zip(&windows.backlogs).map(|(known, now)| now.saturating_sub(*known));
            let grows: Vec<u64> = grows.collect();
            let now = grows.iter().map(|more| *more as f64).sum::<f64>();
            if now == 0.0 {
                return Some(self.shortened(bursts, windows));
            }
            backlogs.iter_mut().zip(&grows).for_each(|(known, more)| *known = known.saturating_add(*more));
            // Backlogs grow by ever smaller parts. A leap to their limit saves most of the rounds.
            let ratio = now / growth;
            growth = now;
            if round % 3 == 2 && ratio < 1.0 {
                before = Some(backlogs.clone());
                let factor = ratio / (1.0 - ratio) * 1.001;
                for (known, more) in backlogs.iter_mut().zip(&grows) {
                    *known = known.saturating_add((*more as f64 * factor) as u64).saturating_add(1);
                }
                growth = 0.0;
            }
        }
        None
    }

    /// Returns windows that are no longer than those of a solution: what follows from a solution is one.
    fn shortened(&self, bursts: Both, mut windows: Windows) -> Windows {
        for _ in 0..SHORTENINGS {
            let now = self.follows(bursts, &windows.backlogs);
            if !now.all_end() || now.backlogs == windows.backlogs {
                break;
            }
            windows = now;
        }
        windows
    }
}
