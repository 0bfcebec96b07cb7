//! Runs the cases, in virtual or in real time.

use rospin_report::progress::Progress;
use rospin_report::timeline::Activation;
use rospin_scenario::Scenario;
use rospin_sim::oracle::{self, CheckFailed};
use rospin_synthetic::{self as synthetic, SyntheticError};

use super::cases::Case;

/// Reasons for which a case could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    #[error("{case}: {reason}")]
    Simulation { case: String, reason: CheckFailed },
    #[error("{case}: {reason}")]
    Engine { case: String, reason: Box<SyntheticError> },
}

/// A polling point: the moment at which a ready set was built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PollingPoint {
    /// Time since the beginning of the run, in nanoseconds, unscaled.
    pub(super) at_ns: u64,
    /// Callbacks by their numbers in the scenario, in the order of service.
    pub(super) ready_set: Vec<usize>,
}

/// Results of a case.
#[derive(Clone, Debug)]
pub(super) struct CaseResult {
    pub(super) case: Case,
    pub(super) scenario: Scenario,
    /// The runs of callbacks, in the order of their starts.
    pub(super) activations: Vec<Activation>,
    pub(super) polling_points: Vec<PollingPoint>,
}

impl CaseResult {
    /// Returns the results of a case, whose activations may be in any order.
    fn new(case: Case, scenario: Scenario, activations: Vec<Activation>, polling_points: Vec<PollingPoint>) -> Self {
        let mut result = Self { case, scenario, activations, polling_points };
        result.activations.sort_by_key(|activation| (activation.start_ns, activation.callback));
        result
    }

    /// Returns the name of the callback with this number in the scenario.
    pub(super) fn name(&self, callback: usize) -> &str {
        &self.scenario.callbacks[callback].name
    }

    /// Returns the names of callbacks, such as those of a ready set, separated by spaces as in the paper.
    pub(super) fn names(&self, callbacks: &[usize]) -> String {
        callbacks.iter().map(|callback| self.name(*callback)).collect::<Vec<_>>().join(" ")
    }

    /// Returns the activations of the callback with this name, in the order of their starts.
    pub(super) fn runs_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Activation> {
        self.activations.iter().filter(move |activation| self.name(activation.callback) == name)
    }

    /// Returns the time at which the last callback ended, or 0 if none ran.
    pub(super) fn end_ns(&self) -> u64 {
        self.activations.iter().map(|activation| activation.end_ns).max().unwrap_or(0)
    }
}

/// Runs all cases in virtual time. The simulator's oracles check every run.
pub(super) fn simulate_all() -> Result<Vec<CaseResult>, RunError> {
    Case::all().into_iter().map(simulate).collect()
}

/// Runs a case in virtual time.
fn simulate(case: Case) -> Result<CaseResult, RunError> {
    let scenario = case.scenario(false);
    let outcome = oracle::check(&scenario, scenario.seed, "rospin lab callback-order");
    let outcome = outcome.map_err(|reason| RunError::Simulation { case: case.label(), reason })?;
    let points = outcome.polling_points.iter();
    let points = points.map(|point| PollingPoint { at_ns: point.at.as_nanos(), ready_set: point.ready_set.clone() });
    let activations = outcome.runs.iter().map(Activation::from).collect();
    Ok(CaseResult::new(case, scenario, activations, points.collect()))
}

/// Returns the seconds that all cases take together in real time, at a scale of 1.
pub(super) fn seconds_in_all() -> f64 {
    Case::all().iter().map(|case| case.scenario(true).duration.as_secs_f64()).sum()
}

/// Runs all cases on the engine in real time, one after the other. Durations are multiplied by `scale` for the run, and
/// the times in the results are divided by it again. All cases together count as one run of `progress`.
pub(super) fn run_all(scale: f64, progress: &Progress) -> Result<Vec<CaseResult>, RunError> {
    let all_s = seconds_in_all();
    let mut done_s = 0.0;
    let mut results = Vec::new();
    for case in Case::all() {
        let scenario = case.scenario(true);
        let this_s = scenario.duration.as_secs_f64();
        let outcome = synthetic::run(&scenario, scale, &|share| progress.at((done_s + share * this_s) / all_s));
        let outcome = outcome.map_err(|reason| RunError::Engine { case: case.label(), reason: Box::new(reason) })?;
        done_s += this_s;
        let activation = |run: &synthetic::RealRun| Activation {
            callback: run.callback,
            thread: None,
            release_ns: run.release_ns,
            start_ns: run.start_ns,
            end_ns: run.end_ns,
        };
        let activations = outcome.runs.iter().map(activation).collect();
        let points = outcome.polling_points.into_iter();
        let points = points.map(|point| PollingPoint { at_ns: point.at_ns, ready_set: point.ready_set }).collect();
        results.push(CaseResult::new(case, scenario, activations, points));
    }
    Ok(results)
}
