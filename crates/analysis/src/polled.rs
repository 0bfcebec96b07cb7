//! Emulated wait set on several threads: bounds by the number of ready sets that a callback waits for.
//!
//! A ready set has each callback once at most, and nothing enters it later. So a callback whose group is free waits for
//! what is left of a ready set, and for what comes before it in the next one, however much the others have to do. It is
//! not served from that set only if a mate that comes before it runs, and another thread polls meanwhile. So it waits
//! for two more sets with each activation of such a mate.
//!
//! **Window.** Let a window begin when the callback is released and nothing of it is left, and let it be ready until
//! the end of its activation with the number q. Let polls be *open* at which its group is free. From one open poll to
//! the next, others run while the group is passed over, that is free and ready: those of the first set, and those of
//! the set that is there when the group becomes free. Each callback of another mutually exclusive group runs once in
//! each of the two: it is in the set, or has begun before. The same holds before the first open poll.
//!
//! After an open poll the callback runs, or the next open poll comes before that because its group was held: a mate
//! that comes before it in the set had run. So with N activations of such mates in the window, 2 (q + N) sets are
//! passed, and those before the callback in the last one. A callback without mates is passed over in one set before the
//! first open poll. Timers outside the ready set come before all others of their group, and each activation of them
//! adds no more than one of a mate.
//!
//! **Work.** Let others run in the sets, or in as many activations as are released in the window, or before it by less
//! than their bounds. A reentrant callback may have begun on several threads before a set: that is one activation on
//! each thread, each time that others could run while the group was held. All threads are busy while the group is
//! passed over, of which a mutually exclusive group has one at most. Mates that come after the callback run once before
//! each of its activations at most.
//!
//! Theorems and proofs: `book/src/analysis/several-threads.md`.

use std::cmp::Reverse;

use rospin_core::EntityKind;

use crate::division::Division;
use crate::interference::Work;
use crate::known::{GATHERING, Known};
use crate::search::Search;
use crate::system::{Policy, System};
use crate::uniprocessor::goes_first;

/// Name of the analysis.
pub(crate) const METHOD: &str = "ready sets of the wait set, by the activations that come before in them";

/// Callback of another group.
struct Other {
    /// Its mutually exclusive group; `None` for a callback that may run on several threads at once.
    group: Option<usize>,
    /// Longest time for which it runs when it is taken from a ready set.
    segment: u64,
    /// Work that is released in the window, or may be left from before; `None` if that has no bound.
    work: Option<Work>,
    /// True if it comes before the callback in a ready set.
    is_before: bool,
    /// True if it may run more often than once in a ready set: a timer outside of it, or segments of several
    /// activations.
    is_often: bool,
}

/// Callback of the same group.
struct Mate {
    /// The times for which activations hold the group that are released in the window, or may be left from before;
    /// `None` if that has no bound, and the callback comes after the one under analysis.
    work: Option<Work>,
    /// Longest time for which it holds the group when it is taken from a ready set.
    hold: u64,
    /// How often an activation takes the group, if it comes before the one under analysis.
    takes: Option<u64>,
}

/// Data of the equations of one callback.
struct Sets {
    threads: u64,
    cost: u64,
    others: Vec<Other>,
    mates: Vec<Mate>,
}

/// Returns true if a callback is a timer that does not go through the ready set.
fn is_outside(system: &System, callback: usize) -> bool {
    let plan = &system.callbacks[callback];
    system.executors[plan.executor].policy == Policy::WaitSet { timers_inside: false } && plan.kind == EntityKind::Timer
}

/// Returns the bound of a callback that an emulated wait set with several threads serves from ready sets. `None` for
/// other callbacks, if it awaits something, and if no bound is found.
pub(crate) fn bound(known: &Known<'_>, callback: usize) -> Option<u64> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let is_polled = matches!(system.executors[plan.executor].policy, Policy::WaitSet { .. });
    if !is_polled || system.receive > 0 || is_outside(system, callback) {
        return None;
    }
    let sets = Sets::of(known, callback)?;
    let own = known.seen(callback)?;
    let works = sets.others.iter().filter(|other| other.work.is_some()).count() + sets.mates.len();
    let weight = 2 * works as u64 + own.weight();
    let length = known.fixed_point(plan.executor, 1, weight, |length| sets.needs(own.number(length), length))?;
    let end = |offset: u64| {
        let number = own.number(offset + 1);
        let end = known.fixed_point(plan.executor, 1, weight, |length| sets.needs(number, length))?;
        // It cannot end before it was released and ran.
        Some(end.max(offset.saturating_add(sets.cost)))
    };
    let search = Search { enough: known.enough(callback), ..Search::of_window(known.budget, length) };
    search.longest(end, |offset| own.next_step(offset + 1).map(|step| step - 1))
}

