//! Units of an executor with several threads: their work, and what follows from it in other units. See
//! [`units`](crate::units).

use crate::arrivals::Arrivals;
use crate::known::Known;
use crate::system::System;

/// Number of threads that a unit's callbacks can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Width {
    /// One at most.
    Narrow,
    /// Several.
    Wide,
    /// All; nothing but the threads keeps an activation waiting.
    Free,
}

/// Callback of a unit.
pub(crate) struct Part {
    pub(crate) callback: usize,
    /// Arrivals in a window of the unit, with the jitter of senders outside of it; `None` if that has no bound.
    pub(crate) arrivals: Option<Arrivals>,
    /// Execution time of an activation.
    pub(crate) cost: u64,
    /// Execution time of an activation, and the time that it awaits something.
    pub(crate) serial: u64,
    /// Arrivals that follow from what is released in the executor in a window, without what was there before.
    pub(crate) fresh: Arrivals,
    /// Execution time of an activation and of all that follows from it.
    pub(crate) tree: u64,
    /// Largest number of its activations that are not done at one time, by its bound so far; `u64::MAX` if that is not
    /// known.
    pub(crate) at_once: u64,
    /// By unit, execution time and waits of all that follows there from the end of an activation. Empty if that is not
    /// looked at.
    pub(crate) onward: Vec<u64>,
    /// By callback of the system, how often it is released by what follows from the end of an activation. Empty if that
    /// is not looked at.
    pub(crate) paths: Vec<u64>,
    /// Largest number of its activations that may have begun at one time.
    pub(crate) begun: u64,
    /// The group in which only one activation of this callback or of the others there has begun; `None` if others may
    /// begin before it has ended.
    pub(crate) excluded_by: Option<usize>,
}

/// Callbacks that share the threads with others as a whole.
pub(crate) struct Unit {
    pub(crate) first: usize,
    pub(crate) parts: Vec<Part>,
    pub(crate) width: Width,
    /// True if some callback awaits something.
    pub(crate) awaits: bool,
    /// Longest time for which a less urgent callback of the same group can run in a window.
    pub(crate) blocking: u64,
}

impl Part {
    /// Returns the number of arrivals in a window of the unit; `u64::MAX` if it has no bound.
    fn number(&self, length: u64) -> u64 {
        self.arrivals.as_ref().map_or(u64::MAX, |arrivals| arrivals.number(length))
    }
}

