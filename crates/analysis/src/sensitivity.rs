//! The distance of a system from missing, or from meeting, its deadlines.

use crate::analysis::Analysis;
use crate::assured::Assured;
use crate::budget::Budget;
use crate::change::Change;
use crate::diagnosis::{self, Late};
use crate::error::AnalysisError;
use crate::trial::{Margin, Trial, is_by_demand};

/// Budget of work for all callbacks together, besides a share for each.
const WORK: u64 = 20_000_000;
/// Share of each callback in the budget of work.
const WORK_EACH: u64 = 60_000;
/// Share of each callback where the demand of intervals tells margins: a step is short there.
const WORK_BY_DEMAND: u64 = 600_000;
/// Share of each callback for each other one in a budget for margins that are only proven to be enough.
const WORK_ASSURED: u64 = 200;
/// Largest budget for those.
const WORK_MOST: u64 = 400_000_000;
/// Units of work that a single solution takes at least for each pair of callbacks. A budget for less than that is
/// hopeless.
const LOOKS: u64 = 10;

/// Margins of all callbacks, and changes with which all deadlines hold.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Sensitivity {
    /// Margins of the callbacks, in the scenario's order.
    pub callbacks: Vec<Margin>,
    /// Deadlines that are not proven to hold, with the callbacks that cause it; at most eight.
    pub late: Vec<Late>,
    /// Changes of priorities, executors, cores and groups, and splits of callbacks, each of which alone makes all
    /// deadlines hold. Empty if all deadlines hold already, or if no change was found.
    pub changes: Vec<Change>,
    /// Number of callbacks without a margin, because the budget of work ran out.
    pub unknown: usize,
}

impl Sensitivity {
    /// Returns sentences that describe changes with which all deadlines hold. Other priorities, executors and cores
    /// come first, as they cost nothing. Then follow shorter execution times and longer periods, the smallest change
    /// first. Empty if all deadlines hold, or if no single change helps.
    #[must_use]
    pub fn advice(&self) -> Vec<String> {
        let mut changes: Vec<(f64, String)> = Vec::new();
        for Margin { callback, execution, execution_max, period, period_min, .. } in &self.callbacks {
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
        let free = self.changes.iter().map(Change::describe);
        free.chain(changes.into_iter().map(|(_, text)| text)).collect()
    }
}

impl Analysis<'_> {
    /// Returns, for each callback, the largest execution time and the highest rate with which all deadlines hold while
    /// nothing else changes, to a part in some thousands. It works for overloaded systems as well. It ends after a
    /// bounded number of steps. What it has not found by then is [`early`](Margin::early), a change that is sure to
    /// leave all deadlines met, or [`unknown`](Margin::unknown).
    ///
    /// # Errors
    /// If the system cannot be analysed for other reasons than its load.
    pub fn sensitivity(&self) -> Result<Sensitivity, AnalysisError> {
        let system = self.unloaded_system()?;
        let count = system.callbacks.len();
        let by_demand = is_by_demand(self.scenario(), &system, &Budget::of(0, None));
        let each = if by_demand { WORK_BY_DEMAND } else { WORK_EACH };
        let work = self.steps().unwrap_or(WORK + each * count as u64);
        // If the budget does not suffice for a single solution, no margin can be found, so none of it is spent.
        let is_hopeless = LOOKS * (count as u64).saturating_mul(count as u64) > work;
        let budget = Budget::of(if is_hopeless { 0 } else { work }, self.monitored());
        let mut trial = Trial::new(self.scenario(), system.clone(), &budget);
        let (mut late, mut changes) = (Vec::new(), Vec::new());
        if !is_hopeless && !trial.holds_as_it_is() {
            // Half of the budget is reserved for changes of the deployment.
            let free = Budget::of(budget.left() / 2, self.monitored());
            late = diagnosis::late(self, &system, &free);
            changes = diagnosis::changes(self, &late, &free);
        }
        let mut callbacks: Vec<_> = (0..count).map(|callback| trial.margin(callback)).collect();
        if callbacks.iter().any(|margin| margin.unknown) {
            let pairs = (count as u64).saturating_mul(count as u64);
            let work = self.steps().unwrap_or(WORK + WORK_ASSURED.saturating_mul(pairs).min(WORK_MOST));
            let budget = Budget::of(work, self.monitored());
            let assured = Assured::of(self.scenario(), &system, &budget);
            for (callback, margin) in callbacks.iter_mut().enumerate().filter(|(_, margin)| margin.unknown) {
                if let Some(found) = assured.as_ref().and_then(|assured| assured.margin(callback)) {
                    *margin = found;
                }
            }
        }
        let unknown = callbacks.iter().filter(|margin| margin.unknown).count();
        Ok(Sensitivity { callbacks, late, changes, unknown })
    }

    /// Returns true if all deadlines are proven to hold.
    pub(crate) fn holds(&self, budget: &Budget) -> bool {
        self.system().is_ok_and(|system| Trial::new(self.scenario(), system, budget).holds_as_it_is())
    }
}
