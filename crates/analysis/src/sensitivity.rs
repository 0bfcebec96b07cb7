//! How far a system is from missing, or from meeting, its deadlines.

use std::time::Duration;

use crate::analysis::Analysis;
use crate::arrivals::Arrivals;
use crate::chains;
use crate::error::AnalysisError;
use crate::solve::solve;
use crate::system::System;

/// Halvings of an interval of factors from 0 to [`FACTOR_MAX`]: enough for a part in a million.
const STEPS: u32 = 26;
/// Nothing is made longer or more frequent than by this factor.
const FACTOR_MAX: f64 = 64.0;

/// How far each callback can change, alone, with all deadlines met.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Sensitivity {
    /// By callback, in the scenario's order.
    pub callbacks: Vec<Margin>,
    /// Executors that could be moved to make all deadlines hold; empty if they hold already.
    pub moves: Vec<Move>,
}

/// How far a callback can change, alone, with all deadlines met.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Margin {
    /// Its name.
    pub callback: String,
    /// Its longest execution time as it is, overheads included, all its segments together.
    pub execution: Duration,
    /// The largest one with which all deadlines hold, up to 64 times as long; `None` if they do not even hold without it.
    pub execution_max: Option<Duration>,
    /// The shortest time between two of its releases as it is; `None` if it is released by other callbacks or by a list.
    pub period: Option<Duration>,
    /// The smallest one with which all deadlines hold, down to a 64th, up to 64 times; `None` also if there is none.
    pub period_min: Option<Duration>,
}

/// An executor that could be moved.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Move {
    /// The executor.
    pub executor: String,
    /// Where to.
    pub core: u16,
}

impl Sensitivity {
    /// What to shorten, what to do less often, what to move, in words, the smallest change first; empty if all deadlines
    /// hold.
    #[must_use]
    pub fn advice(&self) -> Vec<String> {
        let mut changes: Vec<(f64, String)> = Vec::new();
        for Margin { callback, execution, execution_max, period, period_min } in &self.callbacks {
            if let Some(max) = execution_max.filter(|max| max < execution) {
                let share = max.as_secs_f64() / execution.as_secs_f64();
                changes.push((share, format!("shorten `{callback}` from {execution:?} to {max:?}")));
            }
            if let (Some(period), Some(min)) = (period, period_min)
                && min > period
            {
                let share = period.as_secs_f64() / min.as_secs_f64();
                changes.push((share, format!("run `{callback}` every {min:?} instead of every {period:?}")));
            }
        }
        changes.sort_by(|one, other| other.0.total_cmp(&one.0));
        let moves = self.moves.iter().map(|Move { executor, core }| format!("move `{executor}` to core {core}"));
        changes.into_iter().map(|(_, text)| text).chain(moves).collect()
    }
}

impl Analysis<'_> {
    /// For each callback the largest execution time and rate with which all deadlines hold, all else being as it is. Works
    /// for overloaded systems as well.
    ///
    /// # Errors
    /// If the system cannot be analysed for other reasons than its load.
    pub fn sensitivity(&self) -> Result<Sensitivity, AnalysisError> {
        let system = self.unloaded_system()?;
        let callbacks = (0..system.callbacks.len()).map(|callback| self.margin(&system, callback)).collect();
        let moves = if self.holds(&system) { Vec::new() } else { self.moves() };
        Ok(Sensitivity { callbacks, moves })
    }

    fn holds(&self, system: &System) -> bool {
        if system.check_load().is_err() {
            return false;
        }
        let solution = solve(system);
        let on_time = |(number, plan): (usize, &crate::system::Callback)| {
            let bound = solution.found[number].bound;
            bound.is_some_and(|bound| plan.due.is_none_or(|deadline| bound <= deadline))
        };
        system.callbacks.iter().enumerate().all(on_time)
            && self.scenario().chains.iter().all(|chain| chains::bound(self.scenario(), system, &solution, chain).holds)
    }

    fn margin(&self, system: &System, callback: usize) -> Margin {
        let plan = &system.callbacks[callback];
        let longer = |factor: f64| {
            let mut changed = system.clone();
            let segments = &mut changed.callbacks[callback].segments;
            segments.iter_mut().for_each(|segment| *segment = shrunk(*segment, factor));
            let shortest = &mut changed.callbacks[callback].shortest;
            *shortest = scaled(*shortest, factor.min(1.0));
            self.holds(&changed)
        };
        let execution = Duration::from_nanos(plan.cost());
        let period = match plan.source {
            Arrivals::Repeated { gap, .. } if plan.publishers.is_empty() => Some(gap),
            _ => None,
        };
        let often = |factor: f64| {
            let mut changed = system.clone();
            let changed_plan = &mut changed.callbacks[callback];
            let gap = scaled(period.unwrap_or(1), 1.0 / factor).max(1);
            if let Arrivals::Repeated { gap: own, .. } = &mut changed_plan.source {
                *own = gap;
            }
            // A timer that is due by its next due time is so by a nearer one.
            if changed_plan.due == period && self.scenario().callbacks[callback].deadline.is_none() {
                changed_plan.due = Some(gap);
                changed_plan.deadline = Some(gap);
            }
            self.holds(&changed)
        };
        Margin {
            callback: plan.name.clone(),
            execution,
            execution_max: largest(longer)
                .map(|factor| Duration::from_nanos(plan.segments.iter().map(|segment| shrunk(*segment, factor)).sum())),
            period: period.map(Duration::from_nanos),
            period_min: period.and_then(|gap| Some(Duration::from_nanos(scaled(gap, 1.0 / largest(often)?).max(1)))),
        }
    }

    /// Single executors that, on another core, make all deadlines hold.
    fn moves(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        for number in 0..self.scenario().executors.len() {
            for core in 0..self.scenario().core_count() {
                let mut scenario = self.scenario().clone();
                if scenario.executors[number].cores == [core] {
                    continue;
                }
                scenario.executors[number].cores = vec![core];
                let moved = self.of(&scenario);
                if moved.run().is_ok_and(|report| report.holds()) {
                    moves.push(Move { executor: scenario.executors[number].name.clone(), core });
                    break;
                }
            }
        }
        moves
    }
}

/// What takes time still does so.
fn shrunk(nanos: u64, factor: f64) -> u64 {
    scaled(nanos, factor).max(nanos.min(1))
}

/// In whole nanoseconds.
fn scaled(nanos: u64, factor: f64) -> u64 {
    (nanos as f64 * factor) as u64
}

/// The largest factor that holds, if any does; what holds for one holds for all smaller ones.
fn largest(holds: impl Fn(f64) -> bool) -> Option<f64> {
    if holds(FACTOR_MAX) {
        return Some(FACTOR_MAX);
    }
    // As it is comes first, so that what just holds is found to do so.
    let (mut good, mut bad) = if holds(1.0) { (1.0, FACTOR_MAX) } else { (0.0, 1.0) };
    for _ in 0..STEPS {
        let middle = f64::midpoint(good, bad);
        if holds(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    (good > 0.0).then_some(good)
}
