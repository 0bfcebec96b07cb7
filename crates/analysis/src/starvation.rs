//! Callbacks on several threads for which no bound can exist, because their group may starve.
//!
//! While a group has something to run and does not run, all threads are busy with others. Let it ask for the share u of
//! a thread, with what it awaits while it is held. If it is behind for long, it was passed over for at least 1 - u of
//! the time, and then others kept all m threads busy, each mutually exclusive one of them no longer than that. So if
//! the others, each with no more than 1 - u, ask for less than m (1 - u), the group does not starve, whatever the
//! order. If they ask for as much, there may be an order under which it does; whether the executor's is one of them, and
//! for which phases, is not known.
//!
//! First in, first out, and by deadlines, the order itself prevents that: whatever is released later comes after.
//! Under fixed priorities, something that is no less urgent runs at each time at which the group is passed over.
//!
//! A group that starves keeps a thread busy for as long as it likes once it runs, and so may those that it sends to.
//! The others have the threads that are left.
//!
//! Theorems and proofs: `book/src/analysis/several-threads.md`.

use crate::division::Division;
use crate::known::Solution;
use crate::report::Unbounded;
use crate::system::{Callback, Policy, System};

/// Shares of time that the callbacks of an executor with several threads ask for.
struct Loads<'a> {
    system: &'a System,
    callbacks: &'a [usize],
    /// Execution time and waits, as shares, by callback of the system.
    work: Vec<f64>,
    waits: Vec<f64>,
}

impl Loads<'_> {
    /// Returns the group that excludes others of its callbacks; `None` for a callback that can run several times at
    /// once.
    fn group(&self, callback: usize) -> Option<usize> {
        let plan = &self.system.callbacks[callback];
        let excludes = plan.in_flight == 1 || !plan.mates.is_empty();
        excludes.then(|| Division::Groups.unit_of(self.system, callback))
    }

    /// Returns the share of a thread for which a group is held.
    fn held(&self, group: usize) -> f64 {
        let members = self.callbacks.iter().filter(|member| self.group(**member) == Some(group));
        let share = |member: &usize| {
            let waits = if self.system.callbacks[*member].releases_group { 0.0 } else { self.waits[*member] };
            self.work[*member] + waits
        };
        members.map(share).sum()
    }

    /// Returns the work of callbacks other than those of a group, with no more of each other group than `share`.
    fn others(&self, group: Option<usize>, share: f64, counts: &dyn Fn(usize) -> bool) -> f64 {
        let (mut sum, mut groups) = (0.0, Vec::<(usize, f64)>::new());
        for &other in self.callbacks.iter().filter(|other| counts(**other)) {
            match self.group(other) {
                None => sum += self.work[other],
                its if its == group => {}
                Some(its) => match groups.iter_mut().find(|(known, _)| *known == its) {
                    Some((_, work)) => *work += self.work[other],
                    None => groups.push((its, self.work[other])),
                },
            }
        }
        sum + groups.into_iter().map(|(_, work)| work.min(share)).sum::<f64>()
    }
}

/// Returns true if the order of an executor keeps later releases from going before a callback.
fn comes_in_turn(system: &System, callback: usize) -> bool {
    let plan = &system.callbacks[callback];
    match system.executors[plan.executor].policy {
        Policy::Fifo => true,
        Policy::Edf => plan.deadline.is_some(),
        Policy::FixedPriority | Policy::WaitSet { .. } => false,
    }
}

