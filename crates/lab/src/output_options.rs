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

/// The command, with a help that says where its report goes unless told otherwise.
pub(crate) fn with_default_report(command: Command, path: &str) -> Command {
    command.mut_arg("report", |report| report.help(format!("Writes the HTML report to this file [default: {path}]")))
}
