//! `rospin analyze`: tells if every deadline of a scenario holds, and if not, what to change.

mod analyzed;
mod apply;
mod critical;
mod error;
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
use std::io::{self, Write};
use std::path::Path;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use rospin_analysis::{Analysis, AnalysisError, Assignment, Change, Monitor, Overheads, Report, Reservation};
use rospin_engine::DEPTH_MAX;
use rospin_engine::os::OsScheduling;
use rospin_measure::machine::Machine;
use rospin_report::Failure;
use rospin_report::outputs::WithoutReader;
use rospin_report::progress::LateProgress;
use rospin_scenario::{Bounds, CallbackLimit, ChainLimit, Deployment, Scenario};

use crate::deploy::write_new;
use crate::scenario_file;

use self::analyzed::{Analyzed, analysis_of};
use self::error::InputError;
use self::options::{Options, Rule};
use self::watch::Watch;

pub(crate) use self::options::NAME;

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    let quiet = "Prints nothing unless a deadline fails, and shows no progress";
    Options::augment_args(Command::new(NAME)).mut_arg("quiet", |argument| argument.help(quiet))
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    let files = options.outputs.files(None).map_err(Failure::input)?;
    if let Some(path) = options.deploy.as_deref().filter(|path| path.exists()) {
        let (path, reason) = (path.to_owned(), "is there already".to_owned());
        return Err(Failure::input(InputError::Deploy { path, reason }));
    }
    if let Some(path) = options.bounds.as_deref().filter(|path| path.exists()) {
        let (path, reason) = (path.to_owned(), "is there already".to_owned());
        return Err(Failure::input(InputError::Bounds { path, reason }));
    }
    let overheads = overheads::read(&options.overheads).map_err(Failure::input)?;
    let scenario = if options.simulate {
        scenario_file::read_to_simulate(&options.file, |_| {}).map_err(Failure::input)?
    } else {
        scenario_file::read(&options.file).map_err(Failure::input)?
    };
    check_names(&options, &scenario).map_err(Failure::input)?;
    let proven_for = Bounds::new(&scenario);
    let watch = Watch::begin(options.outputs.quiet);
    let mut analyzed = analyze(&options, scenario, overheads, watch.monitor())?;
    let mut silent = io::sink();
    let mut without_reader;
    let out: &mut dyn Write = if options.outputs.quiet {
        &mut silent
    } else if options.deploy.is_some() || options.bounds.is_some() || files.are_wanted() {
        without_reader = WithoutReader::new(out);
        &mut without_reader
    } else {
        out
    };
    // Bounds are printed before the steps that may take long, so that a user who interrupts those has them.
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
    if let Some(path) = &options.bounds {
        write_bounds(proven_for, &analyzed, path).map_err(Failure::input)?;
        writeln!(out, "Bounds: {}", path.display())?;
    }
    files.write(out, || json::render(&analyzed), || report::render(&analyzed))?;
    analyzed.judge()
}

/// Makes the changes that the options ask for, and analyses the scenario. Sensitivity and pictures are left out: they
/// come later.
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
            // The input is valid, but its deadlines do not hold.
            InputError::Analysis { error: AnalysisError::NoFeasiblePriorities { .. }, .. } => Failure::run(error),
            _ => Failure::input(error),
        }
    };
    let reservations: BTreeMap<_, _> = options.reserve.iter().cloned().collect();
    let scenario = match options.assign {
        None => scenario,
        Some(rule) => assign(rule, &analysis_of(&scenario, overheads, &reservations, options.work)).map_err(refused)?,
    };
    let applied = match options.apply {
        None => None,
        Some(number) => {
            let analysis = analysis_of(&scenario, overheads, &reservations, options.work).monitor(monitor);
            let found = apply::change(&analysis, number, options.deploy.is_some()).map_err(refused)?;
            Some(found.map_err(|reason| Failure::input(InputError::Apply { number, reason }))?)
        }
    };
    let scenario = applied.as_ref().map_or(scenario.clone(), |change| change.apply(&scenario));
    let report =
        analysis_of(&scenario, overheads, &reservations, options.work).monitor(monitor).run().map_err(refused)?;
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
        work: options.work,
        report,
        sensitivity,
        seen,
        pictures,
    })
}

/// Checks that the callback or chain whose critical instant is asked for exists, and that no executor has two
/// reservations.
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

/// Returns the scenario of `analysis` with priorities by `rule`.
fn assign(rule: Rule, analysis: &Analysis<'_>) -> Result<Scenario, AnalysisError> {
    let assignment = match rule {
        Rule::Picas => Assignment::picas(analysis),
        Rule::Rm => Assignment::rate_monotonic(analysis),
        Rule::Dm => Assignment::deadline_monotonic(analysis),
        Rule::Opa => Assignment::audsley(analysis),
    };
    Ok(assignment?.apply(analysis.scenario()))
}