/// Returns by callback without a bound if it may starve: by its load and that of the others, these can keep it from
/// running, or one that sends to it.
pub(crate) fn of(system: &System, solution: &Solution) -> Vec<bool> {
    let rates = system.rates();
    let share = |time: &dyn Fn(usize, &Callback) -> u64| -> Vec<f64> {
        let plans = system.callbacks.iter().enumerate();
        plans.map(|(callback, plan)| rates[callback] * time(callback, plan) as f64).collect()
    };
    let work = share(&|_, plan| plan.cost());
    let waits = share(&|callback, _| solution.waits[callback].unwrap_or(0));
    let has_bound: Vec<bool> = solution.found.iter().map(|found| found.bound.is_some()).collect();
    let mut starves = vec![false; system.callbacks.len()];
    for executor in system.executors.iter().filter(|executor| executor.threads > 1) {
        let loads = Loads { system, callbacks: &executor.callbacks, work: work.clone(), waits: waits.clone() };
        loop {
            let before = starves.clone();
            let mut groups: Vec<Option<usize>> = executor
                .callbacks
                .iter()
                .filter(|callback| before[**callback])
                .map(|callback| loads.group(*callback))
                .collect();
            groups.sort_unstable();
            groups.dedup();
            // A callback of a reentrant group can have all threads for as long as it likes.
            let taken = if groups.contains(&None) { executor.threads } else { groups.len() as u64 };
            let threads = executor.threads.saturating_sub(taken) as f64;
            for &callback in executor.callbacks.iter().filter(|callback| !has_bound[**callback]) {
                let group = loads.group(callback);
                let left = 1.0 - group.map_or(0.0, |group| loads.held(group));
                let stays = |other: usize| !before[other];
                let is_urgent = |other: usize| system.urgency(other) >= system.urgency(callback);
                let may = loads.others(group, left, &stays) >= threads * left
                    && (taken > 0 || loads.others(group, left, &|other| stays(other) && is_urgent(other)) >= left);
                // A group that is held for longer than there is time falls behind under every order.
                starves[callback] |= left <= 0.0 || may && !comes_in_turn(system, callback);
            }
            for (receiver, plan) in system.callbacks.iter().enumerate().filter(|(receiver, _)| !has_bound[*receiver]) {
                starves[receiver] |= plan.publishers.iter().any(|sender| starves[*sender]);
            }
            if starves == before {
                break;
            }
        }
    }
    starves
}

/// Returns the kind of reason for which a callback has no bound, by what [`of`] says.
pub(crate) fn kind(system: &System, starves: &[bool], root: usize, callback: usize) -> Unbounded {
    if starves[callback] {
        return Unbounded::MayStarve;
    }
    let executor = &system.executors[system.callbacks[root].executor];
    let all_in_turn = executor.callbacks.iter().all(|member| comes_in_turn(system, *member));
    let grows = executor.threads > 1 && !all_in_turn && circle(system, root).is_some();
    if grows { Unbounded::MayGrow } else { Unbounded::Unknown }
}

/// Returns the first callbacks of two mutually exclusive groups of one executor that send to each other, directly or
/// through others, if a callback belongs to one of them or gets messages from one; `None` if there are no such groups.
pub(crate) fn circle(system: &System, callback: usize) -> Option<(usize, usize)> {
    let group = |callback: usize| Division::Groups.unit_of(system, callback);
    let count = system.callbacks.len();
    // By group, those that it sends to, and those that send to it.
    let (mut sends, mut hears) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for (receiver, plan) in system.callbacks.iter().enumerate() {
        for sender in &plan.publishers {
            let (from, to) = (group(*sender), group(receiver));
            if from != to {
                sends[from].push(to);
                hears[to].push(from);
            }
        }
    }
    let own = group(callback);
    let is_exclusive = |first: usize| system.callbacks[first].in_flight == 1;
    let before = reached(&hears, own);
    let is_near = |first: usize| first == own || before[first];
    for first in (0..count).filter(|first| is_exclusive(*first) && is_near(*first) && !sends[*first].is_empty()) {
        let (to, from) = (reached(&sends, first), reached(&hears, first));
        if let Some(other) = (0..count).find(|other| *other != first && to[*other] && from[*other]) {
            return Some((first, other));
        }
    }
    None
}

/// Returns by group if it is reached from that one, by one step or more.
fn reached(steps: &[Vec<usize>], from: usize) -> Vec<bool> {
    let mut reached = vec![false; steps.len()];
    let mut open = vec![from];
    while let Some(group) = open.pop() {
        for &next in &steps[group] {
            if !std::mem::replace(&mut reached[next], true) {
                open.push(next);
            }
        }
    }
    reached
}
