//! Solver for all callbacks at once: their response times, and the jitter that they pass on, depend on each other.
//!
//! The holistic iteration of Tindell and Clark (1994), with the arrival curves of compositional analysis: start from
//! the execution times, compute every bound with the jitter that the bounds so far give, until nothing changes. Each
//! bound grows with the others, so what is reached is the least solution; that a solution is a bound follows by
//! induction over the ends of activations: the first one to exceed its bound would have been delayed by activations
//! that did not.
//!
//! Theorems and proofs: `book/src/analysis/index.md`.

use crate::budget::{Budget, Stop};
use crate::busy::Windows;
use crate::known::{Found, GATHERING, Known, Solution};
use crate::system::{Policy, System};
use crate::{accelerators, busy, migrating, parallel, suspension, uniprocessor};

/// The number of exact rounds. After them, or with little of the budget left, bounds grow in strides: they reach a
/// solution that need not be the least one.
const ROUNDS_EXACT: u32 = 64;
/// The number of strides after which bounds that still change are given up.
const STRIDES_MAX: u32 = 48;
/// The number of rounds at the end, in which bounds become no longer than busy windows that follow from the bounds so
/// far.
const SHORTENINGS: usize = 8;
/// Divisors of the budget: the bounds of all callbacks may take a half of it in a round where there is one round, and a
/// sixteenth where there are several. Each callback may take an equal part of that.
const PORTIONS: [u64; 2] = [2, 16];
/// Returns the bound of one callback, by the analysis that applies to it.
pub(crate) fn bound(known: &Known<'_>, callback: usize) -> Found {
    let plan = &known.system.callbacks[callback];
    let executor = &known.system.executors[plan.executor];
    // Collecting the data for the equations is itself work that the budget must cover.
    known.budget.spend(GATHERING * executor.callbacks.len() as u64);
    let found = if known.system.moves(plan.executor) {
        migrating::bound(known, callback)
    } else if executor.threads > 1 {
        parallel::bound(known, callback)
    } else if known.system.suspends(callback) {
        suspension::bound(known, callback)
    } else {
        uniprocessor::bound(known, callback)
    };
    match found.bound {
        Some(bound) if bound > known.system.limit => {
            Found { bound: None, stop: Stop::Limit(known.system.limit), ..found }
        }
        _ => found,
    }
}

/// Way in which bounds are sought.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manner<'a> {
    /// True if the solver ends without a solution as soon as a bound exceeds its deadline.
    pub(crate) only_if_due: bool,
    /// Bounds of another system, from which the search begins. None of them is longer than in this system.
    pub(crate) from: Option<&'a [Option<u64>]>,
}

/// Returns bounds for all callbacks.
pub(crate) fn solve(system: &System, budget: &Budget) -> Solution {
    seek(system, budget, Manner::default()).unwrap_or_else(|| Solution {
        found: Vec::new(),
        arrivals: Vec::new(),
        waits: Vec::new(),
        deep: None,
    })
}

/// Returns bounds for all callbacks, sought in some manner; `None` only if the manner ends the search early.
///
/// The depths of queues count only where bounds are missing without them, or messages may be lost, in systems with
/// executors of several threads.
pub(crate) fn seek(system: &System, budget: &Budget, manner: Manner<'_>) -> Option<Solution> {
    let shares_threads = system.executors.iter().any(|executor| executor.threads > 1) && system.receive == 0;
    if manner.only_if_due && shares_threads {
        return rounds(system, budget, manner, Queues::Count { open: &[] });
    }
    let deep = rounds(system, budget, manner, Queues::Any)?;
    let is_full = |callback: usize| {
        let number = deep.arrivals[callback].as_ref().zip(deep.found[callback].bound);
        number.is_none_or(|(arrivals, bound)| arrivals.number(bound) > system.callbacks[callback].held())
    };
    if !shares_threads || !(0..system.callbacks.len()).any(is_full) {
        return Some(deep);
    }
    let open: Vec<bool> = deep.found.iter().map(|found| found.bound.is_none()).collect();
    let mut solution = rounds(system, budget, manner, Queues::Count { open: &open })?;
    for (found, deep) in solution.found.iter_mut().zip(&deep.found) {
        let (queues, any) = (found.bound.unwrap_or(u64::MAX), deep.bound.unwrap_or(u64::MAX));
        if any <= queues {
            *found = *deep;
        }
    }
    solution.deep = Some(Box::new(deep));
    Some(solution)
}

/// Part that the depths of queues have in a search.
#[derive(Clone, Copy)]
enum Queues<'a> {
    /// Bounds hold for queues of any depth.
    Any,
    /// Bounds may follow from the depths. Those of callbacks that are `open` are sought last, when all others are known;
    /// if it is empty, none are.
    Count { open: &'a [bool] },
}