/// Writes the deployment file, with the priorities, cores and reservations that were analysed, and depths at which no
/// queue loses a message.
fn deploy(analyzed: &Analyzed, path: &Path) -> Result<(), InputError> {
    let priorities = analyzed.assigned.map_or("the scenario", Rule::describe);
    let mut deployment = Deployment::describe(&analyzed.scenario);
    for executor in &mut deployment.executors {
        if let Some(Reservation { budget, period }) = analyzed.reservations.get(&executor.name) {
            let scheduling = OsScheduling::Deadline { runtime: *budget, deadline: *period, period: *period };
            executor.scheduling = Some(scheduling);
        }
    }
    for plan in &mut deployment.callbacks {
        let callback = analyzed.scenario.callbacks.iter().find(|callback| callback.name == plan.name);
        let smallest = callback.and_then(|callback| tables::smallest_depth(analyzed, callback));
        let smallest =
            smallest.and_then(|depth| u32::try_from(depth).ok()).filter(|depth| *depth as usize <= DEPTH_MAX);
        plan.depth = smallest.or(plan.depth);
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

/// Returns `bounds`, which are empty, with those that were proven.
pub(crate) fn with_limits(mut bounds: Bounds, report: &Report) -> Bounds {
    for callback in &report.callbacks {
        if let Some(bound) = callback.bound {
            let limit = CallbackLimit::new(&callback.name, bound, callback.backlog);
            bounds.callbacks.push(limit.may_lose(callback.may_lose));
        }
    }
    for chain in &report.chains {
        if let Some(latency) = chain.latency {
            bounds.chains.push(ChainLimit::new(&chain.name, latency));
        }
    }
    bounds
}

/// Writes the bounds for programs that compare themselves with them. `bounds` knows the system file.
fn write_bounds(proven_for: Bounds, analyzed: &Analyzed, path: &Path) -> Result<(), InputError> {
    let bounds = with_limits(proven_for, &analyzed.report);
    let line = |text: &str| format!("# {}\n", text.replace(['\n', '\r'], " "));
    let mut text = line(&format!("Proven for {}: {}", analyzed.title(), analyzed.describe()));
    analyzed.report.assumptions.iter().for_each(|assumption| text.push_str(&line(assumption)));
    text.push('\n');
    text.push_str(&bounds.to_toml());
    let failed = |reason: io::Error| InputError::Bounds { path: path.to_owned(), reason: reason.to_string() };
    write_new(path, &text).map_err(failed)
}

/// Prints the tables of bounds, the plot and the verdict.
fn print_bounds(analyzed: &Analyzed, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}\n", analyzed.title(), analyzed.describe())?;
    write!(out, "{}", tables::callbacks(analyzed).text())?;
    if !analyzed.report.chains.is_empty() {
        write!(out, "\n{}", tables::chains(analyzed).text())?;
    }
    write!(out, "\n{}", tables::cores(analyzed).text())?;
    if let Some(accelerators) = tables::accelerators(analyzed) {
        write!(out, "\n{}", accelerators.text())?;
    }
    writeln!(out, "{}\n", tables::legend(analyzed))?;
    write!(out, "{}", plot::text(analyzed))?;
    writeln!(out, "{}", analyzed.verdict())?;
    analyzed.reasons().iter().try_for_each(|line| writeln!(out, "  {line}"))
}

/// Prints all that comes after the bounds: picture, margins, causes, advice, and the method with its assumptions.
/// `critical` is true if the user asked for a picture.
fn print_rest(analyzed: &Analyzed, critical: bool, out: &mut dyn Write) -> io::Result<()> {
    // The picture that the user asked for comes first, if there is one.
    if let Some(picture) = analyzed.pictures.first().filter(|_| critical) {
        write!(out, "\n{}", picture.text())?;
    }
    if let Some(queues) = tables::queues(analyzed) {
        write!(out, "\n{}", queues.text())?;
        writeln!(out, "{}", tables::QUEUES_LEGEND)?;
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
    match analyzed.report.methods.as_slice() {
        [only] => writeln!(out, "\nMethod: {only}.")?,
        several => {
            writeln!(out, "\nMethods, as in the column `by`:")?;
            let mut numbered = several.iter().enumerate();
            numbered.try_for_each(|(number, method)| writeln!(out, "  {}. {method}", number + 1))?;
        }
    }
    writeln!(out, "Assumptions:")?;
    analyzed.report.assumptions.iter().try_for_each(|assumption| writeln!(out, "- {assumption}"))
}
