//! The command line: its commands, and their exit codes.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser};
use rospin_lab as lab;
use rospin_report::Failure;

use crate::analyze;
use crate::deploy;
use crate::doctor;
use crate::replay;
use crate::simulate;
use crate::top;
use crate::trace;

/// Exit code of a run that failed.
const EXIT_FAILED: u8 = 1;
/// Exit code of a run whose input cannot be used; clap uses the same.
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
  rospin trace record COMMAND             what a program's executors do, for `rospin trace report`
  rospin replay RECORDING                 the same decisions once more, or the first that differs
  rospin doctor                           what this machine can promise, and what would help")]
struct Arguments {}

/// Parses the command line, runs the command and reports errors on stderr.
#[must_use]
pub fn main() -> ExitCode {
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

/// Returns the whole command tree.
fn command() -> Command {
    Arguments::command().subcommands([
        lab::command(),
        simulate::command(),
        analyze::command(),
        deploy::command(),
        doctor::command(),
        trace::command(),
        replay::command(),
        top::command(),
    ])
}

/// Runs the subcommand in `matches`, or the default one if there is none. `out` is stdout.
fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    // The top level has no arguments of its own yet. Parsing them anyway means that one that is added to `Arguments` is
    // read.
    Arguments::from_arg_matches(matches).map_err(|error| Failure::Input(Box::new(error)))?;
    match matches.subcommand() {
        Some((lab::NAME, matches)) => {
            trace::record_from_env()?;
            rospin::monitoring::open_live_door();
            lab::run(matches, out)
        }
        Some((simulate::NAME, matches)) => simulate::run(matches, out),
        Some((analyze::NAME, matches)) => analyze::run(matches, out),
        Some((deploy::NAME, matches)) => deploy::run(matches, out),
        Some((doctor::NAME, matches)) => doctor::run(matches, out),
        Some((trace::NAME, matches)) => trace::run(matches, out),
        Some((replay::NAME, matches)) => replay::run(matches, out),
        Some((top::NAME, matches)) => top::run(matches, out),
        _ => run_default(out),
    }
}

/// Runs `rospin lab` with the default experiment and its default options.
fn run_default(out: &mut dyn Write) -> Result<(), Failure> {
    let arguments: [OsString; 3] = ["rospin", lab::NAME, lab::DEFAULT_EXPERIMENT].map(OsString::from);
    let matches = command().try_get_matches_from(arguments).map_err(|error| Failure::Input(Box::new(error)))?;
    run(&matches, out)
}

/// Prints the error on stderr and returns its exit code. Prints nothing if the reader of stdout has gone.
fn report(failure: &Failure) -> ExitCode {
    let code = exit_code(failure);
    if code != 0 {
        // If stderr is closed as well, the error cannot be reported.
        let _ = writeln!(io::stderr().lock(), "error: {}", describe(failure));
    }
    ExitCode::from(code)
}

/// Returns the exit code for a failure, which is 0 if the reader of stdout has gone.
fn exit_code(failure: &Failure) -> u8 {
    match failure {
        // The reader closed the pipe because it has seen enough (`rospin | head`). That is no error of this command.
        Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Failure::Input(_) => EXIT_BAD_INPUT,
        Failure::Run(_) | Failure::Output(_) => EXIT_FAILED,
    }
}

/// Returns the error and its causes on one line.
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
    fn simulate_says_where_its_report_goes() {
        let text = command().try_get_matches_from(["rospin", "simulate", "--help"]).unwrap_err().to_string();
        // The comparison ignores line breaks.
        let simulate = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(simulate.starts_with("Runs a scenario in virtual time"), "{simulate}");
        assert!(simulate.contains("HTML report to this file -q") && simulate.contains("Prints nothing"), "{simulate}");
    }

    #[test]
    fn broken_pipe_is_not_an_error_but_a_full_disk_is() {
        assert_eq!(exit_code(&Failure::Output(io::ErrorKind::BrokenPipe.into())), 0);
        assert_eq!(exit_code(&Failure::Output(io::ErrorKind::StorageFull.into())), EXIT_FAILED);
    }
}
