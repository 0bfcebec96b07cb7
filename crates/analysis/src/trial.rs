//! Trials: the longest execution time and the highest rate of a callback with which all deadlines hold.
//!
//! A trial changes one callback by a factor. If bounds depend on each other, each factor takes a complete analysis, and
//! the largest one is found by bisection. If they do not, deadlines are looked at one after the other, the tightest
//! first. Most of them hold with the factor that those before them allow, which takes one bound. Only for those that do
//! not is there a bisection.

use std::collections::BTreeMap;
use std::time::Duration;

use rospin_scenario::Scenario;

use crate::arrivals::Arrivals;
use crate::budget::Budget;
use crate::busy::Windows;
use crate::chains;
use crate::demand::Demand;
use crate::known::{Known, Solution};
use crate::solve::{self, Manner, seek};
use crate::system::{Callback, Core, System};

/// Largest factor by which a callback is made longer or more frequent.
pub(crate) const FACTOR_MAX: f64 = 64.0;
/// Relative precision of factors where each trial takes one bound.
const PRECISION_OF_ONE: f64 = 1e-9;
/// Relative precision of factors where each trial takes the bounds of all callbacks.
const PRECISION_OF_ALL: f64 = 1.0 / 4096.0;
/// Largest number of halvings. After the last one, almost nothing is left of a callback.
const HALVINGS: u32 = 40;

/// Margin of a callback: the largest change of it alone with which all deadlines hold.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Margin {
    /// Name of the callback.
    pub callback: String,
    /// Present longest execution time: all segments together, including overheads.
    pub execution: Duration,
    /// Longest execution time with which all deadlines hold, at most 64 times the present one. `None` if deadlines are
    /// missed even if the callback takes almost no time.
    pub execution_max: Option<Duration>,
    /// Present shortest time between two releases; `None` unless a timer with a period, or a single periodic or
    /// sporadic release, is all that releases the callback.
    pub period: Option<Duration>,
    /// Shortest time between two releases with which all deadlines hold, at least a 64th of `period`. `None` if no time
    /// was found, even far above `period`, or if `period` is `None`.
    pub period_min: Option<Duration>,
    /// True if the budget of work ran out before this margin was found: `execution_max` and `period_min` are `None`
    /// then, which says nothing about deadlines.
    pub unknown: bool,
    /// True if the budget of work ran out before the largest change was found. All deadlines are proven to hold with
    /// `execution_max` and with `period_min`, and they may hold with more than that; one of them that is `None` is not
    /// known.
    pub early: bool,
}

/// Part of a callback that a trial changes by a factor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Execution,
    Rate,
}

/// System in which one callback is changed at a time.
pub(crate) struct Trial<'a> {
    scenario: &'a Scenario,
    system: System,
    budget: &'a Budget,
    /// Solution of the unchanged system, if no core is overloaded.
    solution: Option<Solution>,
    /// True if all deadlines hold without a change.
    holds: bool,
    /// Callbacks by core, the tightest deadline first: the order in which deadlines are looked at if bounds do not
    /// depend on each other.
    tightest: Vec<Vec<usize>>,
    /// Cores on which all deadlines hold without a change.
    fine: Vec<bool>,
    /// Demand of each executor that was looked at, `None` where demand tells no margins.
    demands: BTreeMap<usize, Option<Demand<'a>>>,
}

