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
    /// Number of threads of the executor.
    pub(crate) threads: u64,
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

    /// Returns the execution time that belongs to releases in an interval of this length.
    pub(crate) fn work(&self, length: u64) -> u64 {
        self.sum(|part| part.number(length).saturating_mul(part.cost))
    }

    /// Returns the execution time of all that follows in this unit from releases in an interval of this length.
    pub(crate) fn fresh(&self, length: u64) -> u64 {
        self.sum(|part| part.fresh.number(length).saturating_mul(part.cost))
    }

    /// Returns the time for which this unit alone can be busy in a window of this length, with what its activations
    /// await. No more than `entering` follows from what was in other units when the window began.
    pub(crate) fn serial(&self, length: u64, entering: u64) -> u64 {
        let by_jitter = self.sum(|part| part.number(length).saturating_mul(part.serial));
        let fresh = self.sum(|part| part.fresh.number(length).saturating_mul(part.serial));
        by_jitter.min(fresh.saturating_add(entering))
    }

    /// Returns the most that may be left of its activations and of all that follows from them, when no more than
    /// `backlog` is left of the unit itself.
    pub(crate) fn tree(&self, backlog: u64) -> u64 {
        let own = self.sum(|part| part.at_once.saturating_mul(part.cost)).min(backlog);
        own.saturating_add(self.following(backlog, u64::MAX, |part| part.tree - part.cost))
    }

    /// Returns the most that may follow in the unit `to` from activations of this one that are not done. No more than
    /// `backlog` is left of this unit, and no more than `all` of all units, with what follows.
    pub(crate) fn onward(&self, to: usize, backlog: u64, all: u64) -> u64 {
        self.following(backlog, all, |part| part.onward[to])
    }

    /// Returns the most that may follow from activations of this unit that are not done, with so much that follows from
    /// one of each callback.
    fn following(&self, backlog: u64, all: u64, of_part: impl Fn(&Part) -> u64) -> u64 {
        let by_number = self.sum(|part| part.at_once.saturating_mul(of_part(part)));
        if self.width == Width::Free && by_number > 0 {
            // Whatever waits has its whole tree left.
            let part = &self.parts[0];
            let waiting = (all / part.tree.max(1)).saturating_add(self.threads);
            return by_number.min(waiting.saturating_mul(of_part(part)));
        }
        if by_number == 0 || self.width != Width::Narrow || self.awaits {
            return by_number;
        }
        // One activation may have begun. Its rest is in the backlog, and whatever it sends at its end is still to come.
        let begun = self.parts.iter().map(&of_part).max().unwrap_or(0);
        let mut parts: Vec<(&Part, u64)> = self.parts.iter().map(|part| (part, of_part(part))).collect();
        let share = |(part, follows): &(&Part, u64)| *follows as f64 / part.cost as f64;
        parts.sort_by(|one, other| share(other).total_cmp(&share(one)));
        let (mut room, mut sum) = (backlog, begun);
        for (part, follows) in parts {
            let taken = part.at_once.saturating_mul(part.cost).min(room);
            room -= taken;
            let value = (u128::from(taken) * u128::from(follows)).div_ceil(u128::from(part.cost.max(1)));
            sum = sum.saturating_add(u64::try_from(value).unwrap_or(u64::MAX));
        }
        by_number.min(sum)
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
