//! Set-up and run of a simulation.

use rospin_core::Policy;
use rospin_scenario::Scenario;

use crate::driver::Driver;
use crate::error::SimulationError;
use crate::event::Observer;
use crate::outcome::Outcome;

/// Simulation that has not started yet.
///
/// ```
/// use rospin_scenario::Scenario;
/// use rospin_sim::{Simulation, oracle::Oracles};
///
/// # let text = rospin_scenario::examples::EXP2;
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
    outputs: Vec<Option<Vec<Vec<u32>>>>,
}

impl<'a> Simulation<'a> {
    /// Returns the simulation of a scenario, with the scenario's seed.
    ///
    /// # Errors
    /// If the scenario does not pass its [check](Scenario::check).
    pub fn new(scenario: &'a Scenario) -> Result<Self, SimulationError> {
        scenario.check()?;
        let policies = scenario.executors.iter().map(|_| None).collect();
        let outputs = vec![None; scenario.callbacks.len()];
        let (observers, seed) = (Vec::new(), scenario.seed);
        Ok(Self { scenario, seed, policies, observers, progress: None, traces: false, outputs })
    }

    /// Sets a seed, in place of the scenario's.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets a policy of your own for the executor called `executor`, in place of the scenario's.
    ///
    /// # Errors
    /// If no executor has that name.
    pub fn policy(mut self, executor: &str, policy: Box<dyn Policy>) -> Result<Self, SimulationError> {
        let place = self.scenario.executors.iter().position(|known| known.name == executor);
        let place = place.ok_or_else(|| SimulationError::UnknownExecutor(executor.to_owned()))?;
        self.policies[place] = Some(policy);
        Ok(self)
    }

    /// Sets what each activation of the callback called `callback` publishes, in the order of their starts: the number
    /// of messages to each of the receivers in [`publishes`](rospin_scenario::Callback::publishes). After the last one,
    /// the first one follows. Without it, each activation publishes one message to each of them.
    ///
    /// # Errors
    /// If no callback has that name.
    pub fn outputs(mut self, callback: &str, outputs: Vec<Vec<u32>>) -> Result<Self, SimulationError> {
        let place = self.scenario.callbacks.iter().position(|known| known.name == callback);
        let place = place.ok_or_else(|| SimulationError::UnknownCallback(callback.to_owned()))?;
        self.outputs[place] = Some(outputs);
        Ok(self)
    }

    /// Adds an observer, which gets all events. A simulation may have several.
    #[must_use]
    pub fn observe(mut self, observer: &'a mut dyn Observer) -> Self {
        self.observers.push(observer);
        self
    }

    /// Sets a callback that gets the elapsed share of the virtual time, from 0 to 1. The simulation calls it every few
    /// thousand instants, some hundred times per second.
    #[must_use]
    pub fn progress(mut self, progress: &'a mut dyn FnMut(f64)) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Keeps all events in [`Outcome::trace`], about a kilobyte for each activation.
    #[must_use]
    pub const fn trace(mut self) -> Self {
        self.traces = true;
        self
    }

    /// Runs the simulation to its end.
    ///
    /// # Errors
    /// If a scheduler refuses a callback, or if virtual time does not advance any more because callbacks that take no
    /// time activate each other.
    pub fn run(self) -> Result<Outcome, SimulationError> {
        let mut driver = Driver::new(self.scenario, self.seed, self.policies, self.observers, self.traces)?;
        driver.callbacks.iter_mut().zip(self.outputs).for_each(|(callback, outputs)| callback.outputs = outputs);
        driver.run(self.progress)
    }
}
