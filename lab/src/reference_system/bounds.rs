//! Bounds of the analysis beside what is simulated and measured.

use std::time::Duration;

use rospin_analysis::{Analysis, Report};
use rospin_engine::PriorityMap;
use serde::{Deserialize, Serialize};

use super::model::{self, FROM_FUSION, TO_FUSION};
use super::runner::Variant;

/// Name of the planner's timer.
pub(crate) const PLANNER_TIMER: &str = "BehaviorPlanner/timer";

/// Bounds of a variant. The hot path's counts from the later due time of the two lidars to the end of the last node,
/// with that node's own work, whereas the figures of a run end where it starts.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Bounds {
    /// Bound of the hot path in ms; `None` if there is none.
    pub(crate) hot_path_ms: Option<f64>,
    /// Bound of the response of the planner's timer in ms; `None` if there is none.
    pub(crate) planner_ms: Option<f64>,
    /// Number of callbacks of the model, in which a fusion is one.
    pub(crate) callbacks: usize,
    /// Number of these without a bound.
    pub(crate) unbounded: usize,
    /// The reason for which nothing has a bound, if the analysis refuses the system.
    pub(crate) refused: Option<String>,
}

impl Bounds {
    /// Analyses a variant on `cores` cores, with `crunch` of work for each node.
    pub(crate) fn of(variant: Variant, cores: u16, priorities: &PriorityMap, crunch: Duration) -> Self {
        let scenario = model::scenario(variant, cores, priorities, crunch);
        let callbacks = scenario.callbacks.len();
        match Analysis::new(&scenario).run() {
            Ok(report) => Self {
                hot_path_ms: hot_path(&report).map(ms),
                planner_ms: report.callback(PLANNER_TIMER).and_then(|planner| planner.bound).map(ms),
                callbacks,
                unbounded: report.callbacks.iter().filter(|callback| callback.bound.is_none()).count(),
                refused: None,
            },
            Err(error) => {
                let refused = Some(error.to_string());
                Self { hot_path_ms: None, planner_ms: None, callbacks, unbounded: callbacks, refused }
            }
        }
    }
}

/// Returns the bound of the hot path. The fusion is released by the sample that comes last. That one comes no later
/// than the longer of the two ways from the lidars takes after the later of the two due times.
fn hot_path(report: &Report) -> Option<Duration> {
    let bound = |name: &str| report.chain(name).and_then(|chain| chain.latency);
    let [front, rear] = TO_FUSION.map(bound);
    Some(front?.max(rear?) + bound(FROM_FUSION)?)
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::super::layout::paired_priorities;
    use super::super::virtual_time::{self, Setting};
    use super::*;

    /// Runs each variant in virtual time with several lengths of work and several phases, and compares the hot path and
    /// the planner with their bounds.
    #[test]
    fn nothing_exceeds_its_bound() {
        let priorities = &paired_priorities().unwrap();
        let duration = Duration::from_secs(2);
        for variant in Variant::EVERY {
            for (cores, crunch_us) in [(2, 3_000), (2, 7_000), (4, 7_000)] {
                let crunch = Duration::from_micros(crunch_us);
                let bounds = Bounds::of(variant, cores, priorities, crunch);
                for phases in [None, Some(1), Some(2)] {
                    let run = virtual_time::run(Setting { variant, cores, priorities, crunch, duration, phases });
                    let longest_ms = run.kpis.hot_path_from_due_ms.iter().copied().fold(0.0, f64::max);
                    let planner_ms = run.responses.get(PLANNER_TIMER).copied().map_or(0.0, ms);
                    let what = format!("{} on {cores} cores, {crunch:?} of work, {phases:?}", variant.name());
                    assert!(
                        bounds.hot_path_ms.is_none_or(|bound| longest_ms <= bound),
                        "{what}: {longest_ms} {bounds:?}"
                    );
                    assert!(
                        bounds.planner_ms.is_none_or(|bound| planner_ms <= bound),
                        "{what}: {planner_ms} {bounds:?}"
                    );
                }
            }
        }
    }
}