impl<'a> Trial<'a> {
    pub(crate) fn new(scenario: &'a Scenario, system: System, budget: &'a Budget) -> Self {
        let fits = system.check_load().is_ok();
        if is_by_demand(scenario, &system, budget) {
            let holds = |core: &Core| {
                let of = |executor: &usize| Demand::of(scenario, &system, *executor, budget);
                core.executors.iter().filter_map(of).all(|mut demand| demand.holds())
            };
            let fine: Vec<bool> = system.cores.iter().map(|core| fits && holds(core)).collect();
            let holds = fine.iter().all(|fine| *fine);
            let (tightest, demands) = (Vec::new(), BTreeMap::new());
            return Self { scenario, system, budget, solution: None, holds, tightest, fine, demands };
        }
        let solution = (fits && !budget.is_spent()).then(|| seek(&system, budget, Manner::default())).flatten();
        let mut trial = Self {
            scenario,
            system,
            budget,
            solution,
            holds: false,
            tightest: Vec::new(),
            fine: Vec::new(),
            demands: BTreeMap::new(),
        };
        let system = &trial.system;
        let bound = |callback: usize| trial.solution.as_ref().and_then(|solution| solution.found[callback].bound);
        let share = |callback: usize| {
            let due = system.callbacks[callback].due.unwrap_or(u64::MAX) as f64;
            bound(callback).map_or(f64::MAX, |bound| bound as f64 / due)
        };
        trial.fine = vec![fits; system.cores.len()];
        let mut tightest = vec![Vec::new(); system.cores.len()];
        for (callback, plan) in system.callbacks.iter().enumerate() {
            let core = system.executors[plan.executor].core;
            tightest[core].push(callback);
            trial.fine[core] &= bound(callback).is_some_and(|bound| plan.due.is_none_or(|due| bound <= due));
        }
        tightest.iter_mut().for_each(|core| core.sort_by(|one, other| share(*other).total_cmp(&share(*one))));
        trial.holds = trial.fine.iter().all(|fine| *fine)
            && trial.solution.as_ref().is_some_and(|solution| trial.chains_hold(&trial.system, solution));
        trial.tightest = tightest;
        trial
    }

    /// Returns true if all deadlines of callbacks and chains are proven to hold without a change.
    pub(crate) fn holds_as_it_is(&self) -> bool {
        self.holds
    }

    /// Returns the margin of a callback.
    pub(crate) fn margin(&mut self, callback: usize) -> Margin {
        let plan = self.system.callbacks[callback].clone();
        let period = match plan.source {
            Arrivals::Repeated { gap, .. } if plan.publishers.is_empty() => Some(gap),
            _ => None,
        };
        if let Some(margin) = self.by_demand(callback, &plan, period) {
            return margin;
        }
        let longer = self.largest(callback, What::Execution);
        let often = period.and_then(|_| self.largest(callback, What::Rate));
        let known = !self.budget.is_spent();
        let execution = |factor| Duration::from_nanos(plan.segments.iter().map(|time| shrunk(*time, factor)).sum());
        Margin {
            callback: plan.name.clone(),
            execution: Duration::from_nanos(plan.cost()),
            execution_max: longer.filter(|_| known).map(execution),
            period: period.map(Duration::from_nanos),
            period_min: period
                .zip(often)
                .filter(|_| known)
                .map(|(gap, factor)| Duration::from_nanos(scaled(gap, 1.0 / factor).max(1))),
            unknown: !known,
            early: false,
        }
    }

    /// Returns the margin of a callback under EDF, by the demand of its executor; `None` where that is not known.
    fn by_demand(&mut self, callback: usize, plan: &Callback, period: Option<u64>) -> Option<Margin> {
        if is_linked(self.scenario, &self.system) {
            return None;
        }
        if !self.demands.contains_key(&plan.executor) {
            let demand = Demand::of(self.scenario, &self.system, plan.executor, self.budget);
            self.demands.insert(plan.executor, demand);
        }
        let demand = self.demands.get_mut(&plan.executor)?.as_mut()?;
        let executor = &self.system.executors[plan.executor];
        let place = executor.callbacks.iter().position(|member| *member == callback)?;
        let others_hold = (0..self.fine.len()).all(|core| core == executor.core || self.fine[core]);
        // A timer whose deadline is its next due time has the shorter period as its deadline, too.
        let moves = plan.due == period && self.scenario.callbacks[callback].deadline.is_none();
        let longest = demand.longest(place).filter(|_| others_hold);
        let densest = period.and_then(|_| demand.densest(place, moves)).filter(|_| others_hold);
        let known = !self.budget.is_spent();
        // If all deadlines hold with the present times, those are margins, too, even if the search has found less.
        let longest = longest.max(Some(plan.cost()).filter(|_| self.holds));
        let as_it_is = period.filter(|_| self.holds);
        let densest = densest.into_iter().chain(as_it_is).min();
        Some(Margin {
            callback: plan.name.clone(),
            execution: Duration::from_nanos(plan.cost()),
            execution_max: longest.filter(|_| known).map(Duration::from_nanos),
            period: period.map(Duration::from_nanos),
            period_min: densest.filter(|_| known).map(Duration::from_nanos),
            unknown: !known,
            early: false,
        })
    }

