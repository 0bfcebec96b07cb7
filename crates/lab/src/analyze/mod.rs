//! `rospin analyze`: will every deadline of a scenario hold, and if not, what to change.

mod apply;
mod critical;
mod json;
mod options;
mod overheads;
mod plot;
mod report;
mod rows;
mod simulated;
mod tables;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use rospin::os::OsScheduling;
use rospin_analysis::{
    Analysis, AnalysisError, Assignment, Change, Monitor, Overheads, Report, Reservation, Sensitivity,
};
use rospin_scenario::{CheckError, Deployment, Scenario, ScenarioError};
use rospin_sim::SimulationError;

use crate::deploy::write_new;
use crate::experiments::Failure;
use crate::machine::Machine;
use crate::progress::LateProgress;
use crate::scenario_file;

use self::critical::Picture;
use self::options::{Options, Rule};
use self::rows::Row;
use self::simulated::Seen;
use self::watch::Watch;

pub(crate) const NAME: &str = "analyze";

/// As many ways out are told; the others change more.
const ADVICE_MAX: usize = 8;

/// Why a scenario cannot be analysed.
#[derive(Debug, thiserror::Error)]
enum InputError {
    #[error("{}{}: {error}", path.display(), place(path, error).unwrap_or_default())]
    Analysis { path: PathBuf, error: AnalysisError },
    #[error("{}: {error}", path.display())]
    Simulation { path: PathBuf, error: SimulationError },
    #[error("--deploy {}: {reason}; name a file that is not there, in an existing folder", path.display())]
    Deploy { path: PathBuf, reason: String },
    #[error("--apply {number}: {reason}")]
    Apply { number: u16, reason: String },
    #[error("--critical {name}: there is no callback or chain of that name; known are {known}")]
    Critical { name: String, known: String },
    #[error("--reserve {executor}: two reservations for one executor; leave one out")]
    Reserved { executor: String },
}

/// `:line:column` of what an error is about, if it is about something that stands in the file.
fn place(path: &Path, error: &AnalysisError) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let scenario = Scenario::parse(&text).ok()?;
    let callback = |name: &String| {
        let number = scenario.callbacks.iter().position(|callback| callback.name == *name);
        number.map(|number| CheckError::of_callback(number, ""))
    };
    let about = match error {
        AnalysisError::NoExecutionTime { callback: name }
        | AnalysisError::NeverReleased { callback: name }
        | AnalysisError::NoFeasiblePriorities { callback: name, .. }
        | AnalysisError::NotAnalyzable { callback: name, .. } => callback(name),
        AnalysisError::Cycle { path } => callback(path.first()?),
        AnalysisError::Overloaded { executors, .. } => {
            let first = executors.first()?;
            let number = scenario.executors.iter().position(|executor| executor.name == *first);
            number.map(|number| CheckError::of_executor(number, ""))
        }
        _ => None,
    };
    let place = ScenarioError::locate(&text, &about?);
    Some(format!(":{}:{}", place.line, place.column))
}

/// What the tables, the JSON file and the report show.
struct Analyzed {
    machine: Machine,
    file: PathBuf,
    /// With the priorities and cores that were analysed.
    scenario: Scenario,
    assigned: Option<Rule>,
    /// A change that was made before.
    applied: Option<Change>,
    overheads: Overheads,
    reservations: BTreeMap<String, Reservation>,
    report: Report,
    /// `None` until it is known, or if nobody asked for it.
    sensitivity: Option<Sensitivity>,
    seen: Option<Seen>,
    /// Of what was asked for, then of what is not proven to hold.
    pictures: Vec<Picture>,
}

/// The subcommand with all options.
pub(crate) fn command() -> Command {
    let quiet = "Prints nothing unless a deadline fails, and shows no progress";
    Options::augment_args(Command::new(NAME)).mut_arg("quiet", |argument| argument.help(quiet))
}

