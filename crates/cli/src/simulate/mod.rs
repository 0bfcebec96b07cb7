//! `rospin simulate`: runs a scenario file in virtual time. The simulator's oracles check the decisions.

mod json;
mod options;
mod record;
mod report;
mod seeds;
mod simulated;
mod tables;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use rospin_engine::Policy;
use rospin_measure::machine::Machine;
use rospin_report::Failure;
use rospin_report::outputs::WithoutReader;
use rospin_report::progress::LateProgress;
use rospin_report::text_table::terminal_width;
use rospin_report::timeline::{self, Activation};
use rospin_scenario::Scenario;
use rospin_sim::oracle::Oracles;
use rospin_sim::{Outcome, Simulation, SimulationError};

use crate::scenario_file::{self, ScenarioFileError};

use self::options::Options;
use self::record::Record;
use self::simulated::Simulated;

pub(crate) use self::options::NAME;

/// Error of a scenario that cannot be simulated.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
struct InputError {
    path: PathBuf,
    error: SimulationError,
}

/// Error of a recording that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("--record {}: cannot be written: {reason}; name a file that is not there", path.display())]
struct RecordError {
    path: PathBuf,
    reason: io::Error,
}

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    let quiet = "Prints nothing unless something is wrong, and shows no progress";
    Options::augment_args(Command::new(NAME)).mut_arg("quiet", |argument| argument.help(quiet))
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    let files = options.outputs.files(None).map_err(Failure::input)?;
    let scenario = read(&options).map_err(Failure::input)?;
    if let Some(count) = options.seeds {
        return seeds::run(&options, &scenario, count, files, out);
    }
    let record = options.record.as_ref().map(|path| {
        let failed = |reason| Failure::input(RecordError { path: path.clone(), reason });
        Record::create(path, &scenario).map_err(failed)
    });
    let mut record = record.transpose()?;
    let simulated = simulate(&options, &scenario, Vec::new(), record.as_mut()).map_err(Failure::input)?;
    if let Some(record) = record {
        record.end();
    }
    let (mut silent, mut without_reader) = (io::sink(), WithoutReader::new(out));
    let out: &mut dyn Write = if options.outputs.quiet { &mut silent } else { &mut without_reader };
    print(&simulated, out)?;
    files.write(out, || json::render(&simulated), || report::render(&simulated))?;
    simulated.judge()
}

/// Returns the scenario, with the changes that the options ask for.
fn read(options: &Options) -> Result<Scenario, ScenarioFileError> {
    scenario_file::read_to_simulate(&options.file, |scenario| {
        if let Some(seed) = options.seed {
            scenario.seed = seed;
        }
        if let Some(duration) = options.duration {
            scenario.duration = duration;
        }
        if let Some(policy) = &options.policy {
            scenario.executors.iter_mut().for_each(|executor| executor.policy.clone_from(policy));
        }
    })
}

/// Runs the scenario, and checks its decisions. Each policy in `policies` replaces that of the executor with the name
/// beside it.
fn simulate<'a>(
    options: &'a Options,
    scenario: &'a Scenario,
    policies: Vec<(&str, Box<dyn Policy>)>,
    record: Option<&mut Record<'_>>,
) -> Result<Simulated<'a>, InputError> {
    let mut oracles = Oracles::new(scenario);
    let mut progress = LateProgress::begin(NAME, options.outputs.quiet);
    let outcome = simulate_beside(scenario, policies, (&mut oracles, record), &mut |share| progress.at(share));
    progress.end();
    let outcome = outcome.map_err(|error| InputError { path: options.file.clone(), error })?;
    let violations = oracles.report(&options.replay(outcome.seed));
    let mut activations: Vec<Activation> = outcome.runs.iter().map(Activation::from).collect();
    activations.sort_by_key(|activation| (activation.start_ns, activation.callback));
    let (machine, file, listed) = (Machine::read(), &options.file, options.activations);
    Ok(Simulated { machine, file, scenario, outcome, activations, listed, violations })
}

/// Runs the scenario, observed by `oracles`. Calls `progress` with the share that is done, 0 to 1.
fn simulate_beside(
    scenario: &Scenario,
    policies: Vec<(&str, Box<dyn Policy>)>,
    (oracles, record): (&mut Oracles<'_>, Option<&mut Record<'_>>),
    progress: &mut dyn FnMut(f64),
) -> Result<Outcome, SimulationError> {
    let mut simulation = Simulation::new(scenario)?.seed(scenario.seed).observe(oracles).progress(progress);
    if let Some(record) = record {
        simulation = simulation.observe(record);
    }
    for (executor, policy) in policies {
        simulation = simulation.policy(executor, policy)?;
    }
    simulation.run()
}

