//! A simulation, set up and run.

use rospin_core::policy::UnknownPolicy;
use rospin_core::{AddError, Instant, Policy};
use rospin_scenario::{CheckError, Scenario};

use crate::driver::Driver;
use crate::event::Observer;
use crate::outcome::Outcome;

/// Why a scenario cannot be simulated.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The scenario makes no sense.
    #[error("the scenario cannot be run: {0}")]
    Scenario(#[from] CheckError),
    /// There is no executor by that name.
    #[error("the scenario has no executor `{0}` to give a policy to")]
    UnknownExecutor(String),
    /// There is no such policy.
    #[error(transparent)]
    Policy(UnknownPolicy),
    /// The scheduler refused a callback.
    #[error(transparent)]
    Refused(AddError),
    /// Callbacks that take no time release each other for ever.
    #[error("time stands still at {at:?}: callbacks that take no time release each other; give one of them a time")]
    Livelock {
        /// Where.
        at: Instant,
    },
}

/// A scenario that is about to be simulated.
///
/// ```
/// use rospin_scenario::Scenario;
/// use rospin_sim::{Simulation, oracle::Oracles};
///
/// # let text = include_str!("../../scenario/scenarios/exp2.toml");
/// let scenario = Scenario::parse(text)?;
/// let mut oracles = Oracles::new(&scenario);
/// let outcome = Simulation::new(&scenario)?.seed(7).observe(&mut oracles).run()?;
/// assert_eq!(oracles.violations(), []);
/// assert_eq!(outcome.polling_points.len(), 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Simulation<'a> {
    scenario: &'a Scenario,
    seed: u64,
    policies: Vec<Option<Box<dyn Policy>>>,
    observers: Vec<&'a mut dyn Observer>,
    progress: Option<&'a mut dyn FnMut(f64)>,
    traces: bool,
}

impl<'a> Simulation<'a> {
    /// Of this scenario, under its own seed.
    ///
    /// # Errors
    /// If the scenario does not pass its [check](Scenario::check).
    pub fn new(scenario: &'a Scenario) -> Result<Self, SimulationError> {
        scenario.check()?;
        let policies = scenario.executors.iter().map(|_| None).collect();
        Ok(Self { scenario, seed: scenario.seed, policies, observers: Vec::new(), progress: None, traces: false })
    }

    /// Under another seed than the scenario's.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// With a policy of your own in an executor, instead of the one that the scenario names.
    ///
    /// # Errors
    /// If there is no such executor.
    pub fn policy(mut self, executor: &str, policy: Box<dyn Policy>) -> Result<Self, SimulationError> {
        let place = self.scenario.executors.iter().position(|known| known.name == executor);
        let place = place.ok_or_else(|| SimulationError::UnknownExecutor(executor.to_owned()))?;
        self.policies[place] = Some(policy);
        Ok(self)
    }

    /// Tells `observer` of everything that happens.
    #[must_use]
    pub fn observe(mut self, observer: &'a mut dyn Observer) -> Self {
        self.observers.push(observer);
        self
    }

    /// Tells `progress` which share of the virtual time is over, 0 to 1, every few thousand instants: some hundred times a
    /// second.
    #[must_use]
    pub fn progress(mut self, progress: &'a mut dyn FnMut(f64)) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Keeps everything that happens in [`Outcome::trace`]: about a kilobyte an activation.
    #[must_use]
    pub const fn trace(mut self) -> Self {
        self.traces = true;
        self
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// If time comes to a standstill.
    pub fn run(self) -> Result<Outcome, SimulationError> {
        Driver::new(self.scenario, self.seed, self.policies, self.observers, self.traces)?.run(self.progress)
    }
}
