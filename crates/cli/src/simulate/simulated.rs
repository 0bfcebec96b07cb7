//! The results of a simulation, and the sentences about them.

use std::path::Path;

use rospin_measure::machine::Machine;
use rospin_report::Failure;
use rospin_report::number::counted;
use rospin_report::timeline::{self, Activation, Timeline};
use rospin_scenario::Scenario;
use rospin_sim::Outcome;

use super::options::Listed;

/// Number of activations that the timeline of the beginning shows, or fewer if the last ones start at the same time as
/// the next one. More would not fit a terminal.
pub(super) const SHOWN: usize = 40;

/// All results of a simulation: what the tables, the JSON file and the report show.
pub(super) struct Simulated<'a> {
    pub(super) machine: Machine,
    /// Path of the scenario file.
    pub(super) file: &'a Path,
    pub(super) scenario: &'a Scenario,
    pub(super) outcome: Outcome,
    /// The runs of callbacks that ended, in the order of their starts.
    pub(super) activations: Vec<Activation>,
    /// The kind of activations that the JSON file lists.
    pub(super) listed: Listed,
    /// A text that names what the oracles found wrong, and the command that replays it; `None` if nothing is wrong.
    pub(super) violations: Option<String>,
}

/// Returns the error of simulations of a file: what the oracles found wrong, or else the callbacks that starved.
pub(super) fn judge(file: &Path, violations: Option<&str>, starved: &[String]) -> Result<(), Failure> {
    if let Some(text) = violations {
        return Err(Failure::Run(text.into()));
    }
    if starved.is_empty() {
        return Ok(());
    }
    Err(Failure::Run(format!("{}: starvation: {}", file.display(), starved.join("; ")).into()))
}

impl Simulated<'_> {
    /// Returns the scenario's name, or the path of its file if it has none.
    pub(super) fn title(&self) -> String {
        if self.scenario.name.is_empty() { self.file.display().to_string() } else { self.scenario.name.clone() }
    }

    /// Returns a line with the length, the seed, the number of activations and the executors of the simulation.
    pub(super) fn describe(&self) -> String {
        let policies: Vec<_> = self
            .scenario
            .executors
            .iter()
            .map(|executor| {
                let threads = counted(executor.threads.into(), "thread");
                format!("{} ({}, {threads})", executor.name, executor.policy)
            })
            .collect();
        format!(
            "{} of virtual time, seed {}, {} activations; {}",
            rospin_scenario::duration::format(self.scenario.duration),
            self.outcome.seed,
            self.activations.len(),
            policies.join(", "),
        )
    }

    /// Returns the end of the timeline of the beginning, in nanoseconds since the scenario began: the start of the
    /// first activation that is left out.
    pub(super) fn shown_ns(&self) -> u64 {
        let end_ns = self.outcome.end.as_nanos();
        let shown_ns = self.activations.get(SHOWN).map_or(end_ns, |first_left_out| first_left_out.start_ns);
        // If all the shown activations begin and end at 0 s, the diagram shows the whole duration.
        if shown_ns == 0 { end_ns } else { shown_ns }
    }

    /// Returns the activations that the JSON file lists.
    pub(super) fn listed(&self) -> &[Activation] {
        match self.listed {
            Listed::All => &self.activations,
            Listed::Shown => {
                let shown_ns = self.shown_ns();
                let count = self.activations.partition_point(|activation| activation.start_ns < shown_ns);
                &self.activations[..count]
            }
        }
    }

    /// Returns the timelines of threads and of callbacks at the beginning.
    pub(super) fn beginning(&self) -> [Timeline; 2] {
        let shown_ns = self.shown_ns();
        [
            timeline::by_thread(self.scenario, &self.activations, shown_ns),
            timeline::by_callback(self.scenario, &self.activations, shown_ns),
        ]
    }

    /// Returns a line for each callback that [starved](rospin_sim::CallbackOutcome::is_starved).
    pub(super) fn starved(&self) -> Vec<String> {
        let simulated = self.scenario.duration;
        let line = |callback: &rospin_sim::CallbackOutcome| {
            let waited = rospin_scenario::duration::format(callback.waited);
            let lost = match (callback.overruns, callback.dropped) {
                (0, 0) => String::new(),
                (0, dropped) => format!(", {dropped} messages dropped"),
                (overruns, _) => format!(", {overruns} due times passed"),
            };
            let ran = match callback.response.count {
                0 => "never ran".to_owned(),
                count => format!("ran {count} times, then no more"),
            };
            format!("`{}` {ran}: it had waited for {waited} at the end{lost}", callback.name)
        };
        self.outcome.callbacks.iter().filter(|callback| callback.is_starved(simulated)).map(line).collect()
    }

    /// Checks the result, for the exit code.
    ///
    /// # Errors
    /// If an oracle found a violation, or a callback starved.
    pub(super) fn judge(&self) -> Result<(), Failure> {
        judge(self.file, self.violations.as_deref(), &self.starved())
    }

    /// Returns the sentence that says how many deadlines were missed, and by whom.
    pub(super) fn deadline_line(&self) -> String {
        /// The largest number of names.
        const NAMED: usize = 5;
        let callbacks = self.outcome.callbacks.iter().zip(&self.scenario.callbacks);
        let callbacks = callbacks.filter(|(_, plan)| plan.relative_deadline().is_some());
        let chains = self.outcome.chains.iter().zip(&self.scenario.chains);
        let chains = chains.filter(|(_, plan)| plan.deadline.is_some());
        let mut all: Vec<(String, u64, usize)> = Vec::new();
        all.extend(callbacks.map(|(of, _)| (format!("`{}`", of.name), of.misses, of.response.count)));
        all.extend(chains.map(|(of, _)| (format!("chain `{}`", of.name), of.misses, of.latency.count)));
        let misses: u64 = all.iter().map(|(_, misses, _)| misses).sum();
        if all.is_empty() {
            return "Deadlines: the file has none.".to_owned();
        }
        if misses == 0 {
            return "Deadlines: none was missed.".to_owned();
        }
        all.retain(|(_, misses, _)| *misses > 0);
        all.sort_by_key(|(_, misses, _)| std::cmp::Reverse(*misses));
        let told =
            all.iter().take(NAMED).map(|(name, misses, runs)| format!("{misses} by {name}, which ran {runs} times"));
        let more = if all.len() > NAMED {
            format!("; and {} more callbacks and chains", all.len() - NAMED)
        } else {
            String::new()
        };
        format!("Deadlines: {misses} MISSED: {}{more}.", told.collect::<Vec<_>>().join("; "))
    }

    /// Returns the sentence that says if the oracles found a violation.
    pub(super) fn oracle_line(&self) -> &'static str {
        match self.violations {
            None => {
                "Scheduler: kept its own rules (group exclusion, work conservation, nothing lost, order, spin contract)."
            }
            Some(_) => "Scheduler: broke a rule of its own; see below.",
        }
    }
}
