//! The options that every command with result files has in common.

use std::path::PathBuf;

use clap::{Args, Command};

use crate::outputs::{Files, OutputError};

// No doc comment: flattened, it would be taken for what the command is about.
#[derive(Args, Clone, Debug)]
pub(crate) struct OutputOptions {
    /// Writes all figures, with units, machine and settings, to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Writes the HTML report to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Shows no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl OutputOptions {
    /// The files, checked; the report goes to `default_report` unless told otherwise, or nowhere if there is none.
    pub(crate) fn files(&self, default_report: Option<&str>) -> Result<Files, OutputError> {
        Files::check(self.json.as_deref(), self.report.as_deref(), default_report)
    }
}

/// A command with these options, whose help says where its report goes unless told otherwise.
pub(crate) fn command<O: Args>(name: &'static str, default_report: &str) -> Command {
    let help = format!("Writes the HTML report to this file [default: {default_report}]");
    O::augment_args(Command::new(name)).mut_arg("report", |report| report.help(help))
}

/// Options as a test has them, from the arguments behind the command's name.
#[cfg(test)]
pub(crate) trait FromArguments: Args {
    fn from_arguments(arguments: &[&str]) -> Result<Self, clap::Error> {
        let command = Self::augment_args(Command::new("x").no_binary_name(true));
        Self::from_arg_matches(&command.try_get_matches_from(arguments)?)
    }
}

#[cfg(test)]
impl<O: Args> FromArguments for O {}
