//! The command line: its commands, and their exit codes.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser};
use rospin_report::Failure;

use crate::action;
use crate::analyze;
use crate::bag;
use crate::bridge;
use crate::complete;
use crate::demo;
use crate::deploy;
use crate::doctor;
use crate::interface;
use crate::lab;
use crate::launch;
use crate::lifecycle;
use crate::manual;
use crate::node;
use crate::param;
use crate::replay;
use crate::service;
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
  rospin launch FILE                      the processes of a robot, together
  rospin bag record -a                    its messages, for `rospin bag play`, rosbag2 and Foxglove
  rospin topic list                       what a running robot publishes
  rospin bridge                           the robot in Foxglove: topics, services, parameters, executors
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
    Subcommand { name: launch::NAME, command: launch::command, run: launch::run },
    Subcommand { name: bag::NAME, command: bag::command, run: bag::run },
    Subcommand { name: bridge::NAME, command: bridge::command, run: bridge::run },
    Subcommand { name: topic::NAME, command: topic::command, run: topic::run },
    Subcommand { name: node::NAME, command: node::command, run: node::run },
    Subcommand { name: service::NAME, command: service::command, run: service::run },
    Subcommand { name: param::NAME, command: param::command, run: param::run },
    Subcommand { name: action::NAME, command: action::command, run: action::run },
    Subcommand { name: lifecycle::NAME, command: lifecycle::command, run: lifecycle::run },
    Subcommand { name: interface::NAME, command: interface::command, run: interface::run },
    Subcommand { name: lab::NAME, command: lab::command, run: lab::run },
    Subcommand {
        name: manual::COMPLETIONS,
        command: manual::completions_command,
        run: |matches, out| manual::complete(matches, command(), out),
    },
    Subcommand { name: complete::NAME, command: complete::command, run: complete::run },
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

    /// Returns the words of a command as a shell does, without what follows a redirection or a pipe.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (at, part) in line.split('\'').enumerate() {
            if at % 2 == 1 {
                words.push(part.to_owned());
                continue;
            }
            for word in part.split_whitespace() {
                if word.starts_with(['>', '|', '#']) {
                    return words;
                }
                words.push(word.to_owned());
            }
        }
        words
    }

    #[test]
    fn the_commands_of_the_book_about_a_running_robot_are_valid() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/guide/");
        for (page, least) in [("ask.md", 20), ("bridge.md", 5)] {
            let text = std::fs::read_to_string(format!("{folder}{page}")).unwrap();
            let mut count = 0;
            for line in text.lines().filter(|line| line.starts_with("rospin ")) {
                command().try_get_matches_from(words(line)).unwrap_or_else(|error| panic!("{line}: {error}"));
                count += 1;
            }
            assert!(count > least, "{page}: {count}");
        }
    }

    #[cfg(not(any(feature = "dds", feature = "zenoh")))]
    #[test]
    fn without_a_middleware_a_robot_cannot_be_asked() {
        for arguments in [&["rospin", "topic", "list"][..], &["rospin", "param", "get", "/a", "b"]] {
            let matches = command().try_get_matches_from(arguments).unwrap();
            let failure = run(&matches, &mut Vec::new()).unwrap_err();
            assert!(matches!(failure, Failure::Input(_)), "exit code 2");
            let expected = "this `rospin` was built without a middleware, so it reaches no other program; build it with \
                            `cargo install rospin-cli --features dds`, or `zenoh`, or both";
            assert_eq!(failure.to_string(), expected);
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
