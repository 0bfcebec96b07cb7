//! Margins of large systems: changes with which all deadlines are sure to hold, by one busy window for each callback.
//!
//! A search for the longest execution time tries many, and each trial asks for the bounds of many callbacks. Where that
//! takes more than the budget, a condition is enough that all deadlines follow from, and that a change of one callback
//! leaves the most of as it was.
//!
//! Consider an executor with one thread, alone on its core, whose callbacks are released from outside. Let the level of
//! a callback be what is at least as urgent under fixed priorities, and all callbacks under other policies.
//! A busy window of the level begins when something of it is released while nothing of it was left. Only what had begun
//! before can delay it, which is one segment of another callback, B. If B and the work of the level that is released in
//! an interval of length L are no longer than L, the window has ended after L, and all that was released in it. So the
//! callback's response time is at most L. All deadlines hold if there is such a length for each callback that is no
//! longer than its deadline: that needs no bound.
//!
//! The condition is looked at for some lengths of each callback. With a change of another one, the work of the level in
//! a length is what it was, less that of the changed callback, and more what it has now. So a trial takes a few
//! operations for each callback.
//!
//! Theorems and proofs: `book/src/analysis/one-thread.md`.

use std::time::Duration;

use rospin_scenario::Scenario;

use crate::arrivals::Arrivals;
use crate::budget::Budget;
use crate::system::{Callback, Policy, System, nanos};
use crate::trial::{FACTOR_MAX, Margin, scaled, shrunk};

/// Parts of a deadline at which the condition is looked at: it, and so many halves of it.
const LOOKS: u32 = 4;
/// Number of halvings in the search for a factor.
const HALVINGS: u32 = 14;

/// Callback whose deadline must hold.
struct Level {
    executor: usize,
    /// Least priority of the level's callbacks; 0 if all belong to it.
    least: u32,
    /// Lengths up to the deadline, and the work of the level in them.
    looks: Vec<(u64, u64)>,
    /// The two longest segments of callbacks that do not belong to the level, with the callbacks.
    blockers: [(u64, usize); 2],
}

impl Level {
    fn has(&self, plan: &Callback) -> bool {
        plan.executor == self.executor && plan.priority >= self.least
    }
}

/// Systems whose deadlines hold by the condition, where each callback may be changed.
pub(crate) struct Assured<'a> {
    scenario: &'a Scenario,
    system: &'a System,
    budget: &'a Budget,
    levels: Vec<Level>,
}

/// Returns the work of a callback in an interval of this length.
fn work(plan: &Callback, length: u64) -> u64 {
    plan.source.number(length).saturating_mul(plan.cost())
}

impl<'a> Assured<'a> {
    /// Returns the condition for a system; `None` if it is not known for it, or takes more than the budget.
    pub(crate) fn of(scenario: &'a Scenario, system: &'a System, budget: &'a Budget) -> Option<Self> {
        let is_simple = |plan: &Callback| {
            plan.publishers.is_empty() && !plan.is_join() && !plan.is_async() && plan.sections.is_empty()
        };
        let is_alone = |executor: usize| {
            let host = &system.executors[executor];
            host.threads == 1 && host.reservation.is_none() && system.neighbours(executor).next().is_none()
        };
        let is_known = system.receive == 0
            && system.devices.is_empty()
            && system.callbacks.iter().all(is_simple)
            && (0..system.executors.len()).all(is_alone)
            && scenario.chains.iter().all(|chain| chain.callbacks.len() == 1);
        if !is_known {
            return None;
        }
        let mut found = Self { scenario, system, budget, levels: Vec::new() };
        for callback in 0..system.callbacks.len() {
            let level = found.level(callback, system.callbacks[callback].due)?;
            found.levels.push(level);
        }
        Some(found)
    }

    /// Returns the level of a callback with this deadline; `None` if the budget is spent.
    fn level(&self, callback: usize, due: Option<u64>) -> Option<Level> {
        let system = self.system;
        let plan = &system.callbacks[callback];
        let host = &system.executors[plan.executor];
        let ours = self.scenario.chains.iter().filter(|chain| chain.callbacks.contains(&plan.name));
        let chain = ours.filter_map(|chain| chain.deadline).map(nanos).min();
        // Without a deadline, a bound is enough that is of interest even if the longest period becomes shorter.
        let due = due.into_iter().chain(chain).min().unwrap_or(system.limit / (2 * FACTOR_MAX as u64));
        let least = if host.policy == Policy::FixedPriority { plan.priority } else { 0 };
        let (lengths, mut blockers) = ((0..LOOKS).map(|halves| due >> halves), [(0, usize::MAX); 2]);
        let mut looks: Vec<(u64, u64)> = lengths.map(|length| (length, 0)).collect();
        self.budget.spend(u64::from(LOOKS) * host.callbacks.len() as u64);
        if self.budget.is_spent() {
            return None;
        }
        for &other in &host.callbacks {
            let plan = &system.callbacks[other];
            if plan.priority >= least {
                looks.iter_mut().for_each(|(length, all)| *all = all.saturating_add(work(plan, *length)));
                continue;
            }
            let (segment, [first, second]) = ((plan.longest_segment(), other), blockers);
            blockers = if segment > first { [segment, first] } else { [first, segment.max(second)] };
        }
        Some(Level { executor: plan.executor, least, looks, blockers })
    }

