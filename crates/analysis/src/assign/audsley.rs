//! Audsley's optimal priority assignment, for the executors of a core and for the callbacks of each executor.
//!
//! The bounds of an executor depend on which others are more urgent, not on their order; the same is true of callbacks
//! inside an executor. So any one that meets its deadlines at the lowest level may have that level.

use crate::budget::Budget;
use crate::error::AnalysisError;
use crate::solve::solve;
use crate::system::{Policy, System};

/// Assigns OS priorities to the executors of each core, and priorities to the callbacks of executors with fixed
/// priorities. The error names a callback that misses its deadline.
pub(super) fn assign(system: &mut System) -> Result<(), AnalysisError> {
    for core in 0..system.cores.len() {
        let mut open = system.cores[core].executors.clone();
        // All executors start above the levels that are assigned from below.
        let above = u8::try_from(open.len()).unwrap_or(u8::MAX).saturating_add(1).min(99);
        open.iter().for_each(|executor| system.executors[*executor].os_priority = above);
        for level in 1..=open.len() {
            let before = system.clone();
            let fits = |executor: &usize| {
                let mut candidate = before.clone();
                candidate.executors[*executor].os_priority = u8::try_from(level).unwrap_or(u8::MAX).min(98);
                inside(&mut candidate, *executor).ok().map(|()| (*executor, candidate))
            };
            let Some((executor, candidate)) = open.iter().find_map(fits) else {
                return Err(inside_error(&before, &open, level));
            };
            *system = candidate;
            open.retain(|other| *other != executor);
        }
    }
    // If bounds depend on each other, a deadline that held at a lower level may be missed now.
    let solution = solve(system, &budget(system));
    match (0..system.callbacks.len()).find(|callback| !holds(system, *callback, solution.found[*callback].bound)) {
        Some(callback) => Err(refusal(system, callback, system.callbacks[callback].priority)),
        None => Ok(()),
    }
}

/// Assigns priorities to the callbacks of one executor, if its policy has any. The error names a callback that misses
/// its deadline nevertheless.
fn inside(system: &mut System, executor: usize) -> Result<(), AnalysisError> {
    let mut open = system.executors[executor].callbacks.clone();
    if system.executors[executor].policy != Policy::FixedPriority {
        let solution = solve(system, &budget(system));
        let late = open.into_iter().find(|callback| !holds(system, *callback, solution.found[*callback].bound));
        return late.map_or(Ok(()), |callback| Err(refusal(system, callback, 1)));
    }
    let above = open.len() as u32 + 1;
    open.iter().for_each(|callback| system.callbacks[*callback].priority = above);
    for level in 1..above {
        let fits = |callback: &usize| {
            let mut candidate = system.clone();
            candidate.callbacks[*callback].priority = level;
            holds(&candidate, *callback, solve(&candidate, &budget(&candidate)).found[*callback].bound)
        };
        let Some(place) = open.iter().position(fits) else {
            return Err(refusal(system, open[0], level));
        };
        let callback = open.remove(place);
        system.callbacks[callback].priority = level;
    }
    Ok(())
}

/// Returns the limit of the work by which the bounds of one candidate assignment are computed.
fn budget(system: &System) -> Budget {
    Budget::for_bounds(system.callbacks.len(), None)
}

fn holds(system: &System, callback: usize, bound: Option<u64>) -> bool {
    bound.is_some_and(|bound| system.callbacks[callback].deadline.is_none_or(|deadline| bound <= deadline))
}

fn refusal(system: &System, callback: usize, level: u32) -> AnalysisError {
    AnalysisError::NoFeasiblePriorities { callback: system.callbacks[callback].name.clone(), level }
}

/// Returns the reason that none of the executors can have the level: the error of the first of them.
fn inside_error(system: &System, open: &[usize], level: usize) -> AnalysisError {
    let mut candidate = system.clone();
    candidate.executors[open[0]].os_priority = u8::try_from(level).unwrap_or(u8::MAX).min(98);
    let first = system.executors[open[0]].callbacks[0];
    inside(&mut candidate, open[0]).err().unwrap_or_else(|| refusal(system, first, 1))
}