/// Runs it; `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    let files = options.outputs.files(None).map_err(Failure::input)?;
    if let Some(path) = options.deploy.as_deref().filter(|path| path.exists()) {
        let (path, reason) = (path.to_owned(), "is there already".to_owned());
        return Err(Failure::input(InputError::Deploy { path, reason }));
    }
    let overheads = overheads::read(&options.overheads).map_err(Failure::input)?;
    let scenario = if options.simulate {
        scenario_file::read_to_simulate(&options.file, |_| {}).map_err(Failure::input)?
    } else {
        scenario_file::read(&options.file).map_err(Failure::input)?
    };
    check_names(&options, &scenario).map_err(Failure::input)?;
    let watch = Watch::begin(options.outputs.quiet);
    let mut analyzed = analyze(&options, scenario, overheads, watch.monitor())?;
    let mut silent = io::sink();
    let out: &mut dyn Write = if options.outputs.quiet { &mut silent } else { out };
    // Before anything that may take longer: whoever stops it then has this.
    print_bounds(&analyzed, out)?;
    out.flush()?;
    if !options.no_sensitivity {
        analyzed.look_around(watch.monitor(), &options.file)?;
    }
    watch.end();
    analyzed.draw(options.critical.as_deref(), options.outputs.report.is_some() || options.outputs.json.is_some());
    print_rest(&analyzed, options.critical.is_some(), out)?;
    if let Some(path) = &options.deploy {
        deploy(&analyzed, path).map_err(Failure::input)?;
        writeln!(out, "Deployment: {}", path.display())?;
    }
    files.write(out, || json::render(&analyzed), || report::render(&analyzed))?;
    analyzed.judge()
}

fn analyze(
    options: &Options,
    scenario: Scenario,
    overheads: Overheads,
    monitor: &Monitor,
) -> Result<Analyzed, Failure> {
    let path = &options.file;
    let refused = |error| {
        let error = InputError::Analysis { path: path.clone(), error };
        match error {
            // The scenario is fine, its deadlines are not.
            InputError::Analysis { error: AnalysisError::NoFeasiblePriorities { .. }, .. } => Failure::run(error),
            _ => Failure::input(error),
        }
    };
    let reservations: BTreeMap<_, _> = options.reserve.iter().cloned().collect();
    let scenario = match options.assign {
        None => scenario,
        Some(rule) => assign(rule, &analysis_of(&scenario, overheads, &reservations)).map_err(refused)?,
    };
    let applied = match options.apply {
        None => None,
        Some(number) => {
            let analysis = analysis_of(&scenario, overheads, &reservations).monitor(monitor);
            let found = apply::change(&analysis, number, options.deploy.is_some()).map_err(refused)?;
            Some(found.map_err(|reason| Failure::input(InputError::Apply { number, reason }))?)
        }
    };
    let scenario = applied.as_ref().map_or(scenario.clone(), |change| change.apply(&scenario));
    let report = analysis_of(&scenario, overheads, &reservations).monitor(monitor).run().map_err(refused)?;
    let seen = if options.simulate {
        let mut progress = LateProgress::begin(NAME, options.outputs.quiet);
        let seen = simulated::simulate(&scenario, options.seeds, &mut |share| progress.at(share));
        progress.end();
        let failed = |error| Failure::input(InputError::Simulation { path: path.clone(), error });
        Some(seen.map_err(failed)?)
    } else {
        None
    };
    let (machine, file, assigned) = (Machine::read(), path.clone(), options.assign);
    let (sensitivity, pictures) = (None, Vec::new());
    Ok(Analyzed {
        machine,
        file,
        scenario,
        assigned,
        applied,
        overheads,
        reservations,
        report,
        sensitivity,
        seen,
        pictures,
    })
}

