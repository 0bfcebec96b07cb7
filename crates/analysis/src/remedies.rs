//! Changes with which a callback without a bound has one, found by trying them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::budget::Budget;
use crate::solve::solve;
use crate::system::{Policy, System};

/// Largest number of callbacks of a system in which changes are tried.
const TRIED_MAX: usize = 100;
/// Units of work for a first trial of each change.
const WORK: u64 = 4_000_000;
/// Loads are tried in steps of so many per cent of the present one.
const LOAD_STEP: u64 = 5;

/// Change of an executor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Remedy {
    FirstInFirstOut,
    Threads(u64),
    /// The group of this callback becomes reentrant.
    Reentrant(usize),
    /// All callbacks of the executor take so many per cent of their time.
    Load(u64),
}

/// Work that is spent on a trial.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Effort {
    /// Enough for most changes.
    Some,
    /// As much as on the analysis of the changed system. With more work, some bounds are found in another way, which may
    /// end without one.
    Whole,
}

/// For executors and changes that were tried, which callbacks have a bound then.
#[derive(Default)]
pub(crate) struct Trials(RefCell<BTreeMap<(usize, Remedy, Effort), Vec<bool>>>);

impl Trials {
    /// Returns true if the analysis finds a bound of a callback after a change of an executor.
    fn is_bounded(&self, system: &System, callback: usize, executor: usize, remedy: Remedy) -> bool {
        let found = |effort| self.found(system, callback, (executor, remedy, effort));
        found(Effort::Some) && found(Effort::Whole)
    }

    /// Returns true if a callback has a bound in a trial.
    fn found(&self, system: &System, callback: usize, trial: (usize, Remedy, Effort)) -> bool {
        let (executor, remedy, effort) = trial;
        let mut tried = self.0.borrow_mut();
        let known = tried.entry(trial).or_insert_with(|| {
            let changed = changed(system, executor, remedy);
            // The cores stay as they are, so with fewer threads the load of the threads counts, too.
            if is_overloaded(&changed, executor) || changed.check_load().is_err() {
                return vec![false; system.callbacks.len()];
            }
            let budget = match effort {
                Effort::Some => Budget::of(WORK, None),
                Effort::Whole => Budget::for_bounds(system.callbacks.len(), None),
            };
            let solution = solve(&changed, &budget);
            solution.found.iter().map(|found| found.bound.is_some()).collect()
        });
        known[callback]
    }
}

/// Returns true if the callbacks of an executor ask for more time than its threads have.
fn is_overloaded(system: &System, executor: usize) -> bool {
    let rates = system.rates();
    let members = system.executors[executor].callbacks.iter();
    let load: f64 = members.map(|member| rates[*member] * system.callbacks[*member].cost() as f64).sum();
    load > system.executors[executor].threads as f64
}

/// Returns the system after a change of an executor.
fn changed(system: &System, executor: usize, remedy: Remedy) -> System {
    let mut changed = system.clone();
    match remedy {
        Remedy::FirstInFirstOut => changed.executors[executor].policy = Policy::Fifo,
        Remedy::Threads(count) => {
            let threads = changed.executors[executor].threads;
            changed.executors[executor].threads = count;
            // Reentrant callbacks that can have all threads still can.
            for &member in &system.executors[executor].callbacks {
                let in_flight = &mut changed.callbacks[member].in_flight;
                if u64::from(*in_flight) == threads && threads > 1 {
                    *in_flight = u32::try_from(count).unwrap_or(*in_flight);
                }
            }
        }
        Remedy::Reentrant(member) => {
            let threads = u32::try_from(system.executors[executor].threads).unwrap_or(u32::MAX);
            let mates = system.callbacks[member].mates.clone();
            for callback in mates.into_iter().chain([member]) {
                changed.callbacks[callback].mates.clear();
                changed.callbacks[callback].in_flight = threads;
            }
            changed.components = crate::division::components(&changed.callbacks);
        }
        Remedy::Load(percent) => {
            for &member in &system.executors[executor].callbacks {
                let segments = changed.callbacks[member].segments.iter_mut();
                segments.for_each(|time| *time = (*time * percent / 100).max(1));
                changed.callbacks[member].shortest = changed.callbacks[member].shortest * percent / 100;
            }
        }
    }
    changed
}

/// Returns true if the system is small enough for changes to be tried.
pub(crate) fn are_tried(system: &System) -> bool {
    system.callbacks.len() <= TRIED_MAX
}

/// Returns the sentence for systems in which no change is tried.
pub(crate) fn not_tried() -> String {
    format!("; changes are tried in systems of up to {TRIED_MAX} callbacks: analyze this executor alone")
}

/// Returns changes of the executor of `root`, each of which alone gives a callback a bound, in words. Empty if none was
/// found, or none was tried.
///
/// `root` is the callback without a bound from which the messages to this one come, or the callback itself.
pub(crate) fn of(system: &System, trials: &Trials, root: usize, callback: usize) -> Vec<String> {
    let plan = &system.callbacks[root];
    let executor = &system.executors[plan.executor];
    let mut found = Vec::new();
    if !are_tried(system) {
        return found;
    }
    let helps = |remedy: Remedy| trials.is_bounded(system, callback, plan.executor, remedy);
    if executor.threads > 1 {
        // With a thread for each group, and for each activation of reentrant callbacks, more threads make no difference.
        let now = executor.threads;
        let most = executor.callbacks.len() as u64;
        if let Some(count) = (now + 1..=most.min(2 * now + 4)).find(|count| helps(Remedy::Threads(*count))) {
            found.push(format!("with {count} threads"));
        }
        if executor.policy != Policy::Fifo && helps(Remedy::FirstInFirstOut) {
            found.push(format!("if `{}` serves first in, first out", executor.name));
        }
        if !plan.mates.is_empty() && !plan.is_async() && helps(Remedy::Reentrant(root)) {
            found.push(format!("if group `{}` is reentrant", plan.group));
        }
        if found.is_empty() && helps(Remedy::Threads(1)) {
            found.push("with one thread".to_owned());
        }
    }
    if found.is_empty()
        && let Some(percent) = largest_load(|percent| helps(Remedy::Load(percent)))
    {
        found.push(format!("if each callback of `{}` takes {percent} % of its time", executor.name));
    }
    found
}

/// Returns the largest load that helps, in steps of [`LOAD_STEP`] per cent of the present one; `None` if none does.
fn largest_load(helps: impl Fn(u64) -> bool) -> Option<u64> {
    let mut enough = 0;
    let mut too_much = 100 / LOAD_STEP;
    while too_much - enough > 1 {
        let middle = (enough + too_much) / 2;
        if helps(middle * LOAD_STEP) {
            enough = middle;
        } else {
            too_much = middle;
        }
    }
    (enough > 0).then_some(enough * LOAD_STEP)
}

/// Returns text that names the changes, to follow a reason in the same sentence. It is empty if there are no changes.
pub(crate) fn words(changes: &[String]) -> String {
    match changes {
        [] => String::new(),
        [only] => format!("; {only} it has a bound"),
        [rest @ .., last] => format!("; {} or {last} it has a bound", rest.join(", ")),
    }
}
