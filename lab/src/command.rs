//! `rospin lab`: the experiments as subcommands.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{ArgMatches, Command};
use rospin_report::Failure;
use rospin_report::outputs::WithoutReader;

use crate::experiments::{self, EXPERIMENTS};

/// Parses the command line, runs the experiment and reports errors on stderr.
#[must_use]
pub fn main() -> ExitCode {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        // clap prints help to stdout with code 0, errors to stderr with code 2, and survives a closed pipe.
        Err(error) => error.exit(),
    };
    rospin_report::exit(start(&matches, &mut io::stdout().lock()))
}

/// Has this process recorded and watched as its environment asks for, then runs the experiment. Executors that are
/// started by `rospin::init` have all this by themselves; most of the lab's are started without.
fn start(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    rospin::recording::record_from_env().map_err(Failure::input)?;
    rospin::monitoring::open_live_door();
    run(matches, out)
}

/// Returns the command `rospin lab`, with a subcommand for each experiment.
fn command() -> Command {
    Command::new("rospin-lab")
        .bin_name("rospin lab")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Reruns published executor experiments")
        .after_help("Examples:\n  rospin lab list\n  rospin lab reference-system --duration 20 --crunch 5")
        .disable_help_subcommand(true)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(Command::new("list").about("Lists the experiments"))
        .subcommands(EXPERIMENTS.iter().map(|experiment| experiment.command()))
}

/// Runs the experiment that `matches` of [`command()`] name, or lists them all. `out` is stdout.
fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("list", _)) => list(out),
        Some((name, matches)) => match experiments::find(name) {
            // An experiment writes its report, whether somebody reads its output or not.
            Some(experiment) => experiment.run(matches, &mut WithoutReader::new(out)),
            None => unreachable!("clap knows only the experiments of the table, not {name}"),
        },
        None => unreachable!("clap requires a subcommand here"),
    }
}

/// Prints the name of each experiment and what it is about.
fn list(out: &mut dyn Write) -> Result<(), Failure> {
    let width = EXPERIMENTS.iter().map(|e| e.name().len()).max().unwrap_or(0);
    for experiment in EXPERIMENTS {
        writeln!(out, "{:width$}  {}", experiment.name(), experiment.about())?;
    }
    writeln!(out, "\nRun one with `rospin lab NAME`; `rospin lab NAME --help` lists its options.")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_quiet_are_the_same_everywhere() {
        command().debug_assert();
        for experiment in EXPERIMENTS {
            let text =
                command().try_get_matches_from(["rospin-lab", experiment.name(), "--help"]).unwrap_err().to_string();
            // The comparison ignores line breaks.
            let help = text.split_whitespace().collect::<Vec<_>>().join(" ");
            // What was left out when this program was built has no options.
            if help.contains("This program was built without it") {
                continue;
            }
            for expected in ["--json <FILE>", "-q, --quiet", "Shows no progress"] {
                assert!(help.contains(expected), "{help}");
            }
            assert!(help.contains(&format!("[default: rospin-{}.html]", experiment.name())), "{help}");
        }
    }

    #[test]
    fn the_list_names_every_experiment() {
        let matches = command().try_get_matches_from(["rospin-lab", "list"]).unwrap();
        let mut out = Vec::new();
        run(&matches, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for experiment in EXPERIMENTS {
            assert!(text.contains(experiment.name()), "{text}");
        }
    }

    #[test]
    fn an_unknown_experiment_is_refused_with_a_suggestion() {
        let error = command().try_get_matches_from(["rospin-lab", "reference-sytem"]).unwrap_err();
        assert!(error.to_string().contains("reference-system"), "{error}");
    }
}
