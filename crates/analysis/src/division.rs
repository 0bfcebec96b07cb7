//! Divisions of an executor's callbacks into units, which are looked at one by one or together.

use crate::system::{Callback, Policy, System};

/// Largest number of callbacks of an executor in which levels are looked at.
const LEVELS_MAX: usize = 64;

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
pub(crate) fn components(callbacks: &[Callback]) -> Vec<usize> {
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

/// Returns the least urgent level of a callback that has a meaning of its own: its urgency, or 0 if all callbacks
/// belong to it.
pub(crate) fn level(system: &System, callback: usize) -> u32 {
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let is_ordered = matches!(executor.policy, Policy::FixedPriority | Policy::WaitSet { timers_inside: false });
    let awaits = |other: &usize| system.callbacks[*other].is_async();
    if !is_ordered || executor.callbacks.len() > LEVELS_MAX || executor.callbacks.iter().any(awaits) {
        return 0;
    }
    let urgency = system.urgency(callback);
    if executor.callbacks.iter().any(|other| system.urgency(*other) < urgency) { urgency } else { 0 }
}