/// Returns bounds for all callbacks, sought in some manner; `None` only if the manner ends the search early.
fn rounds(system: &System, budget: &Budget, manner: Manner<'_>, queues: Queues<'_>) -> Option<Solution> {
    let count = system.callbacks.len();
    let first = |callback: usize| {
        let before = manner.from.and_then(|from| from[callback]).unwrap_or(0);
        let is_open = matches!(queues, Queues::Count { open } if open.get(callback) == Some(&true));
        (!is_open).then(|| before.max(system.callbacks[callback].cost() + system.callbacks[callback].waits))
    };
    let mut known = Known {
        system,
        budget,
        arrivals: vec![None; count],
        responses: (0..count).map(first).collect(),
        receiving: vec![Some(0); system.cores.len()],
        waits: system.callbacks.iter().map(|plan| Some(plan.waits)).collect(),
        thresholds: Vec::new(),
        counts_queues: matches!(queues, Queues::Count { .. }),
    };
    let links = Links::of(system);
    let interdependent = system.is_interdependent();
    let portion = budget.left() / (PORTIONS[usize::from(interdependent)] * count.max(1) as u64);
    let mut found = vec![Found { bound: None, method: "", stop: Stop::Other }; count];
    let mut open = vec![true; system.cores.len()];
    let mut strides = 0;
    // Busy windows of the last round, by callback.
    let mut floors: Vec<Option<u64>> = vec![None; count];
    let mut windows = Windows::default();
    // Without messages and accelerators, windows are the same in all rounds, and are worth more work.
    let is_steady_state = system.devices.is_empty() && system.callbacks.iter().all(|plan| plan.publishers.is_empty());
    windows.set_portion(if is_steady_state { 4 } else { 32 });
    for round in 0.. {
        links.open(known.propagate(), &mut open);
        if !system.devices.is_empty() {
            let waits = accelerators::waits(&known, portion);
            let grown = (0..count).filter(|callback| waits[*callback] != known.waits[*callback]).collect();
            known.waits = waits;
            links.open(grown, &mut open);
        }
        for core in (0..open.len()).filter(|core| open[*core]) {
            known.receiving[core] = known.receiving_on(core);
        }
        let is_open = |callback: &usize| open[links.cores[*callback]];
        let scarce = interdependent && round > 0 && budget.left() < budget.whole() / 4;
        strides += u32::from(scarce || round >= ROUNDS_EXACT);
        let mut changed = Vec::new();
        // For each executor, a bound that is the same for all of its callbacks.
        let mut common: Vec<Option<Found>> = vec![None; system.executors.len()];
        if !is_steady_state {
            windows.forget();
        }
        for callback in system.order.iter().copied().filter(is_open) {
            let (due, executor) = (system.callbacks[callback].due, system.callbacks[callback].executor);
            budget.begin(portion);
            let now = common[executor].unwrap_or_else(|| bound(&known, callback));
            if common[executor].is_none() && uniprocessor::has_common_bound(&known, executor) {
                common[executor] = Some(now);
            }
            // Without links and waits, no bound exceeds the busy window.
            let floor = if interdependent { busy::floor(&known, &mut windows, callback) } else { None };
            let now = now.at_most(floor.filter(|(length, _)| *length <= system.limit));
            let before = known.responses[callback];
            let mut grown = before.zip(now.bound).map(|(before, now)| before.max(now));
            found[callback] = Found { bound: grown, ..now };
            if before.is_none() && now.bound.is_some() {
                // Once the search for a callback's bound was given up, the callback stays without one.
                found[callback].stop = if budget.is_spent() { Stop::Work } else { Stop::Limit(system.limit) };
            }
            if manner.only_if_due && grown.is_none_or(|grown| due.is_some_and(|due| grown > due)) {
                return None;
            }
            if grown == before {
                continue;
            }
            let floor = floor.map(|(length, _)| length);
            let is_steady = floor.is_some() && floor == std::mem::replace(&mut floors[callback], floor);
            if strides > 0 && !(is_steady && grown == floor) {
                let stride = before.zip(grown).map(|(before, grown)| (grown - before).saturating_mul(1 << strides));
                grown = grown.zip(stride).map(|(grown, stride)| grown.saturating_add(stride));
                // A window that does not grow any more is a solution.
                grown = if is_steady { grown.min(floor) } else { grown };
                grown = grown.filter(|grown| *grown <= system.limit && strides < STRIDES_MAX);
                found[callback].stop = if grown.is_none() { Stop::Limit(system.limit) } else { Stop::Work };
            }
            known.responses[callback] = grown;
            changed.push(callback);
        }
        if changed.is_empty() || !interdependent {
            break;
        }
        open.fill(false);
        links.open_after(&changed, &mut open);
        if budget.is_spent() {
            links.give_up(&mut open);
            for callback in (0..count).filter(|callback| open[links.cores[*callback]]) {
                known.responses[callback] = None;
                found[callback].stop = Stop::Work;
            }
            known.propagate();
            break;
        }
    }
    if interdependent && (strides > 0 || known.responses.contains(&None)) {
        shorten(&mut known, &mut found, &mut windows, (is_steady_state, portion));
    }
    for (found, response) in found.iter_mut().zip(&known.responses) {
        found.bound = *response;
    }
    Some(Solution { found, arrivals: known.arrivals, waits: known.waits, deep: None })
}

