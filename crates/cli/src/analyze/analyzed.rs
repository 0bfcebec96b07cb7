//! Results of an analysis, and the sentences about them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rospin_analysis::{Analysis, Change, Monitor, Overheads, Report, Reservation, Sensitivity};
use rospin_measure::machine::Machine;
use rospin_report::Failure;
use rospin_scenario::Scenario;

use super::critical::{self, Picture};
use super::error::InputError;
use super::options::Rule;
use super::overheads;
use super::rows::{self, Row};
use super::simulated::Seen;

/// Largest number of proposed changes that are shown. Those that cost nothing come first, then the smallest ones.
const ADVICE_MAX: usize = 8;

/// All results of an analysis: what the tables, the JSON file and the report show.
pub(super) struct Analyzed {
    pub(super) machine: Machine,
    /// Path of the scenario file.
    pub(super) file: PathBuf,
    /// Scenario with the priorities and cores that were analysed.
    pub(super) scenario: Scenario,
    /// Rule by which priorities were assigned before the analysis; `None` if the file's were kept.
    pub(super) assigned: Option<Rule>,
    /// Change that was applied before the analysis.
    pub(super) applied: Option<Change>,
    pub(super) overheads: Overheads,
    /// Reservations of processor time, by the executor's name.
    pub(super) reservations: BTreeMap<String, Reservation>,
    /// Steps that searches may take, if the user said so.
    pub(super) work: Option<u64>,
    pub(super) report: Report,
    /// The margins of callbacks and the changes that help; `None` until they are known, or if nobody asked for them.
    pub(super) sensitivity: Option<Sensitivity>,
    /// Longest times in simulations; `None` if nobody asked for them.
    pub(super) seen: Option<Seen>,
    /// Pictures of the callback or chain that the user named, then of those whose deadline is not proven to hold.
    pub(super) pictures: Vec<Picture>,
}

impl Analyzed {
    /// Returns the name of the scenario, or of its file if it has none.
    pub(super) fn title(&self) -> String {
        if self.scenario.name.is_empty() { self.file.display().to_string() } else { self.scenario.name.clone() }
    }

    /// Returns a line that describes the conditions of the analysis.
    pub(super) fn describe(&self) -> String {
        let executors = self.scenario.executors.iter();
        let executors: Vec<_> = executors.map(|executor| format!("{} ({})", executor.name, executor.policy)).collect();
        let priorities = self.assigned.map(|rule| format!("; priorities by {}", rule.describe()));
        let change = self.applied.as_ref().map(|change| format!("; changed: {}", change.describe()));
        let overheads = overheads::describe(&self.overheads).unwrap_or_else(|| "none".to_owned());
        let reservations = self.reservations.iter();
        let reservations: String = reservations
            .map(|(executor, Reservation { budget, period })| {
                format!("; {executor} has {budget:?} in every {period:?}")
            })
            .collect();
        let (priorities, change) = (priorities.unwrap_or_default(), change.unwrap_or_default());
        format!("{}{priorities}{change}{reservations}; overheads: {overheads}", executors.join(", "))
    }

    /// Draws the critical instants of the callback or chain `asked` and, if `failing`, of the first
    /// [`critical::SHOWN_MAX`] ones whose deadline is not proven to hold. Draws nothing if there are reservations.
    pub(super) fn draw(&mut self, asked: Option<&str>, failing: bool) {
        // The simulator has no reservations.
        if !self.reservations.is_empty() {
            return;
        }
        let mut names: Vec<String> = asked.map(str::to_owned).into_iter().collect();
        let failing = self.failing().into_iter().filter(|_| failing).take(critical::SHOWN_MAX).map(|row| row.name);
        names.extend(failing.filter(|name| asked != Some(name.as_str())));
        self.pictures = names.iter().filter_map(|name| critical::picture(self, name)).collect();
    }

    /// Calculates how far the times of callbacks can change, and the changes that make deadlines hold. `path` is the
    /// scenario's, for the error.
    pub(super) fn look_around(&mut self, monitor: &Monitor, path: &Path) -> Result<(), Failure> {
        let analysis = analysis_of(&self.scenario, self.overheads, &self.reservations, self.work).monitor(monitor);
        let refused = |error| Failure::input(InputError::Analysis { path: path.to_owned(), error });
        self.sensitivity = Some(analysis.sensitivity().map_err(refused)?);
        Ok(())
    }

    /// Returns the callbacks, then the chains, whose deadline is not proven to hold or which have no bound.
    pub(super) fn failing(&self) -> Vec<Row> {
        rows::callbacks(self).into_iter().chain(rows::chains(self)).filter(|row| !row.holds).collect()
    }

