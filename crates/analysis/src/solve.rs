//! All callbacks at once: response times and the jitter that they pass on depend on each other.
//!
//! The holistic iteration of Tindell and Clark (1994), with the arrival curves of compositional analysis: start from the
//! execution times, compute every bound with the jitter that the bounds so far give, until nothing changes. Each bound
//! grows with the others, so what is reached is the least solution; that a solution is a bound follows by induction over
//! the ends of activations: the first one to exceed its bound would have been delayed by activations that did not.

use rospin_core::EntityKind;

use crate::arrivals::Arrivals;
use crate::budget::{Budget, Stop};
use crate::system::{Policy, System};
use crate::{migrating, parallel, suspension, uniprocessor};

/// After as many rounds, or with so little of the budget left, bounds grow in strides: what they reach is a solution, but
/// need not be the least one.
const ROUNDS_EXACT: u32 = 64;
/// After as many of these, what still changes is given up.
const STRIDES_MAX: u32 = 48;
/// Parts of the whole budget that one bound may take where there is one round, and where there are several.
const PORTIONS: [u64; 2] = [2, 16];
/// Work for each callback whose arrivals are gathered before a search begins.
pub(crate) const GATHERING: u64 = 10;

/// Knowledge in a round of the iteration.
pub(crate) struct Known<'a> {
    pub(crate) system: &'a System,
    pub(crate) budget: &'a Budget,
    /// Arrivals of messages at the time they are sent, of timers when they are due.
    pub(crate) arrivals: Vec<Option<Arrivals>>,
    /// From there to the end; `None` if there is no bound.
    pub(crate) responses: Vec<Option<u64>>,
    /// Until a message is received, by core.
    pub(crate) receiving: Vec<Option<u64>>,
    /// By callback: bounds up to this one need not be exact, since only longer ones are asked for. Empty if all must be exact.
    pub(crate) thresholds: Vec<u64>,
}

/// A bound, and the analysis that found it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub(crate) bound: Option<u64>,
    pub(crate) method: &'static str,
    /// Why there is none.
    pub(crate) stop: Stop,
}

/// The result for all callbacks.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    pub(crate) found: Vec<Found>,
    pub(crate) arrivals: Vec<Option<Arrivals>>,
}

impl<'a> Known<'a> {
    /// Returns what is known in the end.
    pub(crate) fn of(system: &'a System, solution: &Solution, budget: &'a Budget) -> Self {
        let arrivals = solution.arrivals.clone();
        let responses = solution.found.iter().map(|found| found.bound).collect();
        let mut known = Self { system, budget, arrivals, responses, receiving: Vec::new(), thresholds: Vec::new() };
        known.receiving = (0..system.cores.len()).map(|core| uniprocessor::receiving(&known, core)).collect();
        known
    }

    /// Hands arrivals on, and says which callbacks have others than before.
    fn propagate(&mut self) -> Vec<usize> {
        let mut changed = Vec::new();
        for &callback in &self.system.order {
            let plan = &self.system.callbacks[callback];
            let now = if plan.is_join() {
                self.joined(callback)
            } else if plan.publishers.is_empty() {
                Some(plan.source.clone())
            } else {
                let own = if plan.source.is_never() { None } else { Some(Some(plan.source.clone())) };
                let sent = (0..plan.publishers.len()).map(|place| self.sent(callback, place));
                own.into_iter().chain(sent).collect::<Option<Vec<_>>>().map(Arrivals::sum)
            };
            if now != self.arrivals[callback] {
                self.arrivals[callback] = now;
                changed.push(callback);
            }
        }
        changed
    }

    /// Returns what one of its publishers sends to a callback: as often as that is released, with the jitter of its response time
    /// and of the way.
    pub(crate) fn sent(&self, receiver: usize, place: usize) -> Option<Arrivals> {
        let plan = &self.system.callbacks[receiver];
        let (publisher, way) = (plan.publishers[place], plan.ways[place]);
        let jitter = self.responses[publisher]?.saturating_sub(self.system.callbacks[publisher].shortest);
        let jitter = jitter.saturating_add(way.longest - way.shortest);
        Some(self.arrivals[publisher].as_ref()?.later(jitter))
    }

