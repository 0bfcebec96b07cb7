//! Oracles: rules that hold for every simulation, judged only from its [events](crate::Event) and the scenario.
//!
//! An oracle shares no code with the scheduler, the policies or the driver. Each judges one rule, so that a broken
//! rule has a name.

mod conservation;
mod exclusion;
mod loss;
mod order;
mod ready;
mod spin;

use std::fmt;

use rospin_core::Instant;
use rospin_scenario::Scenario;

use crate::error::SimulationError;
use crate::event::{Event, Observer, What, render};
use crate::outcome::Outcome;
use crate::simulation::Simulation;

/// Rules that oracles judge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Rule {
    /// A mutually exclusive group runs one callback at a time, and a callback has no more activations at once than
    /// allowed.
    GroupExclusion,
    /// No thread is idle while a callback may run, and no core while a thread is runnable.
    WorkConservation,
    /// Every release is dispatched, or something keeps it waiting. Every message is taken, displaced or queued. Every
    /// due time of a timer is dispatched or counted as given up.
    NothingLost,
    /// A dispatched activation is the first one, in the policy's order, of the activations that may run.
    Order,
    /// Nothing is dispatched before a spin starts or after a halt, and nothing runs after the spin returned.
    SpinContract,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GroupExclusion => "group exclusion",
            Self::WorkConservation => "work conservation",
            Self::NothingLost => "nothing lost",
            Self::Order => "order",
            Self::SpinContract => "spin contract",
        })
    }
}

/// Violation of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Violation {
    /// Rule that was broken.
    pub rule: Rule,
    /// Time of the violation.
    pub at: Instant,
    /// Number of the executor in the scenario.
    pub executor: usize,
    /// Description of the events that broke the rule.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, at, executor, message } = self;
        write!(f, "{rule}: at {at:?}, executor {executor}: {message}")
    }
}

/// Largest number of violations of each rule that are kept.
const KEPT_A_RULE: usize = 3;
/// Number of events before the first violation that are kept.
const EVENTS_KEPT: usize = 60;

/// The verdict of an oracle. The error says what is wrong.
type Verdict = Result<(), String>;

/// Judge of one rule.
trait Judge {
    /// Returns the rule that this judge watches over.
    fn rule(&self) -> Rule;
    /// Judges an event. Events come in the order of the simulation.
    fn judge(&mut self, event: &Event) -> Verdict;
    /// Judges the end of the simulation, and with it of all spins.
    fn end(&mut self) -> Verdict {
        Ok(())
    }
}

/// All oracles, as an observer of a simulation.
///
/// ```
/// use rospin_scenario::Scenario;
/// use rospin_sim::{Simulation, oracle::Oracles};
///
/// let scenario = Scenario::parse(rospin_scenario::examples::CHAIN)?;
/// let mut oracles = Oracles::new(&scenario);
/// Simulation::new(&scenario)?.observe(&mut oracles).run()?;
/// assert_eq!(oracles.violations(), []);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Oracles<'a> {
    scenario: &'a Scenario,
    judges: Vec<Box<dyn Judge + 'a>>,
    violations: Vec<Violation>,
    /// The last events before the first violation.
    before: std::collections::VecDeque<Event>,
    /// Number of executors that spin.
    running: usize,
}

impl<'a> Oracles<'a> {
    /// Returns the oracles for this scenario.
    #[must_use]
    pub fn new(scenario: &'a Scenario) -> Self {
        let judges: Vec<Box<dyn Judge + 'a>> = vec![
            Box::new(exclusion::Exclusion::new(scenario)),
            Box::new(conservation::Conservation::new(scenario)),
            Box::new(loss::Loss::new(scenario)),
            Box::new(order::OrderRule::new(scenario)),
            Box::new(spin::SpinContract::new(scenario)),
        ];
        Self { scenario, judges, violations: Vec::new(), before: std::collections::VecDeque::new(), running: 0 }
    }

    /// Returns the first three violations of each rule, in the order of time.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Returns a report of the first violation: the events before it, the scenario, and `replay`, the command that
    /// repeats the simulation. Returns `None` if there is no violation.
    #[must_use]
    pub fn report(&self, replay: &str) -> Option<String> {
        let first = self.violations.first()?;
        let events: Vec<Event> = self.before.iter().copied().collect();
        let (events, text) = (render(self.scenario, &events), self.scenario.to_toml());
        Some(format!("{first}\n\nwhat led to it:\n{events}\nthe scenario:\n{text}\nreplay: {replay}\n"))
    }

    /// Keeps the violation, if the verdict is one and the rule has fewer than [`KEPT_A_RULE`].
    fn found(&mut self, rule: Rule, event: &Event, verdict: Verdict) {
        if let Err(message) = verdict
            && self.violations.iter().filter(|known| known.rule == rule).count() < KEPT_A_RULE
        {
            self.violations.push(Violation { rule, at: event.at, executor: event.executor, message });
        }
    }
}

impl Observer for Oracles<'_> {
    fn observe(&mut self, event: &Event) {
        if self.violations.is_empty() {
            if self.before.len() == EVENTS_KEPT {
                self.before.pop_front();
            }
            self.before.push_back(*event);
        }
        let mut judges = std::mem::take(&mut self.judges);
        for judge in &mut judges {
            let verdict = judge.judge(event);
            self.found(judge.rule(), event, verdict);
        }
        match event.what {
            What::SpinStarted => self.running += 1,
            What::SpinReturned => {
                self.running = self.running.saturating_sub(1);
                if self.running == 0 {
                    for judge in &mut judges {
                        let verdict = judge.end();
                        self.found(judge.rule(), event, verdict);
                    }
                }
            }
            _ => {}
        }
        self.judges = judges;
    }
}

/// Reasons for which [`check`] fails.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckFailed {
    /// The scenario cannot be simulated.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// A rule was broken. The text is the [report](Oracles::report).
    #[error("{0}")]
    Broken(String),
}

/// Simulates the scenario with all oracles, with `seed` in place of the scenario's seed.
///
/// # Errors
/// If the scenario cannot be simulated, or a rule is broken. The report has the scenario and `replay`, the command that
/// repeats it.
pub fn check(scenario: &Scenario, seed: u64, replay: &str) -> Result<Outcome, CheckFailed> {
    let mut oracles = Oracles::new(scenario);
    let outcome = Simulation::new(scenario)?.seed(seed).observe(&mut oracles).run()?;
    match oracles.report(replay) {
        None => Ok(outcome),
        Some(report) => Err(CheckFailed::Broken(report)),
    }
}
