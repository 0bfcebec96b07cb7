//! Interface of an experiment.

use std::io::Write;

use clap::{ArgMatches, Command};
use rospin_report::Failure;

/// Experiment: `rospin lab NAME`.
pub(crate) trait Experiment: Sync {
    /// Returns the experiment's name on the command line.
    fn name(&self) -> &'static str;
    /// Returns a line for the list of experiments.
    fn about(&self) -> &'static str;
    /// Returns the experiment's subcommand with all options.
    fn command(&self) -> Command;
    /// Runs the experiment with the options in `matches`, which are those of its subcommand. `out` is stdout, for the
    /// results.
    fn run(&self, matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure>;
}