/// Whether the names in the options are there, once.
fn check_names(options: &Options, scenario: &Scenario) -> Result<(), InputError> {
    let callbacks = scenario.callbacks.iter().map(|callback| callback.name.as_str());
    let names: Vec<_> = callbacks.chain(scenario.chains.iter().map(|chain| chain.name.as_str())).collect();
    if let Some(name) = options.critical.as_ref().filter(|name| !names.contains(&name.as_str())) {
        return Err(InputError::Critical { name: name.clone(), known: names.join(", ") });
    }
    let mut executors = BTreeSet::new();
    match options.reserve.iter().find(|(executor, _)| !executors.insert(executor)) {
        Some((executor, _)) => Err(InputError::Reserved { executor: executor.clone() }),
        None => Ok(()),
    }
}

fn analysis_of<'a>(
    scenario: &'a Scenario,
    overheads: Overheads,
    reservations: &BTreeMap<String, Reservation>,
) -> Analysis<'a> {
    let all = reservations.iter();
    all.fold(Analysis::new(scenario).overheads(overheads), |analysis, (executor, reservation)| {
        analysis.reservation(executor, *reservation)
    })
}

fn assign(rule: Rule, analysis: &Analysis<'_>) -> Result<Scenario, AnalysisError> {
    let assignment = match rule {
        Rule::Picas => Assignment::picas(analysis),
        Rule::Rm => Assignment::rate_monotonic(analysis),
        Rule::Dm => Assignment::deadline_monotonic(analysis),
        Rule::Opa => Assignment::audsley(analysis),
    };
    Ok(assignment?.apply(analysis.scenario()))
}

/// Writes the deployment file; what it is made of was analysed.
fn deploy(analyzed: &Analyzed, path: &Path) -> Result<(), InputError> {
    let priorities = analyzed.assigned.map_or("the scenario", Rule::describe);
    let mut deployment = Deployment::describe(&analyzed.scenario);
    for executor in &mut deployment.executors {
        if let Some(Reservation { budget, period }) = analyzed.reservations.get(&executor.name) {
            let scheduling = OsScheduling::Deadline { runtime: *budget, deadline: *period, period: *period };
            executor.scheduling = Some(scheduling);
        }
    }
    let change = analyzed.applied.as_ref().map(|change| format!(" Changed: {}.", change.describe()));
    let text = format!(
        "# For {}, with priorities from {priorities}.{} {}\n\n{}",
        analyzed.title().replace(['\n', '\r'], " "),
        change.unwrap_or_default().replace(['\n', '\r'], " "),
        analyzed.verdict(),
        deployment.to_toml()
    );
    let failed = |reason: io::Error| InputError::Deploy { path: path.to_owned(), reason: reason.to_string() };
    write_new(path, &text).map_err(failed)
}

impl Analyzed {
    /// What the scenario calls itself, or its file.
    fn title(&self) -> String {
        if self.scenario.name.is_empty() { self.file.display().to_string() } else { self.scenario.name.clone() }
    }

