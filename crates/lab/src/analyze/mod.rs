//! `rospin analyze`: will every deadline of a scenario hold, and if not, what to change.

mod json;
mod options;
mod overheads;
mod plot;
mod report;
mod rows;
mod simulated;
mod tables;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, Command, FromArgMatches};
use rospin_analysis::{Analysis, AnalysisError, Assignment, Overheads, Report, Sensitivity};
use rospin_scenario::{Deployment, Scenario};
use rospin_sim::SimulationError;

use crate::deploy::write_new;
use crate::experiments::Failure;
use crate::machine::Machine;
use crate::progress::LateProgress;
use crate::scenario_file;

use self::options::{Options, Rule};
use self::rows::Row;
use self::simulated::Seen;

pub(crate) const NAME: &str = "analyze";

/// As many ways out are told; the others change more.
const ADVICE_MAX: usize = 8;

/// Why a scenario cannot be analysed.
#[derive(Debug, thiserror::Error)]
enum InputError {
    #[error("{}: {error}", path.display())]
    Analysis { path: PathBuf, error: AnalysisError },
    #[error("{}: {error}", path.display())]
    Simulation { path: PathBuf, error: SimulationError },
    #[error("--deploy {}: {reason}; name a file that is not there, in an existing folder", path.display())]
    Deploy { path: PathBuf, reason: String },
}

/// What the tables, the JSON file and the report show.
struct Analyzed {
    machine: Machine,
    file: PathBuf,
    /// With the priorities and cores that were analysed.
    scenario: Scenario,
    assigned: Option<Rule>,
    overheads: Overheads,
    report: Report,
    sensitivity: Sensitivity,
    seen: Option<Seen>,
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
    let scenario = scenario_file::read(&options.file).map_err(Failure::input)?;
    let analyzed = analyze(&options, scenario, overheads)?;
    let mut silent = io::sink();
    let out: &mut dyn Write = if options.outputs.quiet { &mut silent } else { out };
    print(&analyzed, out)?;
    if let Some(path) = &options.deploy {
        deploy(&analyzed, path).map_err(Failure::input)?;
        writeln!(out, "Deployment: {}", path.display())?;
    }
    files.write(out, || json::render(&analyzed), || report::render(&analyzed))?;
    analyzed.judge()
}

fn analyze(options: &Options, scenario: Scenario, overheads: Overheads) -> Result<Analyzed, Failure> {
    let path = &options.file;
    let refused = |error| {
        let error = InputError::Analysis { path: path.clone(), error };
        match error {
            // The scenario is fine, its deadlines are not.
            InputError::Analysis { error: AnalysisError::NoFeasiblePriorities { .. }, .. } => Failure::run(error),
            _ => Failure::input(error),
        }
    };
    let scenario = match options.assign {
        None => scenario,
        Some(rule) => assign(rule, &scenario, overheads).map_err(refused)?,
    };
    let analysis = Analysis::new(&scenario).overheads(overheads);
    let report = analysis.run().map_err(refused)?;
    let sensitivity = analysis.sensitivity().map_err(refused)?;
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
    Ok(Analyzed { machine, file, scenario, assigned, overheads, report, sensitivity, seen })
}

fn assign(rule: Rule, scenario: &Scenario, overheads: Overheads) -> Result<Scenario, AnalysisError> {
    let analysis = Analysis::new(scenario).overheads(overheads);
    let assignment = match rule {
        Rule::Picas => Assignment::picas(&analysis),
        Rule::Rm => Assignment::rate_monotonic(&analysis),
        Rule::Dm => Assignment::deadline_monotonic(&analysis),
        Rule::Opa => Assignment::audsley(&analysis),
    };
    Ok(assignment?.apply(scenario))
}

/// Writes the deployment file; what it is made of was analysed.
fn deploy(analyzed: &Analyzed, path: &Path) -> Result<(), InputError> {
    let priorities = analyzed.assigned.map_or("the scenario", Rule::describe);
    let text = format!(
        "# For {}, with priorities from {priorities}. {}\n\n{}",
        analyzed.title().replace(['\n', '\r'], " "),
        analyzed.verdict(),
        Deployment::describe(&analyzed.scenario).to_toml()
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
        let overheads = overheads::describe(&self.overheads).unwrap_or_else(|| "none".to_owned());
        format!("{}{}; overheads: {overheads}", executors.join(", "), priorities.unwrap_or_default())
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
            return "All deadlines hold.".to_owned();
        }
        let names: Vec<_> = failing.iter().map(|row| format!("`{}`", row.name)).collect();
        format!("Not proven to hold: {}.", names.join(", "))
    }

    fn advice(&self) -> Vec<String> {
        if self.report.holds() {
            return Vec::new();
        }
        let mut advice = self.sensitivity.advice();
        if advice.is_empty() {
            let text = "no single change makes all deadlines hold: lighten more than one callback, add a core, or try --assign";
            advice.push(text.to_owned());
        }
        advice.truncate(ADVICE_MAX);
        advice
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

fn print(analyzed: &Analyzed, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}\n", analyzed.title(), analyzed.describe())?;
    write!(out, "{}", tables::callbacks(analyzed).text())?;
    if !analyzed.report.chains.is_empty() {
        write!(out, "\n{}", tables::chains(analyzed).text())?;
    }
    write!(out, "\n{}", tables::cores(analyzed).text())?;
    writeln!(out, "{}\n", tables::legend(analyzed))?;
    write!(out, "{}", plot::text(analyzed))?;
    writeln!(out, "{}", analyzed.verdict())?;
    for line in analyzed.advice() {
        writeln!(out, "  {line}")?;
    }
    writeln!(out, "\nMethod: {}.", analyzed.report.method)?;
    writeln!(out, "Assumptions:")?;
    analyzed.report.assumptions.iter().try_for_each(|assumption| writeln!(out, "- {assumption}"))
}
