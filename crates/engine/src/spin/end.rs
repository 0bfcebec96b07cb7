//! The ways a spin ends.

use crate::deployed::DeployError;
use crate::incident::Incident;
use crate::os::ThreadReport;

/// Why a spin ended as it should.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SpinEnd {
    /// What the options asked for is done: one callback ran, or nothing is ready any more.
    Done,
    /// The executor was halted.
    Halted,
}

/// Why a spin ended otherwise than it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpinError {
    /// Another thread, or a callback of this executor's, called `spin` while it was spinning.
    #[error("executor `{executor}` is spinning already; give it more threads instead of spinning it twice")]
    AlreadySpinning {
        /// The executor.
        executor: String,
    },
    /// The executor was halted, or done, before the future resolved.
    #[error("halted before the awaited future resolved")]
    Halted,
    /// The timeout passed.
    #[error("the time to spin is over")]
    Timeout,
    /// A callback panicked in a group that halts its executor then.
    #[error("halted: {0}")]
    Panicked(Incident),
    /// A thread could not be started.
    #[error("could not start a thread of the executor: {0}")]
    Thread(#[source] std::io::Error),
    /// A thread cannot have what it is to have of the operating system, and that is to be an error.
    #[error("a thread of the executor lacks what it should have: {0}")]
    Shortfall(Box<ThreadReport>),
    /// The Tokio runtime could not be started.
    #[error("could not start the runtime for asynchronous callbacks: {0}")]
    Runtime(#[source] std::io::Error),
    /// The program and its deployment file do not go together.
    #[error(transparent)]
    Deployment(#[from] DeployError),
}