impl Sets {
    /// Returns the data of a callback; `None` if it awaits something, or if mates that come before it
    /// have no bound.
    fn of(known: &Known<'_>, callback: usize) -> Option<Self> {
        let system = known.system;
        let plan = &system.callbacks[callback];
        let executor = &system.executors[plan.executor];
        let is_reentrant = plan.in_flight > 1 && plan.mates.is_empty();
        if plan.is_async() || is_reentrant && u64::from(plan.in_flight) < executor.threads {
            return None;
        }
        known.budget.spend(GATHERING * executor.callbacks.len() as u64);
        let (mut others, mut mates) = (Vec::new(), Vec::new());
        for &other in executor.callbacks.iter().filter(|other| **other != callback) {
            let mate = &system.callbacks[other];
            let is_outside = is_outside(system, other);
            let is_before = is_outside || goes_first(system, other, callback);
            if !plan.mates.contains(&other) {
                let excludes = mate.in_flight == 1 || !mate.mates.is_empty() && !mate.is_async();
                let work = Work::of(known, other, mate.cost());
                let group = excludes.then(|| Division::Groups.unit_of(system, other));
                let is_often = is_outside || mate.is_async() && mate.in_flight > 1;
                others.push(Other { group, segment: mate.longest_segment(), work, is_before, is_often });
                continue;
            }
            let hold = if mate.holds_group() { known.responses[other]? } else { mate.longest_segment() };
            let whole = if mate.holds_group() { hold } else { mate.cost() };
            let work = Work::of(known, other, whole);
            if work.is_none() && (is_before || mate.is_async()) {
                return None;
            }
            let segments = if mate.holds_group() { 1 } else { mate.segments.len() as u64 };
            mates.push(Mate { work, hold, takes: is_before.then_some(segments) });
        }
        Some(Self { threads: executor.threads, cost: plan.cost(), others, mates })
    }

    /// Returns the time from the beginning of a window of this length to the end of the activation with this number in
    /// it, if the window is as long as that.
    fn needs(&self, number: u64, length: u64) -> u64 {
        let number = number.max(1);
        let (mut time, mut before) = (number.saturating_mul(self.cost), 0_u64);
        for mate in &self.mates {
            let most = mate.work.as_ref().map_or(u64::MAX, |work| work.total(length));
            let Some(takes) = mate.takes else {
                time = time.saturating_add(most.min(number.saturating_mul(mate.hold)));
                continue;
            };
            let count = mate.work.as_ref().map_or(u64::MAX, |work| work.count(length));
            before = before.saturating_add(count.saturating_mul(takes));
            time = time.saturating_add(most);
        }
        // Whole ready sets, and the times at which reentrant callbacks may have begun outside of them.
        let rounds = number.saturating_add(before);
        let (sets, begun) = if self.mates.is_empty() {
            (rounds.saturating_mul(2) - 1, number)
        } else {
            (rounds.saturating_mul(2), rounds.saturating_add(1))
        };
        time.saturating_add(self.passed_over(length, sets, begun))
    }

    /// Returns the longest time for which all threads can be busy with others in a window of this length, with so many
    /// ready sets. So many times, reentrant callbacks may have begun outside of them.
    fn passed_over(&self, length: u64, sets: u64, begun: u64) -> u64 {
        // Work of reentrant callbacks, with what may have begun counted for each of them, and counted for all together.
        let (mut each, mut together, mut longest) = (0_u64, 0_u64, 0);
        let mut groups: Vec<(usize, u64)> = Vec::new();
        for other in &self.others {
            let most = other.work.as_ref().map_or(u64::MAX, |work| work.total(length));
            let times = if other.is_often { u64::MAX } else { sets.saturating_add(u64::from(other.is_before)) };
            let taken = times.saturating_mul(other.segment);
            let Some(group) = other.group else {
                let copies = begun.saturating_mul(self.threads).saturating_mul(other.segment);
                each = each.saturating_add(most.min(taken.saturating_add(copies)));
                together = together.saturating_add(most.min(taken));
                longest = longest.max(if most > taken { other.segment } else { 0 });
                continue;
            };
            let work = most.min(taken);
            match groups.iter_mut().find(|(known, _)| *known == group) {
                Some((_, sum)) => *sum = sum.saturating_add(work),
                None => groups.push((group, work)),
            }
        }
        together = together.saturating_add(begun.saturating_mul(self.threads).saturating_mul(longest));
        let mut works: Vec<u64> = groups.into_iter().map(|(_, work)| work).collect();
        works.sort_unstable_by_key(|work| Reverse(*work));
        let shared = |without: u64| {
            let rest = works.iter().skip(without as usize);
            rest.fold(each.min(together), |sum: u64, work| sum.saturating_add(*work)) / (self.threads - without)
        };
        (0..self.threads).map(shared).min().unwrap_or(u64::MAX)
    }
}
