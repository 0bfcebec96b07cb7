//! The error of a simulation.

use rospin_core::policy::UnknownPolicy;
use rospin_core::{AddError, Instant};
use rospin_scenario::CheckError;

/// Reasons for which a scenario cannot be simulated.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The scenario is invalid.
    #[error("the scenario cannot be run: {0}")]
    Scenario(#[from] CheckError),
    /// No executor has that name, for which a policy was given.
    #[error("the scenario has no executor `{0}` to give a policy to")]
    UnknownExecutor(String),
    /// No callback has that name.
    #[error("the scenario has no callback `{0}` to give outputs to")]
    UnknownCallback(String),
    /// No policy has the name that the scenario gives.
    #[error(transparent)]
    Policy(UnknownPolicy),
    /// The scheduler refused a callback.
    #[error(transparent)]
    Refused(AddError),
    /// Callbacks that take no time activate each other in an endless loop.
    #[error("time stands still at {at:?}: callbacks that take no time release each other; give one of them a time")]
    Livelock {
        /// Virtual time at which the simulation is stuck.
        at: Instant,
    },
}
