//! Locks that callbacks share, with priority inheritance.
//!
//! Consider the busy window of a callback, in which its executor or one that is no less urgent always has something to
//! run. An executor with a smaller OS priority runs in it only while a thread that is no less urgent waits for a lock
//! that this executor holds. It asked for that lock before the window began, because otherwise it does not run in the
//! window. Once it has released the lock, it does not run again. So the window has at most one critical section of each
//! less urgent executor, of a lock that a callback which is no less urgent takes, too (Sha, Rajkumar and Lehoczky, IEEE
//! Transactions on Computers 1990). Their other bound, one section of each lock, does not hold: a lock is passed to a
//! thread that waited for it, which may belong to the next less urgent executor. That time belongs to the window,
//! whichever thread waits for which: the core is never idle in it, because all threads that may wait for each other are
//! on it.
//!
//! A thread that waits for a lock leaves its core to others of its priority, so these may run in the middle of a
//! callback.
//!
//! Theorems and proofs: `book/src/analysis/joins-locks-reservations.md`.

use std::collections::BTreeMap;

use crate::error::AnalysisError;
use crate::system::{Callback, Executor, System};

/// Returns true if two callbacks can want a lock at the same time.
fn contend(system: &System, one: usize, other: usize) -> bool {
    let plan = &system.callbacks[one];
    let apart = plan.executor != system.callbacks[other].executor;
    let parallel = system.executors[plan.executor].threads > 1 && !plan.mates.contains(&other);
    apart || parallel
}

/// Returns the callbacks that take a lock and may find it taken.
fn users(system: &System, lock: usize) -> Vec<usize> {
    let takes = |callback: &usize| system.callbacks[*callback].sections.iter().any(|(taken, _)| *taken == lock);
    let all: Vec<usize> = (0..system.callbacks.len()).filter(takes).collect();
    // Activations of a reentrant callback compete with each other for the lock.
    let contends = |callback: &usize| {
        let alone = system.callbacks[*callback].in_flight > 1
            && system.executors[system.callbacks[*callback].executor].threads > 1;
        alone || all.iter().any(|other| other != callback && contend(system, *callback, *other))
    };
    all.iter().copied().filter(contends).collect()
}

/// Refuses locks, of these names, for which there is no bound here. The error names a callback that takes the lock, or
/// that awaits on the lock's core.
pub(crate) fn check(system: &System, names: &[String]) -> Result<(), AnalysisError> {
    for (lock, name) in names.iter().enumerate() {
        let users = users(system, lock);
        let Some(&first) = users.first() else { continue };
        let executor_of = |callback: usize| &system.executors[system.callbacks[callback].executor];
        let refuse = |callback: usize, reason: String, fix: &str| {
            Err(AnalysisError::not_analyzable(&system.callbacks[callback].name, reason, fix))
        };
        let core = executor_of(first).core;
        for &user in &users {
            let executor = executor_of(user);
            if executor.core != core {
                let other = &system.callbacks[first].name;
                let reason = format!("it shares lock `{name}` with `{other}`, which runs on another core");
                return refuse(user, reason, "move both to one core, or send a message instead");
            }
            if system.moves(system.callbacks[user].executor) {
                let reason =
                    format!("it shares lock `{name}`, and its executor `{}` moves between cores", executor.name);
                return refuse(user, reason, "give each executor one core, as in `cores = [0]`");
            }
            if executor.threads > 1 {
                let reason = format!("lock `{name}` is shared between threads of its executor `{}`", executor.name);
                return refuse(user, reason, "put those who share it into one mutually exclusive group");
            }
            if executor.reservation.is_some() {
                let reason = format!("lock `{name}` is shared across the reservation of `{}`", executor.name);
                return refuse(user, reason, "share no lock with others, or give up the reservation");
            }
        }
        let on_core = |plan: &&Callback| system.executors[plan.executor].core == core;
        if let Some(plan) = system.callbacks.iter().filter(on_core).find(|plan| plan.is_async()) {
            return Err(AnalysisError::not_analyzable(
                &plan.name,
                format!("it awaits, on a core where lock `{name}` is shared between executors"),
                "move it to another core, or send a message instead",
            ));
        }
    }
    Ok(())
}

/// Returns true if executors on this core share a lock.
pub(crate) fn are_shared(system: &System, core: usize) -> bool {
    let on_core = |callback: &&Callback| system.executors[callback.executor].core == core;
    let mut owners: BTreeMap<usize, usize> = BTreeMap::new();
    system.callbacks.iter().filter(on_core).any(|callback| {
        callback.sections.iter().any(|(lock, _)| *owners.entry(*lock).or_insert(callback.executor) != callback.executor)
    })
}

/// Returns how long less urgent executors run in a busy window of this one, because they hold locks that more urgent
/// callbacks want.
pub(crate) fn blocking(system: &System, executor: &Executor) -> u64 {
    let is_taken_above = |lock: usize, below: usize| {
        let above = |user: &Callback| {
            let host = &system.executors[user.executor];
            host.core == executor.core && host.os_priority >= executor.os_priority && user.executor != below
        };
        let takes = |user: &Callback| user.sections.iter().any(|(taken, _)| *taken == lock);
        system.callbacks.iter().any(|user| above(user) && takes(user))
    };
    let mut longest: BTreeMap<usize, u64> = BTreeMap::new();
    for callback in &system.callbacks {
        let host = &system.executors[callback.executor];
        if host.core != executor.core || host.os_priority >= executor.os_priority {
            continue;
        }
        for &(_, hold) in callback.sections.iter().filter(|(lock, _)| is_taken_above(*lock, callback.executor)) {
            let known = longest.entry(callback.executor).or_insert(0);
            *known = hold.max(*known);
        }
    }
    longest.values().sum()
}
