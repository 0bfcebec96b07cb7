//! The options of an executor.

use rclrs::log_error;
use rospin_engine::{ContextOptions, Deployment, DeploymentError, ExecutorOptions};

/// The options of an executor for rclrs nodes.
#[must_use]
pub struct RospinOptions {
    pub(super) context: ContextOptions,
    pub(super) executor: ExecutorOptions,
    pub(super) deployment: Option<Deployment>,
}

impl Default for RospinOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl RospinOptions {
    /// Creates options for an executor `main` with one thread, whose policy is
    /// [fixed priority](rospin_engine::policy::FixedPriority): callbacks without a priority run in the order in which their items
    /// arrived. Panics of callbacks go to rclrs's log.
    pub fn new() -> Self {
        let report = |incident: &rospin_engine::Incident| log_error!("rospin", "{incident}");
        let context = ContextOptions::new().on_incident(report);
        Self { context, executor: ExecutorOptions::new("main"), deployment: None }
    }

    /// Creates options as [`new`](Self::new) does, with settings from the environment: `ROSPIN_DEPLOYMENT` names deployment files,
    /// separated by colons, and `ROSPIN_DEPLOYMENT_TEMPLATE` a file that a template is written to.
    ///
    /// # Errors
    /// If a deployment file cannot be read or is invalid.
    pub fn from_env() -> Result<Self, DeploymentError> {
        let mut options = Self::new();
        if let Some(files) = std::env::var_os("ROSPIN_DEPLOYMENT").filter(|files| !files.is_empty()) {
            options = options.deployment(Deployment::load(std::env::split_paths(&files))?);
        }
        if let Some(file) = std::env::var_os("ROSPIN_DEPLOYMENT_TEMPLATE").filter(|file| !file.is_empty()) {
            options = options.context(|context| context.deployment_template(file));
        }
        Ok(options)
    }

    /// Sets the deployment, which takes precedence over priorities of the program. It names workers as groups, and callbacks by their
    /// worker and topic: `main/chatter` is the subscription of `/chatter` in a node's scope.
    pub fn deployment(mut self, deployment: Deployment) -> Self {
        self.context = self.context.deployment(deployment.clone());
        self.deployment = Some(deployment);
        self
    }

    /// Sets the options of the executor: its name, threads, policy, and the settings of its threads by the operating system.
    pub fn executor(mut self, options: ExecutorOptions) -> Self {
        self.executor = options;
        self
    }

    /// Changes the options of the context that the executor belongs to, for example the Tokio runtime that callbacks run in. Set
    /// deployments by [`deployment`](Self::deployment).
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