    /// Returns true if all deadlines hold with `changed` in place of a callback; false also if that is not known.
    fn holds(&self, callback: usize, changed: &Callback) -> bool {
        let given = &self.system.callbacks[callback];
        self.budget.spend(self.levels.len() as u64);
        let own = if changed.due == given.due { None } else { self.level(callback, changed.due) };
        if self.budget.is_spent() || changed.due != given.due && own.is_none() {
            return false;
        }
        let holds = |(number, level): (usize, &Level)| {
            let level = own.as_ref().filter(|_| number == callback).unwrap_or(level);
            let blocker = level.blockers.iter().find(|(_, blocker)| *blocker != callback);
            let mut blocking = blocker.map_or(0, |(segment, _)| *segment);
            let is_inside = level.has(given);
            if !is_inside && changed.executor == level.executor {
                blocking = blocking.max(changed.longest_segment());
            }
            level.looks.iter().any(|(length, all)| {
                let all = if is_inside {
                    all.saturating_sub(work(given, *length)).saturating_add(work(changed, *length))
                } else {
                    *all
                };
                all.saturating_add(blocking) <= *length
            })
        };
        self.levels.iter().enumerate().all(holds)
    }

    /// Returns the margin of a callback with which all deadlines are sure to hold; `None` if none was found.
    pub(crate) fn margin(&self, callback: usize) -> Option<Margin> {
        let plan = &self.system.callbacks[callback];
        let longer = self.largest(callback, |factor| {
            let segments = plan.segments.iter().map(|time| shrunk(*time, factor)).collect();
            Callback { segments, ..plan.clone() }
        });
        let longer = longer.map(|changed| changed.cost());
        let Arrivals::Repeated { gap, jitter, burst } = plan.source else { return self.told(plan, longer, None, None) };
        let moves = plan.due == Some(gap) && self.scenario.callbacks[callback].deadline.is_none();
        let often = self.largest(callback, |factor| {
            let gap = scaled(gap, 1.0 / factor).max(1);
            let due = if moves { Some(gap) } else { plan.due };
            Callback { source: Arrivals::Repeated { gap, jitter, burst }, due, ..plan.clone() }
        });
        let often = often.and_then(|changed| match changed.source {
            Arrivals::Repeated { gap, .. } => Some(gap),
            _ => None,
        });
        self.told(plan, longer, Some(gap), often)
    }

    fn told(&self, plan: &Callback, longest: Option<u64>, gap: Option<u64>, densest: Option<u64>) -> Option<Margin> {
        Some(Margin {
            callback: plan.name.clone(),
            execution: Duration::from_nanos(plan.cost()),
            execution_max: longest.map(Duration::from_nanos),
            period: gap.map(Duration::from_nanos),
            period_min: densest.map(Duration::from_nanos),
            unknown: false,
            early: true,
        })
        .filter(|_| longest.is_some() || densest.is_some())
    }

    /// Returns the callback with the largest change by a factor that was found with which all deadlines hold.
    fn largest(&self, callback: usize, change: impl Fn(f64) -> Callback) -> Option<Callback> {
        let good = |factor: f64| Some(change(factor)).filter(|changed| self.holds(callback, changed));
        let (mut found, mut least, mut most) = match (good(FACTOR_MAX), good(1.0)) {
            (Some(changed), _) => return Some(changed),
            (None, Some(changed)) => (Some(changed), 1.0, FACTOR_MAX),
            (None, None) => (None, 0.0, 1.0),
        };
        for _ in 0..HALVINGS {
            let middle = if least > 0.0 && most > 4.0 * least { 2.0 * least } else { f64::midpoint(least, most) };
            match good(middle) {
                Some(changed) => (found, least) = (Some(changed), middle),
                None => most = middle,
            }
        }
        found
    }
}