fn print(simulated: &Simulated<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}\n", simulated.title(), simulated.describe())?;
    let starved = simulated.starved();
    starved.iter().try_for_each(|line| writeln!(out, "STARVED: {line}."))?;
    if !starved.is_empty() {
        writeln!(out)?;
    }
    write!(out, "{}", tables::callbacks(simulated.scenario, &simulated.outcome).text())?;
    if !simulated.outcome.chains.is_empty() {
        write!(out, "\n{}", tables::chains(simulated.scenario, &simulated.outcome).text())?;
    }
    for (name, share) in tables::accelerators(simulated.scenario, &simulated.outcome) {
        writeln!(out, "accelerator {name}: busy for {:.1} % of the time", share * 100.0)?;
    }
    writeln!(out, "{}\n", tables::LEGEND)?;
    for timeline in simulated.beginning() {
        writeln!(out, "{}", timeline::render(&timeline, terminal_width()))?;
    }
    writeln!(out, "{}", simulated.deadline_line())?;
    writeln!(out, "{}", simulated.oracle_line())
}

#[cfg(test)]
mod tests {
    use rospin_engine::policy;

    use super::options::Listed;
    use super::simulated::SHOWN;
    use super::*;
    use rospin_report::output_options::FromArguments;

    fn options(file: &str) -> Options {
        Options::from_arguments(&[file]).unwrap()
    }

    fn render_json(simulated: &Simulated<'_>) -> serde_json::Value {
        serde_json::from_str(&json::render(simulated).unwrap()).unwrap()
    }

    const CHAIN: &str = rospin_scenario::examples::CHAIN;

    #[test]
    fn broken_rule_is_told_with_the_command_that_replays_it() {
        let (options, scenario) = (options("chain.toml"), Scenario::parse(CHAIN).unwrap());
        // The scenario's own policy is fixed priority.
        let fifo = policy::by_name("fifo").unwrap();
        let simulated = simulate(&options, &scenario, vec![("main", fifo)], None).unwrap();
        let violations = simulated.violations.expect("first in, first out is not by priority");
        assert!(violations.contains("order: at "), "{violations}");
        assert!(violations.contains("rospin simulate chain.toml --seed 1"), "{violations}");
    }

    #[test]
    fn beginning_is_a_part_that_can_be_read() {
        let (options, scenario) = (options("chain.toml"), Scenario::parse(CHAIN).unwrap());
        let simulated = simulate(&options, &scenario, Vec::new(), None).unwrap();
        assert_eq!(simulated.violations, None);
        let [threads, callbacks] = simulated.beginning();
        assert_eq!(threads.rows.len(), 1);
        assert_eq!(callbacks.rows.iter().map(|row| row.bars.len()).sum::<usize>(), SHOWN);
        assert_eq!(timeline::render(&callbacks, 100), include_str!("golden/chain_timeline.txt"));
    }

    /// The file asks for more than is possible.
    #[test]
    fn missed_deadlines_are_the_verdict_of_a_scheduler_without_a_mistake() {
        let text = CHAIN.replace("deadline = \"40 ms\"", "deadline = \"9 ms\"");
        let (options, scenario) = (options("chain.toml"), Scenario::parse(&text).unwrap());
        let simulated = simulate(&options, &scenario, Vec::new(), None).unwrap();
        let line = simulated.deadline_line();
        assert!(line.starts_with("Deadlines: ") && line.contains(" MISSED: "), "{line}");
        let page = report::render(&simulated).unwrap();
        assert!(page.contains(&format!("<p class=\"verdict\">{line}</p>")), "{page}");
        assert!(
            page.contains("<p class=\"soft\">Scheduler: kept its own rules") && !page.contains("no rule"),
            "{page}"
        );
        assert!(page.contains(">deadline</th>"));
        let calm = Scenario::parse(CHAIN).unwrap();
        let simulated = simulate(&options, &calm, Vec::new(), None).unwrap();
        assert_eq!(simulated.deadline_line(), "Deadlines: none was missed.");
    }

    #[test]
    fn report_and_figures_have_everything() {
        let (options, scenario) = (options("chain.toml"), Scenario::parse(CHAIN).unwrap());
        let simulated = simulate(&options, &scenario, Vec::new(), None).unwrap();
        let page = report::render(&simulated).unwrap();
        rospin_report::page::assert_self_contained(&page);
        assert_eq!(page.matches("<svg").count(), 2);
        let document = render_json(&simulated);
        assert_eq!(document["callbacks"][1]["name"], "detect");
        assert!(document["callbacks"][1]["response_ms"]["p99"].as_f64().unwrap() > 8.0);
        assert_eq!(document["chains"][0]["name"], "safety");
        assert_eq!(document["settings"]["seed"], 1);
        assert!(document["violations"].is_null());
        let activations = document["activations"].as_array().unwrap();
        assert_eq!(activations.len(), simulated.outcome.runs.len());
        assert!(activations[0]["entity"].is_string() && activations[0]["release_s"].is_number());
        let short = render_json(&Simulated { listed: Listed::Shown, ..simulated });
        assert_eq!(short["activations"].as_array().unwrap()[..], activations[..SHOWN]);
    }
}
