//! Reasons for which a command ended without a result.

use std::error::Error;
use std::io;

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
