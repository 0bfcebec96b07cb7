//! The shape of an experiment.

use std::io::Write;

use clap::{ArgMatches, Command};
use rospin_report::Failure;

/// One experiment: `rospin lab NAME`.
pub(crate) trait Experiment: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// One line for the list.
    fn about(&self) -> &'static str;
    /// Its subcommand with all options.
    fn command(&self) -> Command;
    /// Runs it; `out` is stdout.
    fn run(&self, matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure>;
}
