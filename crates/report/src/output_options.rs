//! The options that every command with result files has in common.

use std::path::PathBuf;

use clap::{Args, Command};

use crate::outputs::{Files, OutputError};

// No doc comment: flattened, it would be taken for what the command is about.
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
}

impl OutputOptions {
    /// Returns the files, checked; the report goes to `default_report` unless told otherwise, or nowhere if there is none.
    ///
    /// # Errors
    /// If a file cannot be written, or two have one name.
    pub fn files(&self, default_report: Option<&str>) -> Result<Files, OutputError> {
        Files::check(self.json.as_deref(), self.report.as_deref(), default_report)
    }
}

/// Returns a command with these options, whose help says where its report goes unless told otherwise.
#[must_use]
pub fn command<O: Args>(name: &'static str, default_report: &str) -> Command {
    let help = format!("Writes the HTML report to this file [default: {default_report}]");
    O::augment_args(Command::new(name)).mut_arg("report", |report| report.help(help))
}

/// Parses options in tests, from the arguments behind the command's name.
#[cfg(any(test, feature = "testing"))]
pub trait FromArguments: Args {
    /// Parses them.
    ///
    /// # Errors
    /// As the command does.
    fn from_arguments(arguments: &[&str]) -> Result<Self, clap::Error> {
        let command = Self::augment_args(Command::new("x").no_binary_name(true));
        Self::from_arg_matches(&command.try_get_matches_from(arguments)?)
    }
}

#[cfg(any(test, feature = "testing"))]
impl<O: Args> FromArguments for O {}