    /// Searches for the largest factor with which all deadlines hold. They hold with all smaller factors, too. Returns
    /// `None` if the search found no such factor.
    fn largest(&mut self, callback: usize, what: What) -> Option<f64> {
        let plan = self.system.callbacks[callback].clone();
        let core = self.system.executors[plan.executor].core;
        let factor = self.room(callback, what)?;
        let found = if is_linked(self.scenario, &self.system) {
            self.halved(callback, what, factor, None)
        } else if (0..self.fine.len()).any(|other| other != core && !self.fine[other]) {
            None
        } else {
            let members = self.tightest[core].clone();
            members.into_iter().try_fold(factor, |factor, member| self.halved(callback, what, factor, Some(member)))
        };
        self.system.callbacks[callback] = plan;
        found
    }

    /// Returns the largest factor up to `factor` with which the deadline of `member` holds; without a member, all
    /// deadlines.
    fn halved(&mut self, callback: usize, what: What, factor: f64, member: Option<usize>) -> Option<f64> {
        let plan = self.system.callbacks[callback].clone();
        let good_to = |trial: &mut Self, factor: f64| {
            trial.change(callback, &plan, what, factor);
            let holds = trial.works(member, factor);
            trial.system.callbacks[callback] = plan.clone();
            holds
        };
        if good_to(self, factor) {
            return Some(factor);
        }
        // The factor 1 is tried first, so that a system whose deadlines hold exactly is recognized.
        let as_it_is = factor > 1.0 && good_to(self, 1.0);
        let (mut good, mut bad) = if as_it_is { (1.0, factor) } else { (0.0, factor.min(1.0)) };
        let precision = if member.is_some() { PRECISION_OF_ONE } else { PRECISION_OF_ALL };
        for _ in 0..HALVINGS {
            if bad - good <= good * precision || bad < 1e-9 || self.budget.is_spent() {
                break;
            }
            let middle = if good > 0.0 && bad > 4.0 * good { 2.0 * good } else { f64::midpoint(good, bad) };
            if good_to(self, middle) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        (good > 0.0).then_some(good)
    }

    /// Returns the factor with which some core or reservation has no time left, at most [`FACTOR_MAX`]; `None` if one
    /// is overloaded with every factor.
    fn room(&mut self, callback: usize, what: What) -> Option<f64> {
        let plan = self.system.callbacks[callback].clone();
        let now = self.system.loads();
        self.change(callback, &plan, what, 2.0);
        let twice = self.system.loads();
        self.system.callbacks[callback] = plan;
        let mut factor = FACTOR_MAX;
        for (now, twice) in now.into_iter().zip(twice) {
            let each = twice - now;
            if each > 1e-12 {
                factor = factor.min(1.0 + (1.0 + 1e-10 - now) / each);
            } else if now > 1.0 + 1e-9 {
                return None;
            }
        }
        (factor > 0.0).then_some(factor)
    }

    /// Applies the factor to the callback, which was `plan` before.
    fn change(&mut self, callback: usize, plan: &Callback, what: What, factor: f64) {
        let changed = &mut self.system.callbacks[callback];
        match what {
            What::Execution => {
                for (segment, given) in changed.segments.iter_mut().zip(&plan.segments) {
                    *segment = shrunk(*given, factor);
                }
                changed.shortest = scaled(plan.shortest, factor.min(1.0));
            }
            What::Rate => {
                let Arrivals::Repeated { gap, jitter, burst } = plan.source else { return };
                let shorter = scaled(gap, 1.0 / factor).max(1);
                changed.source = Arrivals::Repeated { gap: shorter, jitter, burst };
                // A timer whose deadline is its next due time has the shorter period as its deadline, too.
                if plan.due == Some(gap) && self.scenario.callbacks[callback].deadline.is_none() {
                    changed.due = Some(shorter);
                    changed.deadline = Some(shorter);
                }
            }
        }
    }

    /// Returns true if the deadline of `member` holds in the changed system; without a member, if all deadlines and
    /// chains do. `factor` is that of the change.
    fn works(&self, member: Option<usize>, factor: f64) -> bool {
        if self.budget.is_spent() || self.system.check_load().is_err() {
            return false;
        }
        let Some(member) = member else {
            // With longer execution times or higher rates, no bound gets shorter, so the search begins with the present
            // bounds.
            let from = self.solution.as_ref().filter(|_| factor >= 1.0 && self.holds);
            let from: Option<Vec<_>> = from.map(|solution| solution.found.iter().map(|found| found.bound).collect());
            let manner = Manner { only_if_due: true, from: from.as_deref() };
            let solution = seek(&self.system, self.budget, manner);
            return solution.is_some_and(|solution| self.chains_hold(&self.system, &solution));
        };
        let due = self.system.callbacks[member].due;
        let mut thresholds = vec![0; self.system.callbacks.len()];
        thresholds[member] = due.unwrap_or(self.system.limit);
        let known = Known {
            system: &self.system,
            budget: self.budget,
            arrivals: self.system.callbacks.iter().map(|plan| Some(plan.source.clone())).collect(),
            responses: vec![Some(0); self.system.callbacks.len()],
            receiving: vec![Some(0); self.system.cores.len()],
            waits: self.system.callbacks.iter().map(|plan| Some(plan.waits)).collect(),
            thresholds,
            counts_queues: false,
        };
        self.budget.begin(self.budget.whole() / 64);
        let bound = solve::bound(&known, member).bound;
        let hold = bound.is_some_and(|bound| due.is_none_or(|due| bound <= due));
        hold && self.chains_of_hold(member, bound)
    }

    /// Returns true if the chains of one callback hold. Called only if bounds do not depend on each other, so that all
    /// chains have one callback.
    fn chains_of_hold(&self, member: usize, bound: Option<u64>) -> bool {
        let name = &self.system.callbacks[member].name;
        let ours = self.scenario.chains.iter().filter(|chain| chain.callbacks.contains(name));
        let limit = ours.filter_map(|chain| chain.deadline).map(crate::system::nanos).min();
        limit.is_none_or(|limit| bound.is_some_and(|bound| bound <= limit))
    }

    fn chains_hold(&self, system: &System, solution: &Solution) -> bool {
        if self.scenario.chains.is_empty() {
            return true;
        }
        let known = Known::of(system, solution, self.budget);
        let paces = chains::paces_for_latency(system, solution);
        let mut windows = Windows::default();
        let holds = |chain| chains::bound(self.scenario, solution, &known, &paces, &mut windows, chain).holds;
        self.scenario.chains.iter().all(holds)
    }
}

/// Returns true if bounds, or latencies of chains, depend on the bounds of several callbacks.
fn is_linked(scenario: &Scenario, system: &System) -> bool {
    scenario.chains.iter().any(|chain| chain.callbacks.len() > 1) || system.is_interdependent()
}

/// Returns true if the demand of intervals tells the margins of all callbacks.
pub(crate) fn is_by_demand(scenario: &Scenario, system: &System, budget: &Budget) -> bool {
    let is_known = |executor: usize| {
        system.executors[executor].callbacks.is_empty() || Demand::of(scenario, system, executor, budget).is_some()
    };
    !is_linked(scenario, system) && (0..system.executors.len()).all(is_known)
}

/// Shortens a time, to 1 ns at least. Zero stays zero.
pub(crate) fn shrunk(nanos: u64, factor: f64) -> u64 {
    scaled(nanos, factor).max(nanos.min(1))
}

/// Returns the product in whole nanoseconds.
pub(crate) fn scaled(nanos: u64, factor: f64) -> u64 {
    (nanos as f64 * factor) as u64
}
