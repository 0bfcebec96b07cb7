//! Placement: the threads that share a core, and those that have one of their own.
//!
//! The simulated machine gives its cores to the most urgent threads and moves threads to make room. So where all
//! threads that could use some cores fit on them at once, each has a core of its own whatever the others do.

use rospin_scenario::Scenario;

use crate::error::AnalysisError;
use crate::system::{Callback, Core, Executor};

/// Returns the cores with the executors on each, and enters into each executor with callbacks the place of its core in
/// that list. Errors name arrangements for which no bound is known.
pub(crate) fn place(
    scenario: &Scenario,
    executors: &mut [Executor],
    callbacks: &[Callback],
) -> Result<Vec<Core>, AnalysisError> {
    let count = scenario.core_count();
    let usable: Vec<Vec<u16>> = scenario
        .executors
        .iter()
        .map(|plan| if plan.cores.is_empty() { (0..count).collect() } else { plan.cores.clone() })
        .collect();
    let mut open: Vec<usize> = (0..executors.len()).filter(|number| !executors[*number].callbacks.is_empty()).collect();
    let mut cores = Vec::new();
    while let Some(first) = open.first().copied() {
        let members = component(first, &open, &usable);
        open.retain(|executor| !members.contains(executor));
        for core in place_component(&members, &usable, executors, callbacks)? {
            for executor in &core.executors {
                executors[*executor].core = cores.len();
            }
            cores.push(core);
        }
    }
    cores.sort_by_key(|core| core.numbers.first().copied());
    for (number, core) in cores.iter().enumerate() {
        core.executors.iter().for_each(|executor| executors[*executor].core = number);
    }
    Ok(cores)
}

/// Returns the executors that share cores with `first`, directly or through others.
fn component(first: usize, open: &[usize], usable: &[Vec<u16>]) -> Vec<usize> {
    let mut members = vec![first];
    let mut cores = usable[first].clone();
    loop {
        let shares = |other: &&usize| usable[**other].iter().any(|core| cores.contains(core));
        let Some(next) = open.iter().filter(shares).find(|other| !members.contains(other)) else {
            members.sort_unstable();
            return members;
        };
        members.push(*next);
        cores.extend(&usable[*next]);
    }
}

/// Returns the cores of executors that [`component`] found, or refuses what the analysis does not cover.
fn place_component(
    members: &[usize],
    usable: &[Vec<u16>],
    executors: &[Executor],
    callbacks: &[Callback],
) -> Result<Vec<Core>, AnalysisError> {
    let refuse = |member: usize, reason: String, fix: &str| {
        let name = &callbacks[executors[member].callbacks[0]].name;
        Err(AnalysisError::not_analyzable(name.clone(), reason, fix))
    };
    let reserved_threads =
        |member: &&usize| executors[**member].reservation.is_some() && executors[**member].threads > 1;
    if let Some(many) = members.iter().find(reserved_threads) {
        let reason = format!("its executor `{}` has a reservation and several threads", executors[*many].name);
        return refuse(*many, reason, "give the executor one thread, or no reservation");
    }
    if let Some(cores) = fit(members, usable, executors) {
        return Ok(cores);
    }
    let mut numbers: Vec<u16> = members.iter().flat_map(|member| usable[*member].iter().copied()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let alike = |member: &usize| {
        let own = &executors[*member];
        numbers.iter().all(|core| usable[*member].contains(core)) && own.threads == 1 && own.reservation.is_none()
    };
    if numbers.len() > 1 && members.iter().all(alike) {
        return Ok(vec![Core { numbers, executors: members.to_vec() }]);
    }
    if numbers.len() > 1 {
        let names: Vec<_> = members.iter().map(|member| executors[*member].name.as_str()).collect();
        let reason = format!(
            "more threads than cores, and they move between these, which have not all the same cores and one thread: {}",
            names.join(", ")
        );
        let fix =
            "give each executor one core, as in `cores = [0]`, or one thread and all the same cores, or add cores";
        return refuse(members[0], reason, fix);
    }
    if let Some(many) = members.iter().find(|member| executors[**member].threads > 1) {
        let reason = format!("the threads of its executor `{}` share a core", executors[*many].name);
        return refuse(*many, reason, "give the executor one thread, or as many cores as threads");
    }
    let reserved = members.iter().filter(|member| executors[**member].reservation.is_some()).count();
    if reserved > 0 && reserved < members.len() {
        let without = members.iter().find(|member| executors[**member].reservation.is_none()).copied();
        let reason = "it shares a core with an executor that has a reservation, and has none".to_owned();
        return refuse(without.unwrap_or(members[0]), reason, "give every executor on that core a reservation");
    }
    Ok(vec![Core { numbers, executors: members.to_vec() }])
}

/// Returns the cores of each executor, one for each of its threads; `None` if there are too few (augmenting paths, Kuhn
/// 1955).
fn fit(members: &[usize], usable: &[Vec<u16>], executors: &[Executor]) -> Option<Vec<Core>> {
    let threads: Vec<usize> =
        members.iter().flat_map(|member| (0..executors[*member].threads).map(move |_| *member)).collect();
    let mut owners: Vec<Option<usize>> = vec![None; 1 + usize::from(usable.iter().flatten().copied().max()?)];
    for thread in 0..threads.len() {
        if !seat(thread, &threads, usable, &mut owners, &mut vec![false; threads.len()]) {
            return None;
        }
    }
    let seated = |member: &usize| {
        let mine = |(_, owner): &(usize, &Option<usize>)| owner.is_some_and(|thread| threads[thread] == *member);
        let numbers = owners.iter().enumerate().filter(mine).map(|(core, _)| core as u16).collect();
        Core { numbers, executors: vec![*member] }
    };
    Some(members.iter().map(seated).collect())
}

/// Gives the thread a core. If all that it may use are taken, moves their threads to other cores, each thread at most
/// once. Returns false if there is no way. Recurses once for each thread that is moved, so at most 64 deep, the number
/// of cores.
fn seat(
    thread: usize,
    threads: &[usize],
    usable: &[Vec<u16>],
    owners: &mut [Option<usize>],
    moved: &mut [bool],
) -> bool {
    if std::mem::replace(&mut moved[thread], true) {
        return false;
    }
    for core in &usable[threads[thread]] {
        let owner = owners[usize::from(*core)];
        if owner.is_none_or(|owner| seat(owner, threads, usable, owners, moved)) {
            owners[usize::from(*core)] = Some(thread);
            return true;
        }
    }
    false
}
