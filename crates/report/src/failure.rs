//! Why a command ended without a result.

use std::error::Error;
use std::io;

/// The reason why a command or an experiment gave no result; it decides the exit code.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What the user asked for cannot be done.
    #[error("{0}")]
    Input(Box<dyn Error + Send + Sync>),
    /// It was asked for properly and went wrong.
    #[error("{0}")]
    Run(Box<dyn Error + Send + Sync>),
    /// The result could not be printed.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// What the user asked for cannot be done, because of `error`.
    pub fn input(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Input(Box::new(error))
    }

    /// It went wrong because of `error`.
    pub fn run(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Run(Box::new(error))
    }
}
