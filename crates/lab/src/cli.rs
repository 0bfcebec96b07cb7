//! The command line: what can be asked for, and which exit code answers.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser};

use crate::analyze;
use crate::deploy;
use crate::doctor;
use crate::experiments::{self, EXPERIMENTS, Failure};
use crate::simulate;

/// The experiment that a plain `rospin` runs.
const DEFAULT_EXPERIMENT: &str = "reference-system";

/// Exit code of a run that failed.
const EXIT_FAILED: u8 = 1;
/// Exit code of input that cannot be used; clap uses the same.
const EXIT_BAD_INPUT: u8 = 2;

/// rospin: a real-time executor for ROS 2. Without a command: `rospin lab reference-system`.
#[derive(Debug, Parser)]
#[command(name = "rospin", version, disable_help_subcommand = true)]
#[command(after_help = "\
Examples:
  rospin                                  the Autoware reference system under every executor
  rospin lab list                         the experiments
  rospin lab reference-system --help      what an experiment can be told
  rospin simulate FILE                    a scenario of your own in virtual time
  rospin analyze FILE                     whether every deadline of it holds, and what to change if not
  rospin deploy template FILE             a deployment file for it: executors, cores, priorities
  rospin doctor                           what this machine can promise, and what would help")]
struct Arguments {}

/// Parses the command line, runs what it asks for and reports errors on stderr.
pub(crate) fn main() -> ExitCode {
    let matches = match command().try_get_matches_from(std::env::args_os()) {
        Ok(matches) => matches,
        // clap prints help and version to stdout with code 0, errors to stderr with code 2, and
        // survives a closed pipe.
        Err(error) => error.exit(),
    };
    match run(&matches, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure),
    }
}

/// The whole command tree, with one subcommand an experiment.
fn command() -> Command {
    let list = Command::new("list").about("Lists the experiments");
    let lab = Command::new("lab")
        .about("Reruns published executor experiments")
        .after_help("Examples:\n  rospin lab list\n  rospin lab reference-system --duration 20 --crunch 5")
        .disable_help_subcommand(true)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(list)
        .subcommands(EXPERIMENTS.iter().map(|experiment| experiment.command()));
    Arguments::command().subcommand(lab).subcommands([
        simulate::command(),
        analyze::command(),
        deploy::command(),
        doctor::command(),
    ])
}

fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    // There is nothing to read at the top yet; this keeps derive and builder in step.
    Arguments::from_arg_matches(matches).map_err(|error| Failure::Input(Box::new(error)))?;
    match matches.subcommand() {
        Some(("lab", lab)) => run_lab(lab, out),
        Some((simulate::NAME, matches)) => simulate::run(matches, out),
        Some((analyze::NAME, matches)) => analyze::run(matches, out),
        Some((deploy::NAME, matches)) => deploy::run(matches, out),
        Some((doctor::NAME, matches)) => doctor::run(matches, out),
        _ => run_default(out),
    }
}

fn run_lab(lab: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    match lab.subcommand() {
        Some(("list", _)) => list(out),
        Some((name, matches)) => match experiments::find(name) {
            Some(experiment) => experiment.run(matches, out),
            None => unreachable!("clap knows only the experiments of the table, not {name}"),
        },
        None => unreachable!("clap requires a subcommand here"),
    }
}

fn run_default(out: &mut dyn Write) -> Result<(), Failure> {
    let arguments: [OsString; 3] = ["rospin", "lab", DEFAULT_EXPERIMENT].map(OsString::from);
    let matches = command().try_get_matches_from(arguments).map_err(|error| Failure::Input(Box::new(error)))?;
    run(&matches, out)
}

fn list(out: &mut dyn Write) -> Result<(), Failure> {
    let width = EXPERIMENTS.iter().map(|e| e.name().len()).max().unwrap_or(0);
    for experiment in EXPERIMENTS {
        writeln!(out, "{:width$}  {}", experiment.name(), experiment.about())?;
    }
    writeln!(out, "\nRun one with `rospin lab NAME`; `rospin lab NAME --help` lists its options.")?;
    Ok(())
}

/// Says on stderr what went wrong and picks the exit code.
fn report(failure: &Failure) -> ExitCode {
    let code = exit_code(failure);
    if code != 0 {
        // With stderr closed as well there is nobody left to tell.
        let _ = writeln!(io::stderr().lock(), "error: {}", describe(failure));
    }
    ExitCode::from(code)
}

fn exit_code(failure: &Failure) -> u8 {
    match failure {
        // Whoever reads us has seen enough (`rospin | head`): not an error of ours.
        Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Failure::Input(_) => EXIT_BAD_INPUT,
        Failure::Run(_) | Failure::Output(_) => EXIT_FAILED,
    }
}

/// The error and its causes on one line.
fn describe(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        line.push_str(": ");
        line.push_str(&inner.to_string());
        cause = inner.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_tree_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn files_and_quiet_are_the_same_everywhere_and_say_what_is_different() {
        let lab = |name: &'static str| ["rospin", "lab", name, "--help"];
        let help = |arguments: &[&str]| {
            let text = command().try_get_matches_from(arguments).unwrap_err().to_string();
            // However its lines are broken.
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        for experiment in EXPERIMENTS {
            let help = help(&lab(experiment.name()));
            for expected in ["--json <FILE>", "-q, --quiet", "Shows no progress"] {
                assert!(help.contains(expected), "{help}");
            }
            assert!(help.contains(&format!("[default: rospin-{}.html]", experiment.name())), "{help}");
        }
        let simulate = help(&["rospin", "simulate", "--help"]);
        assert!(simulate.starts_with("Runs a scenario in virtual time"), "{simulate}");
        assert!(simulate.contains("HTML report to this file -q") && simulate.contains("Prints nothing"), "{simulate}");
    }

    #[test]
    fn default_experiment_exists() {
        assert!(experiments::find(DEFAULT_EXPERIMENT).is_some());
    }

    #[test]
    fn list_names_every_experiment() {
        let matches = command().try_get_matches_from(["rospin", "lab", "list"]).unwrap();
        let mut out = Vec::new();
        run(&matches, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for experiment in EXPERIMENTS {
            assert!(text.contains(experiment.name()), "{text}");
        }
    }

    #[test]
    fn unknown_experiment_is_refused_with_a_suggestion() {
        let error = command().try_get_matches_from(["rospin", "lab", "reference-sytem"]).unwrap_err();
        assert_eq!(error.exit_code(), i32::from(EXIT_BAD_INPUT));
        assert!(error.to_string().contains("reference-system"), "{error}");
    }

    #[test]
    fn broken_pipe_is_not_an_error_but_a_full_disk_is() {
        assert_eq!(exit_code(&Failure::Output(io::ErrorKind::BrokenPipe.into())), 0);
        assert_eq!(exit_code(&Failure::Output(io::ErrorKind::StorageFull.into())), EXIT_FAILED);
    }
}
