//! The rows of the table, and how they come about.

use rospin_engine::ChainError;
use rospin_measure::stats::{Summary, percentile};
use serde::{Deserialize, Serialize};

use super::super::bounds::{Bounds, PLANNER_TIMER};
use super::super::kpi::Kpis;
use super::super::layout;
use super::super::runner::{RunResult, Settings, Variant};
use super::super::virtual_time::{self, Outcome, Setting};

/// Number of runs in virtual time with other phases of the timers.
pub(super) const PHASES: u64 = 20;

/// An executor on a number of cores.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) cores: u16,
    pub(super) executor: Variant,
    /// Number of threads, over all executors.
    pub(super) threads: u16,
    /// Figures of the run in virtual time.
    pub(super) simulated: Figures,
    /// Longest hot path from the later due time, in runs in virtual time with other phases of the timers.
    pub(super) any_phase_max_ms: Option<f64>,
    /// Longest response of the planner's timer in virtual time, from its due time to its end, in any of these runs.
    pub(super) planner_response_max_ms: f64,
    pub(super) bounds: Bounds,
    /// Figures of the run on this machine; `None` if it was not measured.
    pub(super) measured: Option<Figures>,
    /// Remarks on the measured run.
    pub(super) remarks: Vec<String>,
}

/// Figures of a run; `None` without a sample.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Figures {
    /// Hot path from the start of the later lidar's callback, as the benchmark counts.
    pub(super) kpi_mean_ms: Option<f64>,
    pub(super) kpi_max_ms: Option<f64>,
    /// Hot path from the later due time of the two lidars.
    pub(super) from_due_mean_ms: Option<f64>,
    pub(super) from_due_p99_ms: Option<f64>,
    pub(super) from_due_max_ms: Option<f64>,
    /// Samples that nodes of the hot path never saw, a sample that got through.
    pub(super) drops_mean: Option<f64>,
    pub(super) missed_front_lidar: usize,
    pub(super) front_lidar: usize,
    pub(super) planner_min_ms: Option<f64>,
    pub(super) planner_max_ms: Option<f64>,
    pub(super) planner_sd_ms: Option<f64>,
}

impl Figures {
    fn of(kpis: &Kpis) -> Self {
        let kpi = Summary::of(kpis.hot_path_latency_ms.iter().copied());
        let from_due = Summary::of(kpis.hot_path_from_due_ms.iter().copied());
        let planner = Summary::of(kpis.planner_periods.iter().map(|period| period.period_ms));
        Self {
            kpi_mean_ms: kpi.map(|kpi| kpi.mean),
            kpi_max_ms: kpi.map(|kpi| kpi.max),
            from_due_mean_ms: from_due.map(|from_due| from_due.mean),
            from_due_p99_ms: percentile(&kpis.hot_path_from_due_ms, 99.0),
            from_due_max_ms: from_due.map(|from_due| from_due.max),
            drops_mean: Summary::of(kpis.hot_path_drops.iter().copied().map(f64::from)).map(|drops| drops.mean),
            missed_front_lidar: kpis.missed_front_lidar,
            front_lidar: kpis.front_lidar_counted,
            planner_min_ms: planner.map(|planner| planner.min),
            planner_max_ms: planner.map(|planner| planner.max),
            planner_sd_ms: planner.map(|planner| planner.sd),
        }
    }
}

impl Row {
    /// Runs a variant on `cores` cores in virtual time, and asks the analysis for its bounds.
    pub(super) fn simulate(executor: Variant, cores: u16, settings: &Settings) -> Result<Self, ChainError> {
        let priorities = &layout::paired_priorities()?;
        let (crunch, duration) = (settings.crunch, settings.duration);
        let setting = Setting { variant: executor, cores, priorities, crunch, duration, phases: None };
        let run = virtual_time::run(setting);
        let planner =
            |run: &Outcome| run.responses.get(PLANNER_TIMER).map_or(0.0, |longest| longest.as_secs_f64() * 1e3);
        let (mut any_phase_max_ms, mut planner_response_max_ms) = (None, planner(&run));
        for seed in 0..PHASES {
            let run = virtual_time::run(Setting { phases: Some(seed), ..setting });
            any_phase_max_ms =
                run.kpis.hot_path_from_due_ms.iter().copied().chain(any_phase_max_ms).max_by(f64::total_cmp);
            planner_response_max_ms = planner(&run).max(planner_response_max_ms);
        }
        let threads = layout::executors(executor, cores).iter().map(layout::ExecutorPlan::threads).sum();
        Ok(Self {
            cores,
            executor,
            threads,
            simulated: Figures::of(&run.kpis),
            any_phase_max_ms,
            planner_response_max_ms,
            bounds: Bounds::of(executor, cores, priorities, crunch),
            measured: None,
            remarks: Vec::new(),
        })
    }

    /// Adds the figures of the run on this machine.
    pub(super) fn add_measured(&mut self, result: &RunResult) {
        self.measured = Some(Figures::of(&result.kpis));
        self.remarks.clone_from(&result.remarks);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{result, settings};
    use super::*;

    #[test]
    fn measured_figures_stand_beside_the_simulated_ones() {
        let mut row = Row::simulate(Variant::PriorityShared, 2, &settings()).unwrap();
        let simulated = row.simulated;
        row.add_measured(&RunResult { remarks: vec!["late".to_owned()], ..result(Variant::PriorityShared) });
        assert_eq!((row.simulated, row.threads), (simulated, 2));
        assert_ne!(row.measured, Some(simulated));
        assert_eq!(row.remarks, ["late"]);
    }
}