    /// One line: under which circumstances.
    fn describe(&self) -> String {
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

    /// Draws the critical instants of what was asked for and, if `failing`, of what is not proven to hold.
    fn draw(&mut self, asked: Option<&str>, failing: bool) {
        // The simulator knows no reservations.
        if !self.reservations.is_empty() {
            return;
        }
        let mut names: Vec<String> = asked.map(str::to_owned).into_iter().collect();
        let failing = self.failing().into_iter().filter(|_| failing).take(critical::SHOWN_MAX).map(|row| row.name);
        names.extend(failing.filter(|name| asked != Some(name.as_str())));
        self.pictures = names.iter().filter_map(|name| critical::picture(self, name)).collect();
    }

    /// How far callbacks can change, and what to change.
    fn look_around(&mut self, monitor: &Monitor, path: &Path) -> Result<(), Failure> {
        let analysis = analysis_of(&self.scenario, self.overheads, &self.reservations).monitor(monitor);
        let refused = |error| Failure::input(InputError::Analysis { path: path.to_owned(), error });
        self.sensitivity = Some(analysis.sensitivity().map_err(refused)?);
        Ok(())
    }

    /// Callbacks, then chains, that have a deadline which fails, or no bound.
    fn failing(&self) -> Vec<Row> {
        rows::callbacks(self).into_iter().chain(rows::chains(self)).filter(|row| !row.holds).collect()
    }

    /// Callbacks and chains that a simulation saw exceed their bound.
    fn exceeded(&self) -> Vec<Row> {
        let all = rows::callbacks(self).into_iter().chain(rows::chains(self));
        all.filter(|row| row.bound.zip(row.seen).is_some_and(|(bound, seen)| seen > bound)).collect()
    }

    fn verdict(&self) -> String {
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

    /// Why there is no bound, for those that have none: a line for each reason.
    fn reasons(&self) -> Vec<String> {
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

    fn advice(&self) -> Vec<String> {
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

    /// By how much deadlines are not proven, and whose execution makes it so: a line each.
    fn causes(&self) -> Vec<String> {
        let Some(sensitivity) = &self.sensitivity else { return Vec::new() };
        let cause = |(name, shorter): &(String, Option<Duration>)| match shorter {
            Some(shorter) => format!("`{name}` ({shorter:?} of it)"),
            None => format!("`{name}` (without it there is a bound)"),
        };
        let line = |late: &rospin_analysis::Late| {
            let by = late.by.map_or("has no bound".to_owned(), |by| format!("is {by:?} beyond its deadline"));
            let causes: Vec<_> = late.causes.iter().map(cause).collect();
            let because = if causes.is_empty() { "its own execution".to_owned() } else { causes.join(", ") };
            format!("The bound of `{}` {by}, because of {because}.", late.name)
        };
        // What may be missed now and then, and is missed no more often, needs no cause.
        let failing: Vec<String> = self.failing().into_iter().map(|row| row.name).collect();
        sensitivity.late.iter().filter(|late| failing.contains(&late.name)).map(line).collect()
    }

    /// What the exit code says.
    fn judge(&self) -> Result<(), Failure> {
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

fn print_bounds(analyzed: &Analyzed, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}\n", analyzed.title(), analyzed.describe())?;
    write!(out, "{}", tables::callbacks(analyzed).text())?;
    if !analyzed.report.chains.is_empty() {
        write!(out, "\n{}", tables::chains(analyzed).text())?;
    }
    write!(out, "\n{}", tables::cores(analyzed).text())?;
    writeln!(out, "{}\n", tables::legend(analyzed))?;
    write!(out, "{}", plot::text(analyzed))?;
    writeln!(out, "{}", analyzed.verdict())?;
    analyzed.reasons().iter().try_for_each(|line| writeln!(out, "  {line}"))
}

fn print_rest(analyzed: &Analyzed, critical: bool, out: &mut dyn Write) -> io::Result<()> {
    // What was asked for comes first, if anything could be drawn.
    if let Some(picture) = analyzed.pictures.first().filter(|_| critical) {
        write!(out, "\n{}", picture.text())?;
    }
    if let Some(margins) = tables::margins(analyzed) {
        write!(out, "\n{}", margins.text())?;
        writeln!(out, "{}", tables::margins_legend(analyzed))?;
    }
    analyzed.causes().iter().try_for_each(|line| writeln!(out, "\n{line}"))?;
    let advice = analyzed.advice();
    if !advice.is_empty() {
        writeln!(out, "\nWhat would do, each of these alone:")?;
        for (number, line) in advice.iter().enumerate() {
            writeln!(out, "  {}. {line}", number + 1)?;
        }
        if analyzed.sensitivity.iter().flat_map(|known| &known.changes).any(Change::is_deployable) {
            writeln!(out, "--apply N --deploy OUT makes change N and writes the deployment file for it.")?;
        }
    }
    writeln!(out, "\nMethod: {}.", analyzed.report.method)?;
    writeln!(out, "Assumptions:")?;
    analyzed.report.assumptions.iter().try_for_each(|assumption| writeln!(out, "- {assumption}"))
}
