//! Reasons for which a command ended without a result.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

/// Exit code of a run that failed.
const EXIT_FAILED: u8 = 1;
/// Exit code of a run whose input cannot be used; clap uses the same.
const EXIT_BAD_INPUT: u8 = 2;

/// Reasons for which a command or an experiment gave no result. The reason determines the exit code.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The user's input is invalid, or asks for something that this machine cannot do. Exit code 2.
    #[error("{0}")]
    Input(Box<dyn Error + Send + Sync>),
    /// The input was valid, but the command failed while it ran, or its verdict is bad. Exit code 1.
    #[error("{0}")]
    Run(Box<dyn Error + Send + Sync>),
    /// The result could not be printed. Exit code 1, or 0 if the reader of stdout has gone.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// Returns a [`Failure::Input`] with `error` as its cause.
    pub fn input(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Input(Box::new(error))
    }

    /// Returns a [`Failure::Run`] with `error` as its cause.
    pub fn run(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Run(Box::new(error))
    }
}

/// Returns the exit code of a command that ended with this result. Prints an error with its causes on stderr, and
/// nothing if the reader of stdout has gone.
#[must_use]
pub fn exit(result: Result<(), Failure>) -> ExitCode {
    let Err(failure) = result else { return ExitCode::SUCCESS };
    let code = exit_code(&failure);
    if code != 0 {
        // If stderr is closed as well, the error cannot be reported.
        let _ = writeln!(io::stderr().lock(), "error: {}", describe(&failure));
    }
    ExitCode::from(code)
}

/// Returns the exit code for a failure, which is 0 if the reader of stdout has gone.
fn exit_code(failure: &Failure) -> u8 {
    match failure {
        // The reader closed the pipe because it has seen enough (`rospin | head`). That is no error of this command.
        Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Failure::Input(_) => EXIT_BAD_INPUT,
        Failure::Run(_) | Failure::Output(_) => EXIT_FAILED,
    }
}

/// Returns the error and its causes on one line.
fn describe(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        line.push_str(": ");
        line.push_str(&inner.to_string());
        cause = inner.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_pipe_is_not_an_error_but_a_full_disk_is() {
        assert_eq!(exit_code(&Failure::Output(io::ErrorKind::BrokenPipe.into())), 0);
        assert_eq!(exit_code(&Failure::Output(io::ErrorKind::StorageFull.into())), EXIT_FAILED);
    }
}
