//! The root of everything: clocks, topics and services, executors.

use crate::sync::Mutex;
use std::any::type_name;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rospin_core::{OsScheduling, Priority, PriorityMap};
use rospin_scenario::Deployment;
use rospin_scenario::deployment::DeploymentError;

use crate::catalog::Catalog;
use crate::clock::{Clock, ManualClock};
use crate::deployed::{DeployError, Deployed};
use crate::executor::Executor;
use crate::executor_options::ExecutorOptions;
use crate::foreign::{self, ForeignList};
use crate::incident::{Incident, Reporter, log_incident};
use crate::loss::{Ledger, Loss, LossCounters};
use crate::options::{PublisherOptions, ServiceOptions, SubscriptionOptions};
use crate::queue::Queue;
use crate::registry::Registry;
use crate::request_queue::RequestQueue;
use crate::ros_time::RosTime;
use crate::runtime::Runtime;
use crate::service::{Client, ServiceError};
use crate::topic::{Publisher, TopicError};

/// How a [`Context`] is set up.
pub struct ContextOptions {
    clock: Clock,
    priorities: PriorityMap,
    report: Reporter,
    runtime: Runtime,
    deployment: Option<Deployment>,
    template: Option<PathBuf>,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl ContextOptions {
    /// The kernel's clocks, no priorities, incidents to the `log` crate.
    #[must_use]
    pub fn new() -> Self {
        Self {
            clock: Clock::kernel(),
            priorities: PriorityMap::default(),
            report: Arc::new(log_incident),
            runtime: Runtime::default(),
            deployment: None,
            template: None,
        }
    }

    /// As [`new`](Self::new), and with what the user of the program says in the environment: `ROSPIN_DEPLOYMENT` names
    /// [deployment files](Self::deployment), separated by colons, `ROSPIN_DEPLOYMENT_TEMPLATE` a file for a
    /// [template](Self::deployment_template).
    ///
    /// # Errors
    /// If a deployment file cannot be read or makes no sense.
    pub fn from_env() -> Result<Self, DeploymentError> {
        let files = std::env::var_os("ROSPIN_DEPLOYMENT").filter(|files| !files.is_empty());
        let template = std::env::var_os("ROSPIN_DEPLOYMENT_TEMPLATE").filter(|file| !file.is_empty());
        let mut options = Self::new();
        if let Some(files) = files {
            options = options.deployment(Deployment::load(std::env::split_paths(&files))?);
        }
        Ok(match template {
            Some(file) => options.deployment_template(file),
            None => options,
        })
    }

    /// Puts callback groups on executors, and executors on cores and OS priorities, as a deployment file says, whatever the
    /// program says. Executors that only the file knows spin on threads of their own while one of the program's does.
    ///
    /// Such an executor ends the callback that it runs, and begins no other, once the program's spin is over. Beside
    /// [`spin_all`](crate::SpinOptions::spin_all) and [`spin_once`](crate::SpinOptions::spin_once), which may be over at once,
    /// it still runs what is ready, and the spin returns after that. An executor that the program creates only after its
    /// groups has policy and threads as the file says.
    ///
    /// Whether all of its names are the program's is checked when an executor begins to spin for the first time.
    #[must_use]
    pub fn deployment(mut self, deployment: Deployment) -> Self {
        self.deployment = Some(deployment);
        self
    }

    /// Writes a deployment file with the program's executors, groups, callbacks and threads, as they are, when an executor
    /// begins to spin for the first time: for a user to edit.
    #[must_use]
    pub fn deployment_template(mut self, file: impl Into<PathBuf>) -> Self {
        self.template = Some(file.into());
        self
    }

    /// Time stands still until `clock` is moved.
    #[must_use]
    pub fn manual_clock(mut self, clock: ManualClock) -> Self {
        self.clock = Clock::manual(clock);
        self
    }

    /// Priorities of entities by name, for those that are not given one when they are created; see
    /// [`PriorityMap::picas`].
    #[must_use]
    pub fn priorities(mut self, priorities: PriorityMap) -> Self {
        self.priorities = priorities;
        self
    }

    /// Has `report` told of panics and of items that could not be taken. It runs on executor threads.
    #[must_use]
    pub fn on_incident(mut self, report: impl Fn(&Incident) + Send + Sync + 'static) -> Self {
        self.report = Arc::new(report);
        self
    }

    /// Runs callbacks in the context of this Tokio runtime instead of one of rospin's own.
    ///
    /// It must not be a current-thread runtime that only `spin`'s caller drives: nobody would drive its I/O then.
    #[cfg(feature = "tokio")]
    #[must_use]
    pub fn tokio(mut self, handle: tokio::runtime::Handle) -> Self {
        self.runtime = Runtime::of_user(handle);
        self
    }
}

/// What executors, topics and services of a process have in common. Cheap to clone; clones are the same context.
///
/// ```
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let control = context.create_executor(ExecutorOptions::new("control"));
/// let mapping = context.create_executor(ExecutorOptions::new("mapping"));
/// // Topics reach across executors.
/// let publisher = context.create_publisher::<String>("map")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    clock: Clock,
    priorities: PriorityMap,
    report: Reporter,
    runtime: Runtime,
    ledger: Arc<Ledger>,
    topics: Registry,
    services: Registry,
    shared: Registry,
    catalog: Catalog,
    /// Held by the executor that compares the catalog with the deployment.
    checking: Mutex<()>,
    deployed: Option<Deployed>,
    template: Option<PathBuf>,
}

