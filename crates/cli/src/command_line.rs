//! The command line: its commands, and their exit codes.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser};
use rospin_report::Failure;

use crate::analyze;
use crate::demo;
use crate::deploy;
use crate::doctor;
use crate::lab;
use crate::manual;
use crate::replay;
use crate::simulate;
use crate::top;
use crate::topic;
use crate::trace;

/// rospin: a real-time executor for ROS 2. Without a command: this help.
#[derive(Debug, Parser)]
#[command(name = "rospin", version, disable_help_subcommand = true)]
#[command(after_help = "\
Examples:
  rospin demo                             a robot under load, and what it can rely on: 10 s
  rospin simulate FILE                    a scenario of your own in virtual time
  rospin analyze FILE                     whether every deadline of it holds, and what to change if not
  rospin deploy template FILE             a deployment file for it: executors, cores, priorities
  rospin trace record COMMAND             what a program's executors do, for `rospin trace report`
  rospin replay RECORDING                 the same decisions once more, or the first that differs
  rospin topic list                       what a running robot publishes
  rospin doctor                           what this machine can promise, and what would help
  rospin lab list                         experiments: rospin beside other executors")]
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
    rospin_report::exit(run(&matches, &mut io::stdout().lock()))
}

/// A subcommand.
struct Subcommand {
    name: &'static str,
    command: fn() -> Command,
    run: fn(&ArgMatches, &mut dyn Write) -> Result<(), Failure>,
}

/// All subcommands, in the order of the help.
const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand { name: demo::NAME, command: demo::command, run: demo::run },
    Subcommand { name: simulate::NAME, command: simulate::command, run: simulate::run },
    Subcommand { name: analyze::NAME, command: analyze::command, run: analyze::run },
    Subcommand { name: deploy::NAME, command: deploy::command, run: deploy::run },
    Subcommand { name: doctor::NAME, command: doctor::command, run: doctor::run },
    Subcommand { name: trace::NAME, command: trace::command, run: trace::run },
    Subcommand { name: replay::NAME, command: replay::command, run: replay::run },
    Subcommand { name: top::NAME, command: top::command, run: top::run },
    Subcommand { name: topic::NAME, command: topic::command, run: topic::run },
    Subcommand { name: lab::NAME, command: lab::command, run: lab::run },
    Subcommand {
        name: manual::COMPLETIONS,
        command: manual::completions_command,
        run: |matches, out| manual::complete(matches, command(), out),
    },
    Subcommand {
        name: manual::MAN,
        command: manual::man_command,
        run: |matches, _| manual::write_pages(matches, command()),
    },
];

/// Returns the whole command tree.
pub(crate) fn command() -> Command {
    let commands = SUBCOMMANDS.iter().map(|known| (known.command)());
    Arguments::command().subcommands(commands)
}

/// Runs the subcommand that the command line names. Without one, prints the help. `out` is stdout.
fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    // The top level has no arguments of its own yet. Parsing them anyway means that one that is added to `Arguments` is
    // read.
    Arguments::from_arg_matches(matches).map_err(|error| Failure::Input(Box::new(error)))?;
    let Some((name, matches)) = matches.subcommand() else {
        return Ok(write!(out, "{}", command().render_help())?);
    };
    let chosen = SUBCOMMANDS.iter().find(|known| known.name == name).expect("clap knows these names only");
    (chosen.run)(matches, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_tree_is_consistent() {
        command().debug_assert();
        for known in SUBCOMMANDS {
            assert_eq!((known.command)().get_name(), known.name);
        }
    }

    #[test]
    fn simulate_says_where_its_report_goes() {
        let text = command().try_get_matches_from(["rospin", "simulate", "--help"]).unwrap_err().to_string();
        // The comparison ignores line breaks.
        let simulate = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(simulate.starts_with("Runs a scenario in virtual time"), "{simulate}");
        assert!(simulate.contains("HTML report to this file -q") && simulate.contains("Prints nothing"), "{simulate}");
    }
}