/// Makes bounds of a solution no longer than the busy windows that follow from it, also those that were given up.
///
/// `windows` has results that hold still if the system `is_steady_state`.
///
/// A solution is a set of bounds with which no function gives more than the bound that it was given, and a missing
/// bound is one without end. Functions never get smaller with what they are given. So the lesser of a bound and what
/// the functions give for a solution is a solution again.
fn shorten(known: &mut Known<'_>, found: &mut [Found], windows: &mut Windows, (is_steady_state, portion): (bool, u64)) {
    windows.shorten();
    for _ in 0..SHORTENINGS {
        if !is_steady_state {
            windows.forget();
        }
        let mut is_shorter = false;
        for (callback, found) in found.iter_mut().enumerate() {
            let floor = busy::floor(known, windows, callback).filter(|(length, _)| *length <= known.system.limit);
            let mut now = Found { bound: known.responses[callback], ..*found }.at_most(floor);
            if now.bound.is_none() && known.counts_queues {
                known.budget.begin(portion);
                let again = bound(known, callback);
                now = now.at_most(again.bound.map(|length| (length, again.method)));
            }
            if now.bound != known.responses[callback] {
                *found = now;
                is_shorter = true;
            }
        }
        if !is_shorter {
            return;
        }
        for (response, found) in known.responses.iter_mut().zip(&*found) {
            *response = found.bound;
        }
        known.propagate();
        known.receiving = (0..known.system.cores.len()).map(|core| known.receiving_on(core)).collect();
    }
}

/// Dependencies between bounds, by core.
struct Links {
    /// Core of each callback.
    cores: Vec<usize>,
    /// For each callback, the cores of those that it publishes to, and of those with which it shares an accelerator.
    receivers: Vec<Vec<usize>>,
    /// For each core, true if bounds there depend on response times there, and not only on arrivals.
    entangled: Vec<bool>,
}

impl Links {
    fn of(system: &System) -> Self {
        let cores: Vec<usize> = system.callbacks.iter().map(|plan| system.executors[plan.executor].core).collect();
        let mut receivers = vec![Vec::new(); cores.len()];
        for (receiver, plan) in system.callbacks.iter().enumerate() {
            for publisher in &plan.publishers {
                if !receivers[*publisher].contains(&cores[receiver]) {
                    receivers[*publisher].push(cores[receiver]);
                }
            }
        }
        for device in 0..system.devices.len() {
            let users: Vec<usize> = accelerators::users(system, device).map(|(user, _)| user).collect();
            let shared: Vec<usize> = users.iter().map(|user| cores[*user]).collect();
            users.into_iter().for_each(|user| receivers[user].extend(&shared));
        }
        let mut entangled = vec![false; system.cores.len()];
        for (plan, core) in system.callbacks.iter().zip(&cores) {
            let executor = &system.executors[plan.executor];
            let moves = system.moves(plan.executor);
            let is_plain = executor.threads == 1 && !moves && !matches!(executor.policy, Policy::WaitSet { .. });
            entangled[*core] |= !is_plain || plan.is_async();
        }
        Self { cores, receivers, entangled }
    }

    /// Adds the cores of callbacks whose arrivals changed to `open`.
    fn open(&self, changed: Vec<usize>, open: &mut [bool]) {
        changed.into_iter().for_each(|callback| open[self.cores[callback]] = true);
    }

    /// Adds the cores to `open` on which bounds may change because the bounds of these callbacks did.
    fn open_after(&self, changed: &[usize], open: &mut [bool]) {
        for callback in changed {
            open[self.cores[*callback]] |= self.entangled[self.cores[*callback]];
            self.receivers[*callback].iter().for_each(|core| open[*core] = true);
        }
    }

    /// Adds all cores to `open` that depend on open ones, directly or not: their bounds are given up.
    fn give_up(&self, open: &mut [bool]) {
        for _ in 0..open.len() {
            for (callback, receivers) in self.receivers.iter().enumerate() {
                if open[self.cores[callback]] {
                    receivers.iter().for_each(|core| open[*core] = true);
                }
            }
        }
    }
}
