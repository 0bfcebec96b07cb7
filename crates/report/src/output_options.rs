//! Command line options that all commands with result files have in common.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Command};

use crate::distrust::Distrust;
use crate::outputs::{Files, OutputError};
use crate::progress::Progress;

// No doc comment here: clap would show it as the description of every command that includes these options.
#[derive(Args, Clone, Debug)]
#[expect(missing_docs, reason = "it would be shown as the description of the command")]
pub struct OutputOptions {
    /// Writes all figures, with units, machine and settings, to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Writes the HTML report to this file
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Shows no progress
    #[arg(long, short)]
    pub quiet: bool,

    #[arg(skip)]
    pub distrust: Distrust,
}

impl OutputOptions {
    /// Returns the result files, after a check that they can be written. Without `--report`, the report goes to
    /// `default_report`; if that is `None` too, there is no report.
    ///
    /// # Errors
    /// If a named file cannot be written, or two of them have the same path.
    pub fn files(&self, default_report: Option<&str>) -> Result<Files, OutputError> {
        let files = Files::check(self.json.as_deref(), self.report.as_deref(), default_report)?;
        Ok(files.with_distrust(&self.distrust))
    }

    /// Returns the progress of `runs` runs that take `duration` each, see [`Progress::new`]. Runs during which other
    /// programs kept the machine busy are named when the [files](Self::files) are written.
    #[must_use]
    pub fn progress(&self, runs: usize, duration: Duration) -> Progress {
        Progress::new(runs, duration, self.quiet).with_distrust(&self.distrust)
    }
}

/// Returns a command with these options. The help of its `--report` names `default_report` as the default.
#[must_use]
pub fn command<O: Args>(name: &'static str, default_report: &str) -> Command {
    let help = format!("Writes the HTML report to this file [default: {default_report}]");
    O::augment_args(Command::new(name)).mut_arg("report", |report| report.help(help))
}

/// Parser of options in tests, from the arguments behind the command's name.
#[cfg(any(test, feature = "testing"))]
pub trait FromArguments: Args {
    /// Parses the options from `arguments`, which do not include the command's name.
    ///
    /// # Errors
    /// The same errors as on the command line.
    fn from_arguments(arguments: &[&str]) -> Result<Self, clap::Error> {
        let command = Self::augment_args(Command::new("x").no_binary_name(true));
        Self::from_arg_matches(&command.try_get_matches_from(arguments)?)
    }
}

#[cfg(any(test, feature = "testing"))]
impl<O: Args> FromArguments for O {}