impl Context {
    /// A context of its own: nothing is shared with other contexts.
    #[must_use]
    pub fn new(options: ContextOptions) -> Self {
        let ContextOptions { clock, priorities, report, runtime, deployment, template } = options;
        Self(Arc::new(Inner {
            clock,
            priorities,
            report,
            runtime,
            ledger: Arc::default(),
            topics: Registry::default(),
            services: Registry::default(),
            shared: Registry::default(),
            catalog: Catalog::new(deployment.is_some() || template.is_some()),
            checking: Mutex::default(),
            deployed: deployment.map(Deployed::new),
            template,
        }))
    }

    /// Creates an executor. It runs nothing before it is spun.
    #[must_use]
    pub fn create_executor(&self, options: ExecutorOptions) -> Executor {
        Executor::new(self, options)
    }

    /// Creates a publisher; a plain `&str` is its topic.
    ///
    /// # Errors
    /// If the topic carries messages of another type.
    pub fn create_publisher<T: Send + Sync + 'static>(
        &self,
        options: impl Into<PublisherOptions>,
    ) -> Result<Publisher<T>, TopicError> {
        Publisher::new(self, options.into())
    }

    /// Creates a subscription without a callback, for whoever has a loop of their own; a plain `&str` is its topic. What only
    /// matters to executors, such as a priority, is ignored.
    ///
    /// # Errors
    /// If the topic carries messages of another type.
    pub fn create_queue<T: Send + Sync + 'static>(
        &self,
        options: impl Into<SubscriptionOptions>,
    ) -> Result<Queue<T>, TopicError> {
        Queue::new(self, &options.into())
    }

    /// Creates a service without a callback, whose requests are answered by whoever takes them; a plain `&str` is its name.
    ///
    /// # Errors
    /// If the service exists already, or has other types.
    pub fn create_request_queue<Req: Send + 'static, Resp: Send + 'static>(
        &self,
        options: impl Into<ServiceOptions>,
    ) -> Result<RequestQueue<Req, Resp>, ServiceError> {
        RequestQueue::new(self, &options.into())
    }

    /// Creates a client of the service called `service`, which need not be there yet.
    ///
    /// # Errors
    /// If the service has other types.
    pub fn create_client<Req: Send + 'static, Resp: Send + 'static>(
        &self,
        service: &str,
    ) -> Result<Client<Req, Resp>, ServiceError> {
        Client::new(self, service)
    }

    /// The context's one value of that type, made if there is none, and forgotten with its last owner: for what is built on
    /// contexts and has something in common for each of them.
    #[must_use]
    pub fn shared<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        // Made before, for it is not to run under the lock.
        let made = T::default();
        // Two types of one name would have to come from two versions of a crate; the second one shares nothing.
        self.0.shared.get_or_insert::<T, T>(type_name::<T>(), || made).unwrap_or_default()
    }

    /// Runs `create`, which starts threads that are not rospin's: a middleware's. They get what the deployment file says for
    /// threads called `name`, since threads inherit scheduling and cores from their creator. Where the file has no line for them, and
    /// executors in it are real-time, they get a priority above those: a message is as urgent as the threads that it passes.
    ///
    /// Threads that are there when an executor begins to spin are found by their own names, too, if not so early.
    ///
    /// What they cannot have is a warning in the `log` crate. Nor do they get what the calling thread, which has it
    /// meanwhile, could not give up again: without rights that is a niceness.
    pub fn start_threads<R>(&self, name: &str, create: impl FnOnce() -> R) -> R {
        let options = self.deployed().map(|deployed| deployed.thread(name)).unwrap_or_default();
        let applied = options.apply_to_inherit();
        let shortfalls = applied.report().shortfalls.iter();
        shortfalls
            .for_each(|shortfall| log::warn!(target: "rospin", "threads `{name}` do not inherit it: {shortfall}"));
        create()
    }

    /// Returns the threads that middlewares have told of; the list lives as long as somebody has it.
    #[must_use]
    pub fn foreign_threads(&self) -> Arc<ForeignList> {
        self.shared()
    }

    /// Raises the threads of middlewares above the real-time executors: those of the deployment, and one that is scheduled as `own`
    /// says. Tells once which threads are not above them.
    pub(crate) fn raise_foreign_threads(&self, own: Option<OsScheduling>) -> Result<(), DeployError> {
        let deployed = self.deployed();
        let highest = own.and_then(foreign::priority).max(deployed.and_then(Deployed::highest_priority));
        let is_planned = |name: &str| deployed.is_some_and(|deployed| deployed.names_thread(name));
        let Some((told, is_right_missing)) =
            highest.and_then(|highest| self.foreign_threads().raise(highest, is_planned))
        else {
            return Ok(());
        };
        match deployed {
            Some(deployed) if is_right_missing => deployed.shortfall(told),
            _ => {
                log::warn!(target: "rospin", "{told}");
                Ok(())
            }
        }
    }

    /// The clock that timers and releases are measured on.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// ROS time: what timers on [`ClockKind::Ros`](rospin_core::ClockKind::Ros) follow, and how it is driven.
    #[must_use]
    pub fn ros_time(&self) -> RosTime {
        RosTime::new(self.0.clock.clone())
    }

    /// Everything that was lost so far, by entity and cause, of entities that are gone, too.
    #[must_use]
    pub fn losses(&self) -> Vec<Loss> {
        self.0.ledger.losses()
    }

    pub(crate) fn open_counters(&self, entity: &str, retire_as: &str) -> Arc<LossCounters> {
        self.0.ledger.open(entity, retire_as)
    }

    pub(crate) fn priority_of(&self, entity: &str) -> Option<Priority> {
        self.0.priorities.get(entity)
    }

    pub(crate) fn reporter(&self) -> Reporter {
        Arc::clone(&self.0.report)
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.0.catalog
    }

    pub(crate) fn deployed(&self) -> Option<&Deployed> {
        self.0.deployed.as_ref()
    }

    /// An executor is about to spin, `for_long` or for a moment.
    pub(crate) fn begin(&self, for_long: bool) -> Result<(), DeployError> {
        self.check_once()?;
        match self.deployed() {
            Some(deployed) if for_long => deployed.set_up_threads(),
            _ => Ok(()),
        }
    }

    /// Compares the program with its deployment, until it is as it should be. Nobody spins meanwhile, nor afterwards if not.
    fn check_once(&self) -> Result<(), DeployError> {
        if self.0.catalog.is_closed() {
            return Ok(());
        }
        let _only_one = self.0.checking.lock();
        if let Some(program) = self.0.catalog.contents() {
            self.begin_with(&program)?;
            self.0.catalog.close();
        }
        Ok(())
    }

    fn begin_with(&self, program: &Deployment) -> Result<(), DeployError> {
        if let Some(path) = &self.0.template {
            let template = crate::deployed::template(program);
            let failed = |source| DeployError::Template { path: path.clone(), source };
            std::fs::write(path, template).map_err(failed)?;
        }
        self.deployed().map_or(Ok(()), |deployed| deployed.begin(program))
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }

    pub(crate) fn topics(&self) -> &Registry {
        &self.0.topics
    }

    pub(crate) fn services(&self) -> &Registry {
        &self.0.services
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}