    /// Releases of a join.
    fn joined(&self, callback: usize) -> Option<Arrivals> {
        let plan = &self.system.callbacks[callback];
        let input = |input: usize| {
            let outside = &plan.joined[input].arrivals;
            let own = if outside.is_never() { None } else { Some(Some(outside.clone())) };
            let sent = plan.of_input(input).map(|place| self.sent(callback, place));
            own.into_iter().chain(sent).collect::<Option<Vec<_>>>().map(Arrivals::sum)
        };
        let inputs = (0..plan.joined.len()).map(input).collect::<Option<Vec<_>>>()?;
        Some(Arrivals::Joined { inputs, depth: plan.depth })
    }

    /// Returns how much later than it is sent or due an activation can be seen by its executor.
    pub(crate) fn delay(&self, callback: usize) -> Option<u64> {
        let plan = &self.system.callbacks[callback];
        let core = self.system.executors[plan.executor].core;
        if plan.kind == EntityKind::Timer { Some(0) } else { self.receiving[core] }
    }

    /// Arrivals as the executor sees them.
    pub(crate) fn seen(&self, callback: usize) -> Option<Arrivals> {
        let delay = self.delay(callback)?;
        self.arrivals[callback].as_ref().map(|arrivals| arrivals.later(delay))
    }

    /// As long as an activation of this callback may be under way, its execution can be anywhere in that time.
    pub(crate) fn spread(&self, callback: usize) -> Option<Arrivals> {
        let response = self.responses[callback]?;
        self.arrivals[callback].as_ref().map(|arrivals| arrivals.later(response))
    }

    /// Returns the bound below which no exact one is asked for; zero if the exact one is.
    pub(crate) fn enough(&self, callback: usize) -> u64 {
        self.thresholds.get(callback).copied().unwrap_or(0)
    }

    /// The least length, from `start` on, that gives an executor time for the demand in it; see [`Budget::fixed_point`].
    pub(crate) fn fixed_point(
        &self,
        executor: usize,
        start: u64,
        weight: u64,
        demand: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        let supply = uniprocessor::supply(&self.system.executors[executor]);
        self.budget.fixed_point(&supply, self.system.limit, start, weight, demand)
    }

    pub(crate) fn bound(&self, callback: usize) -> Found {
        let plan = &self.system.callbacks[callback];
        let executor = &self.system.executors[plan.executor];
        // To gather what matters is some work already.
        self.budget.spend(GATHERING * executor.callbacks.len() as u64);
        let found = if migrating::concerns(self.system, plan.executor) {
            migrating::bound(self, callback)
        } else if executor.threads > 1 {
            parallel::bound(self, callback)
        } else if suspension::concerns(self.system, callback) {
            suspension::bound(self, callback)
        } else {
            uniprocessor::bound(self, callback)
        };
        match found.bound {
            Some(bound) if bound > self.system.limit => {
                Found { bound: None, stop: Stop::Limit(self.system.limit), ..found }
            }
            _ => found,
        }
    }
}

/// A manner of seeking bounds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manner<'a> {
    /// Ends as soon as a bound is beyond what it is judged by, without a solution.
    pub(crate) only_if_due: bool,
    /// Bounds of a system of which no bound is longer than in this one.
    pub(crate) from: Option<&'a [Option<u64>]>,
}

/// Bounds for all callbacks.
pub(crate) fn solve(system: &System, budget: &Budget) -> Solution {
    seek(system, budget, Manner::default()).unwrap_or_else(|| Solution { found: Vec::new(), arrivals: Vec::new() })
}

