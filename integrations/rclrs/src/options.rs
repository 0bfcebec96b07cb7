//! The options of an executor.

use rclrs::log_error;
use rospin_engine::{ContextOptions, Deployment, DeploymentError, ExecutorOptions, Incident};

/// The options of an executor for rclrs nodes.
#[must_use]
pub struct RospinOptions {
    pub(super) context: ContextOptions,
    pub(super) executor: ExecutorOptions,
}

impl Default for RospinOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl RospinOptions {
    /// Creates options for an executor `main` with one thread, whose policy is
    /// [fixed priority](rospin_engine::policy::FixedPriority): callbacks without a priority run in the order in which
    /// their items arrived. Panics of callbacks go to rclrs's log.
    pub fn new() -> Self {
        Self::with(ContextOptions::new())
    }

    fn with(context: ContextOptions) -> Self {
        let report = |incident: &Incident| log_error!("rospin", "{incident}");
        Self { context: context.on_incident(report), executor: ExecutorOptions::new("main") }
    }

    /// Creates options as [`new`](Self::new) does, with settings from the environment: `ROSPIN_DEPLOYMENT` names
    /// deployment files, separated by colons, and `ROSPIN_DEPLOYMENT_TEMPLATE` a file that a template is written to.
    ///
    /// # Errors
    /// If a deployment file cannot be read or is invalid.
    pub fn from_env() -> Result<Self, DeploymentError> {
        ContextOptions::from_env().map(Self::with)
    }

    /// Sets the deployment, which takes precedence over priorities of the program. It names workers as groups, and
    /// callbacks by their worker and topic: `main/chatter` is the subscription of `/chatter` in a node's scope.
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
}

impl From<ExecutorOptions> for RospinOptions {
    fn from(options: ExecutorOptions) -> Self {
        Self::new().executor(options)
    }
}
