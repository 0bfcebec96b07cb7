//! `rospin replay`: recorded events through the scheduling core once more.

mod check;
mod what_if;

use std::io::Write;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use rospin_engine::policy::POLICIES;
use rospin_report::Failure;

use crate::trace;

pub(crate) const NAME: &str = "replay";

/// Runs a recording through the scheduling core once more, and compares all decisions; or asks what if
///
/// Releases, ends and awaits of the recording go through the same code that decides in programs and in the simulator.
/// Wherever a thread was given a callback, the core is asked which one it would give to it. The first difference is
/// shown with both choices and everything that was ready then. With an option under "What if", the simulator runs the
/// recorded arrivals and execution times with that change, and response times are shown beside the recorded ones. Exit
/// code 1 says that a decision differs, 2 that nothing can be compared.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  rospin replay run.mcap                        the same decisions as in the program?
  rospin replay run.mcap --against edf          the first decision that EDF would have made differently
  rospin replay run.mcap --policy fixed-priority --priority control=9
                                                what would have changed? response times beside the recorded ones
  rospin replay run.mcap --scale 'detect=1.5' --cores 2
  rospin trace record -o run my_robot && rospin replay run
  rospin simulate robot.toml --record drive.mcap && rospin replay drive.mcap")]
struct Options {
    /// Recordings, or folders of them
    #[arg(required = true, value_name = "RECORDING")]
    files: Vec<PathBuf>,

    /// Compares with the decisions of this policy, in place of the recorded one
    #[arg(long, value_name = "POLICY", value_parser = PossibleValuesParser::new(POLICIES.iter().map(|policy| policy.name)))]
    against: Option<String>,

    /// Only the executor with this name
    #[arg(long, value_name = "NAME")]
    executor: Option<String>,

    /// Prints nothing unless a decision differs, and shows no progress
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    changes: what_if::Changes,
}

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new(NAME)).arg_required_else_help(true)
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    if !options.changes.is_any() {
        return check::run(&options, out);
    }
    let (recordings, faults) = trace::open(&options.files)?;
    faults.iter().try_for_each(|fault| writeln!(out, "{fault}"))?;
    what_if::run(&options.changes, &recordings, options.quiet, out)
}