/// The same in some manner; `None` only if that asks for it.
pub(crate) fn seek(system: &System, budget: &Budget, manner: Manner<'_>) -> Option<Solution> {
    let count = system.callbacks.len();
    let first = |callback: usize| {
        let before = manner.from.and_then(|from| from[callback]).unwrap_or(0);
        Some(before.max(system.callbacks[callback].cost() + system.callbacks[callback].waits))
    };
    let mut known = Known {
        system,
        budget,
        arrivals: vec![None; count],
        responses: (0..count).map(first).collect(),
        receiving: vec![Some(0); system.cores.len()],
        thresholds: Vec::new(),
    };
    let links = Links::of(system);
    let interdependent = system.is_interdependent();
    let portion = budget.left() / (PORTIONS[usize::from(interdependent)] * count.max(1) as u64);
    let mut found = vec![Found { bound: None, method: "", stop: Stop::Other }; count];
    let mut open = vec![true; system.cores.len()];
    let mut strides = 0;
    for round in 0.. {
        links.open(known.propagate(), &mut open);
        for core in (0..open.len()).filter(|core| open[*core]) {
            known.receiving[core] = uniprocessor::receiving(&known, core);
        }
        let is_open = |callback: &usize| open[links.cores[*callback]];
        let scarce = interdependent && round > 0 && budget.left() < budget.whole() / 4;
        strides += u32::from(scarce || round >= ROUNDS_EXACT);
        let mut changed = Vec::new();
        // By executor, a bound that is the same for all its callbacks.
        let mut common: Vec<Option<Found>> = vec![None; system.executors.len()];
        for callback in system.order.iter().copied().filter(is_open) {
            let (due, executor) = (system.callbacks[callback].due, system.callbacks[callback].executor);
            budget.begin(portion);
            let now = common[executor].unwrap_or_else(|| known.bound(callback));
            if common[executor].is_none() && uniprocessor::has_common_bound(&known, executor) {
                common[executor] = Some(now);
            }
            let before = known.responses[callback];
            let mut grown = before.zip(now.bound).map(|(before, now)| before.max(now));
            found[callback] = Found { bound: grown, ..now };
            if before.is_none() && now.bound.is_some() {
                // Given up before, and for good.
                found[callback].stop = Stop::Work;
            }
            if manner.only_if_due && grown.is_none_or(|grown| due.is_some_and(|due| grown > due)) {
                return None;
            }
            if grown == before {
                continue;
            }
            if strides > 0 {
                let stride = before.zip(grown).map(|(before, grown)| (grown - before).saturating_mul(1 << strides));
                grown = grown.zip(stride).map(|(grown, stride)| grown.saturating_add(stride));
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
    for (found, response) in found.iter_mut().zip(&known.responses) {
        found.bound = *response;
    }
    Some(Solution { found, arrivals: known.arrivals })
}

/// Whose bound depends on whose.
struct Links {
    /// By callback.
    cores: Vec<usize>,
    /// By callback, the cores of those that it publishes to.
    receivers: Vec<Vec<usize>>,
    /// By core: whether bounds there depend on response times there, not only on arrivals.
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
        let mut entangled = vec![false; system.cores.len()];
        for (plan, core) in system.callbacks.iter().zip(&cores) {
            let executor = &system.executors[plan.executor];
            let moves = migrating::concerns(system, plan.executor);
            let is_plain = executor.threads == 1 && !moves && !matches!(executor.policy, Policy::WaitSet { .. });
            entangled[*core] |= !is_plain || plan.is_async();
        }
        Self { cores, receivers, entangled }
    }

    /// Cores on which these callbacks have other arrivals.
    fn open(&self, changed: Vec<usize>, open: &mut [bool]) {
        changed.into_iter().for_each(|callback| open[self.cores[callback]] = true);
    }

    /// Cores on which bounds may change since those of these callbacks did.
    fn open_after(&self, changed: &[usize], open: &mut [bool]) {
        for callback in changed {
            open[self.cores[*callback]] |= self.entangled[self.cores[*callback]];
            self.receivers[*callback].iter().for_each(|core| open[*core] = true);
        }
    }

    /// All cores that depend on those.
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