    /// Returns the callbacks and chains that took longer in a simulation than their bound, which is a bug of the
    /// analysis.
    pub(super) fn exceeded(&self) -> Vec<Row> {
        let all = rows::callbacks(self).into_iter().chain(rows::chains(self));
        all.filter(|row| row.bound.zip(row.seen).is_some_and(|(bound, seen)| seen > bound)).collect()
    }

    /// Returns the sentence that all deadlines hold, or that names those that are not proven to.
    pub(super) fn verdict(&self) -> String {
        let failing = self.failing();
        if failing.is_empty() {
            let judged = rows::callbacks(self).into_iter().chain(rows::chains(self));
            let none = judged.filter(|row| row.deadline.is_some()).count() == 0;
            let text = if none { "There are no deadlines; everything has a bound." } else { "All deadlines hold." };
            return text.to_owned();
        }
        let names: Vec<_> = failing.iter().map(|row| format!("`{}`", row.name)).collect();
        format!("Not proven to hold: {}.", names.join(", "))
    }

    /// Returns a line for each reason for which bounds are missing, with the callbacks that it concerns.
    pub(super) fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for callback in &self.report.callbacks {
            let Some(reason) = &callback.not_proven else { continue };
            match reasons.iter_mut().find(|(known, _)| known == reason) {
                Some((_, names)) => names.push(&callback.name),
                None => reasons.push((reason, vec![&callback.name])),
            }
        }
        let line = |(reason, names): (&str, Vec<&str>)| format!("{}: no bound: {reason}", names.join(", "));
        reasons.into_iter().map(line).collect()
    }

    /// Returns a line for each proposed change, at most [`ADVICE_MAX`], or one line that no single change helps. Empty
    /// if all deadlines hold, or the sensitivity is not known.
    pub(super) fn advice(&self) -> Vec<String> {
        if self.report.holds() {
            return Vec::new();
        }
        let Some(sensitivity) = &self.sensitivity else { return Vec::new() };
        let mut advice = sensitivity.advice();
        if advice.is_empty() {
            let text = "no single change makes all deadlines hold: lighten more than one callback, add a core, or try --assign";
            advice.push(text.to_owned());
        }
        advice.truncate(ADVICE_MAX);
        advice
    }

    /// Returns a line for each deadline that is not proven to hold: how far the bound is beyond it, or that there is no
    /// bound, and whose execution causes that. Empty if the sensitivity is not known.
    pub(super) fn causes(&self) -> Vec<String> {
        let Some(sensitivity) = &self.sensitivity else { return Vec::new() };
        let cause = |(name, shorter): &(String, Option<Duration>)| match shorter {
            Some(shorter) => format!("`{name}` ({shorter:?} of it)"),
            None => format!("`{name}` (without it there is a bound)"),
        };
        let line = |late: &rospin_analysis::Late| {
            let by = match late.by {
                Some(by) => format!("The bound of `{}` is {by:?} beyond its deadline", late.name),
                None => format!("`{}` has no bound", late.name),
            };
            let causes: Vec<_> = late.causes.iter().map(cause).collect();
            let because = if causes.is_empty() { "its own execution".to_owned() } else { causes.join(", ") };
            format!("{by}, because of {because}.")
        };
        // A deadline whose misses are all tolerated needs no explanation.
        let failing: Vec<String> = self.failing().into_iter().map(|row| row.name).collect();
        sensitivity.late.iter().filter(|late| failing.contains(&late.name)).map(line).collect()
    }

    /// Checks the result, for the exit code.
    ///
    /// # Errors
    /// If a time in a simulation exceeds its bound, or a deadline is not proven to hold.
    pub(super) fn judge(&self) -> Result<(), Failure> {
        if let Some(row) = self.exceeded().first() {
            let text = format!(
                "{}: a simulation saw `{}` exceed its bound, which is a bug of the analysis; `rospin simulate` with the seeds \
                 from {} on shows it",
                self.file.display(),
                row.name,
                self.scenario.seed
            );
            return Err(Failure::Run(text.into()));
        }
        if self.report.holds() {
            return Ok(());
        }
        Err(Failure::Run(format!("{}: {}", self.file.display(), self.verdict()).into()))
    }
}

/// Returns the analysis of `scenario` with these overheads, reservations by the executor's name, and steps of work.
pub(super) fn analysis_of<'a>(
    scenario: &'a Scenario,
    overheads: Overheads,
    reservations: &BTreeMap<String, Reservation>,
    work: Option<u64>,
) -> Analysis<'a> {
    let all = reservations.iter();
    let mut analysis = Analysis::new(scenario).overheads(overheads);
    if let Some(steps) = work {
        analysis = analysis.work(steps);
    }
    all.fold(analysis, |analysis, (executor, reservation)| analysis.reservation(executor, *reservation))
}