impl Unit {
    /// Returns the sum over all parts.
    fn sum(&self, of_part: impl Fn(&Part) -> u64) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(of_part(part)))
    }

    /// Returns true if the arrivals of all its callbacks have a bound.
    pub(crate) fn is_bounded(&self) -> bool {
        self.parts.iter().all(|part| part.arrivals.is_some())
    }

    /// Returns true if no more of its activations than some number are ever left.
    pub(crate) fn is_held(&self) -> bool {
        self.parts.iter().all(|part| part.at_once < u64::MAX)
    }

    /// Returns the execution time that belongs to releases in an interval of this length.
    pub(crate) fn work(&self, length: u64) -> u64 {
        self.sum(|part| part.number(length).saturating_mul(part.cost))
    }

    /// Returns the execution time of all that follows in this unit from releases in an interval of this length.
    pub(crate) fn fresh(&self, length: u64) -> u64 {
        self.sum(|part| part.fresh.number(length).saturating_mul(part.cost))
    }

    /// Returns the execution time and waits of all that follows in this unit from releases in an interval of this
    /// length.
    pub(crate) fn fresh_serial(&self, length: u64) -> u64 {
        self.sum(|part| part.fresh.number(length).saturating_mul(part.serial))
    }

    /// Returns the most that may follow from activations that are not done at one time, by their number, with so much
    /// that follows from one of each callback.
    pub(crate) fn held(&self, of_part: impl Fn(&Part) -> u64) -> u64 {
        self.sum(|part| part.at_once.saturating_mul(of_part(part)))
    }

    /// Returns the most that may follow from activations that have begun at one time, with so much that follows from
    /// one of each callback.
    pub(crate) fn begun(&self, of_part: impl Fn(&Part) -> u64) -> u64 {
        let mut groups: Vec<(usize, u64)> = Vec::new();
        let mut sum: u64 = 0;
        for part in &self.parts {
            let value = of_part(part);
            let Some(group) = part.excluded_by else {
                sum = sum.saturating_add(value.saturating_mul(part.begun.min(part.at_once)));
                continue;
            };
            match groups.iter_mut().find(|(known, _)| *known == group) {
                Some((_, most)) => *most = value.max(*most),
                None => groups.push((group, value)),
            }
        }
        groups.into_iter().fold(sum, |sum, (_, most)| sum.saturating_add(most))
    }

    /// Returns the time for which this unit alone can be busy in a window of this length, with what its activations
    /// await. No more than `entering` follows from what was in other units when the window began.
    pub(crate) fn serial(&self, length: u64, entering: u64) -> u64 {
        let by_jitter = self.sum(|part| part.number(length).saturating_mul(part.serial));
        by_jitter.min(self.fresh_serial(length).saturating_add(entering))
    }

    /// Returns the most that may follow from activations of this unit that are not done, with so much that follows from
    /// one of each callback. No more than `backlog` is left of the unit itself.
    pub(crate) fn rest(&self, backlog: u64, of_part: impl Fn(&Part) -> u64) -> u64 {
        let by_number = self.sum(|part| part.at_once.saturating_mul(of_part(part)));
        if by_number == 0 || self.width != Width::Narrow || self.awaits {
            return by_number;
        }
        let items = self.parts.iter().map(|part| (of_part(part), part.cost, part.at_once));
        let rest = crate::left::knapsack(&mut items.collect::<Vec<_>>(), backlog);
        by_number.min(rest.saturating_add(self.begun(&of_part)))
    }

    /// Returns the number of activations that belong to releases in an interval of this length.
    pub(crate) fn count(&self, length: u64) -> u64 {
        self.sum(|part| part.number(length))
    }

    pub(crate) fn weight(&self) -> u64 {
        let weight = |part: &Part| part.arrivals.as_ref().map_or(0, Arrivals::weight);
        self.parts.iter().map(weight).sum::<u64>().max(1)
    }

    /// Returns the first offset after this one from which on more is released.
    pub(crate) fn next_offset(&self, offset: u64) -> Option<u64> {
        let curves = self.parts.iter().flat_map(|part| part.arrivals.iter().chain(std::iter::once(&part.fresh)));
        curves.filter_map(|arrivals| arrivals.next_step(offset + 1)).min().map(|step| step - 1)
    }
}

/// Returns the execution time of each callback and of all that follows from its end among the callbacks that are
/// `inside`.
pub(crate) fn trees(system: &System, inside: &[bool]) -> Vec<u64> {
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

/// Returns, by callback and by unit, the execution time and waits of all that follows there from the callback's end,
/// among the callbacks that are `inside`. `place` is the unit of a callback. `None` if waits have no bound.
pub(crate) fn onward(
    known: &Known<'_>,
    inside: &[bool],
    units: usize,
    place: impl Fn(usize) -> usize,
) -> Option<Vec<Vec<u64>>> {
    let system = known.system;
    let mut found = vec![Vec::new(); system.callbacks.len()];
    (0..found.len()).filter(|callback| inside[*callback]).for_each(|callback| found[callback] = vec![0; units]);
    for &receiver in system.order.iter().rev().filter(|receiver| inside[**receiver]) {
        let plan = &system.callbacks[receiver];
        known.budget.spend(units as u64);
        let mut all = found[receiver].clone();
        all[place(receiver)] = plan.cost().saturating_add(known.waits[receiver]?).saturating_add(all[place(receiver)]);
        for (sender, way) in plan.publishers.iter().zip(&plan.ways) {
            if inside[*sender] && way.longest == 0 {
                found[*sender].iter_mut().zip(&all).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
            }
        }
    }
    Some(found)
}

/// Returns, by callback, how often each callback is released by what follows from the end of one activation, among the
/// callbacks that are `inside`.
pub(crate) fn paths(known: &Known<'_>, inside: &[bool]) -> Vec<Vec<u64>> {
    let system = known.system;
    let count = system.callbacks.len();
    let mut found: Vec<Vec<u64>> = vec![Vec::new(); count];
    (0..count).filter(|callback| inside[*callback]).for_each(|callback| found[callback] = vec![0; count]);
    for &receiver in system.order.iter().rev().filter(|receiver| inside[**receiver]) {
        let plan = &system.callbacks[receiver];
        known.budget.spend(count as u64);
        let mut all = found[receiver].clone();
        all[receiver] += 1;
        for (sender, way) in plan.publishers.iter().zip(&plan.ways) {
            if inside[*sender] && way.longest == 0 {
                found[*sender].iter_mut().zip(&all).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
            }
        }
    }
    found
}
