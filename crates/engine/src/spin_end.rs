//! The ways a spin ends.

use crate::deployed::DeployError;
use crate::incident::Incident;
use crate::os::ThreadReport;

/// Ways in which a spin ends without an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SpinEnd {
    /// The spin that the options ask for is done: one callback ran, or nothing is ready any more.
    Done,
    /// The executor was halted.
    Halted,
}

/// Errors of a spin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpinError {
    /// Another thread, or a callback of the executor, called `spin` while the executor was spinning.
    #[error("executor `{executor}` is spinning already; give it more threads instead of spinning it twice")]
    AlreadySpinning {
        /// The name of the executor.
        executor: String,
    },
    /// The executor was halted before the awaited future resolved, or a `spin_once` or `spin_all` was done before that.
    #[error("halted before the awaited future resolved")]
    Halted,
    /// The timeout of the spin passed.
    #[error("the time to spin is over")]
    Timeout,
    /// A callback panicked in a group that [halts](crate::OnPanic::Halt) its executor then.
    #[error("halted: {0}")]
    Panicked(Incident),
    /// A thread could not be started.
    #[error("could not start a thread of the executor: {0}")]
    Thread(std::io::Error),
    /// A thread could not get the settings that the options demand.
    #[error("a thread of the executor lacks what it should have: {0}")]
    Shortfall(Box<ThreadReport>),
    /// The Tokio runtime could not be started.
    #[error("could not start the runtime for asynchronous callbacks: {0}")]
    Runtime(std::io::Error),
    /// The program and its deployment file do not agree.
    #[error(transparent)]
    Deployment(#[from] DeployError),
}
