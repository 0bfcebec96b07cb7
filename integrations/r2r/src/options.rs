//! The options of an executor.

use std::time::Duration;

use rospin_engine::{ContextOptions, Deployment, DeploymentError, ExecutorOptions, Incident};

/// The options of an executor for R2R nodes.
#[must_use]
pub struct R2rOptions {
    pub(super) context: ContextOptions,
    pub(super) executor: ExecutorOptions,
    pub(super) longest_wait: Duration,
}

impl Default for R2rOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl R2rOptions {
    /// Creates options for an executor `main` with one thread, whose policy is
    /// [fixed priority](rospin_engine::policy::FixedPriority): callbacks without a priority run in the order in which
    /// their items arrived. Panics of callbacks go to the `log` crate.
    pub fn new() -> Self {
        Self::with(ContextOptions::new())
    }

    fn with(context: ContextOptions) -> Self {
        let report = |incident: &Incident| log::error!(target: "rospin", "{incident}");
        Self {
            context: context.on_incident(report),
            executor: ExecutorOptions::new("main"),
            longest_wait: Duration::from_millis(10),
        }
    }

    /// Creates options as [`new`](Self::new) does, with settings from the environment: `ROSPIN_DEPLOYMENT` names
    /// deployment files, separated by colons, and `ROSPIN_DEPLOYMENT_TEMPLATE` a file that a template is written to.
    ///
    /// # Errors
    /// If a deployment file cannot be read or is invalid.
    pub fn from_env() -> Result<Self, DeploymentError> {
        ContextOptions::from_env().map(Self::with)
    }

    /// Sets the deployment, which takes precedence over priorities of the program. It names callback groups, entities,
    /// spawners, and the pumps, whose threads are called `r2r-pump`.
    pub fn deployment(self, deployment: Deployment) -> Self {
        self.context(|context| context.deployment(deployment))
    }

    /// Sets the options of the executor: its name, threads, policy, and the settings of its threads by the operating
    /// system.
    pub fn executor(mut self, options: ExecutorOptions) -> Self {
        self.executor = options;
        self
    }

    /// Changes the options of the context that the executor belongs to, for example the Tokio runtime that callbacks
    /// run in.
    pub fn context(mut self, change: impl FnOnce(ContextOptions) -> ContextOptions) -> Self {
        self.context = change(self.context);
        self
    }

    /// Sets the longest time that a pump waits for its node before it looks for new entities, and for what R2R only
    /// notices at the beginning of a spin: responses to cancel requests, and services that are there now. The default
    /// is 10 ms.
    ///
    /// Messages, requests and ticks end the wait at once.
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.longest_wait = wait;
        self
    }
}

impl From<ExecutorOptions> for R2rOptions {
    fn from(options: ExecutorOptions) -> Self {
        Self::new().executor(options)
    }
}
