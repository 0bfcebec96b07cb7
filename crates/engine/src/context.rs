//! Contexts: the clocks, topics, services and deployment that the executors of a program have in common.

use crate::sync::Mutex;
use std::any::type_name;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rospin_core::{OsScheduling, Priority, PriorityMap};
use rospin_scenario::Deployment;
use rospin_scenario::deployment::DeploymentError;

use crate::catalog::{Catalog, Program};
use crate::clock::Clock;
use crate::deployed::{DeployError, Deployed, priority_in};
use crate::foreign::{self, ForeignList};
use crate::group_core::Unnamed;
use crate::incident::{Incident, MissReporter, MissedDeadline, Reporter};
use crate::loss::{Ledger, Loss, LossCounters, Misses};
use crate::recorder::{Recorder, Scribe};
use crate::registry::Registry;
use crate::ros_time::RosTime;
use crate::runtime::Runtime;
use crate::time_source::ManualClock;
use crate::topics::Topics;

/// The options of a [`Context`].
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use std::sync::Arc;
/// use std::time::Duration;
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, ManualClock, SpinOptions, TimerOptions};
///
/// let (clock, incidents) = (ManualClock::new(), Arc::new(AtomicUsize::new(0)));
/// let count = Arc::clone(&incidents);
/// let options = ContextOptions::from_env()?
///     .manual_clock(clock.clone())
///     .on_incident(move |incident| {
///         eprintln!("{incident}");
///         count.fetch_add(1, Ordering::Relaxed);
///     })
///     .on_missed_deadline(|miss| eprintln!("{miss}: stop the robot"));
/// let context = Context::new(options);
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let group = executor.create_group("group", ());
/// let _broken = group.create_timer(TimerOptions::one_shot(Duration::from_secs(1)), |_, _| panic!("no wheels"))?;
/// clock.advance(Duration::from_secs(1));
/// executor.spin(SpinOptions::spin_all())?;
/// assert_eq!(incidents.load(Ordering::Relaxed), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ContextOptions {
    clock: Clock,
    priorities: PriorityMap,
    report: Reporter,
    report_miss: Option<MissReporter>,
    runtime: Runtime,
    deployment: Option<Deployment>,
    template: Option<PathBuf>,
    loads_later: bool,
    recorder: Recorder,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl ContextOptions {
    /// Creates options with the kernel's clocks and without priorities. Incidents go to the `log` crate.
    #[must_use]
    pub fn new() -> Self {
        Self {
            clock: Clock::kernel(),
            priorities: PriorityMap::default(),
            report: Arc::new(Incident::log),
            report_miss: None,
            runtime: Runtime::default(),
            deployment: None,
            template: None,
            loads_later: false,
            recorder: Recorder::of_process(),
        }
    }

    /// Creates options as [`new`](Self::new) does, with settings from the environment: `ROSPIN_DEPLOYMENT` names
    /// [deployment files](Self::deployment), separated by colons, and `ROSPIN_DEPLOYMENT_TEMPLATE` a file for a
    /// [template](Self::deployment_template).
    ///
    /// # Errors
    /// If a deployment file cannot be read or is invalid.
    pub fn from_env() -> Result<Self, DeploymentError> {
        let template = std::env::var_os("ROSPIN_DEPLOYMENT_TEMPLATE").filter(|file| !file.is_empty());
        let mut options = Self::new();
        if let Some(deployment) = Deployment::from_env()? {
            options = options.deployment(deployment);
        }
        Ok(match template {
            Some(file) => options.deployment_template(file),
            None => options,
        })
    }

    /// Sets the deployment: which groups are on which executors, and which cores and OS priorities executors have. It
    /// takes precedence over the program.
    ///
    /// An executor that only the file names spins on threads of its own while one of the program's spins. Once the
    /// program's spin is over, it finishes the callback that it runs and begins no other. Beside
    /// [`spin_all`](crate::SpinOptions::spin_all) and [`spin_once`](crate::SpinOptions::spin_once), which may be over
    /// at once, it still runs everything that is ready, unless that spin is halted, and the spin returns after that.
    /// Create an executor before the groups that the file puts on it. Otherwise it has the policy and the threads that
    /// the file gives it, and those of its options are ignored with a warning in the `log` crate.
    ///
    /// Names in the file that the program does not have are found when an executor begins to spin for the first time.
    #[must_use]
    pub fn deployment(mut self, deployment: Deployment) -> Self {
        self.deployment = Some(deployment);
        self
    }

    /// Sets a file that a deployment template is written to when an executor begins to spin for the first time. The
    /// template has the program's executors, groups, callbacks and threads as they are, for a user to edit, and in
    /// comments how to write chains and the names of other programs.
    #[must_use]
    pub fn deployment_template(mut self, file: impl Into<PathBuf>) -> Self {
        self.template = Some(file.into());
        self
    }

    /// Sets whether the program loads parts of itself while it runs, as containers of components do. Then a name in the
    /// deployment file that the program does not have yet is no error when the first spin begins.
    /// [`Context::write_template`] and [`Context::warn_of_unknown_names`] know what has come since.
    #[must_use]
    pub fn loads_later(mut self, loads_later: bool) -> Self {
        self.loads_later = loads_later;
        self
    }

    /// Sets a clock that stands still until it is moved.
    #[must_use]
    pub fn manual_clock(mut self, clock: ManualClock) -> Self {
        self.clock = Clock::manual(clock);
        self
    }

    /// Sets priorities by the names of entities, for entities that get none when they are created; see
    /// [`PriorityMap::picas`].
    #[must_use]
    pub fn priorities(mut self, priorities: PriorityMap) -> Self {
        self.priorities = priorities;
        self
    }

    /// Sets the recorder of what the context's executors do, in place of [the process's](Recorder::of_process).
    #[must_use]
    pub fn recorder(mut self, recorder: Recorder) -> Self {
        self.recorder = recorder;
        self
    }

    /// Sets the function that is called for each [`Incident`]: a panic or an error of a callback, an item that could
    /// not be taken from its source, or a callback that another one holds up. It runs on executor threads, and should
    /// not block.
    #[must_use]
    pub fn on_incident(mut self, report: impl Fn(&Incident) + Send + Sync + 'static) -> Self {
        self.report = Arc::new(report);
        self
    }

    /// Sets the function that is called for each [`MissedDeadline`], as soon as the late callback has ended, so that a
    /// robot can go into a safe state. It runs on executor threads before their next callbacks, and should not block.
    /// Without it, missed deadlines are only [counted](Context::missed_deadlines).
    ///
    /// Due times of timers are counted from their creation, so the first spin of an executor finds those late that have
    /// passed. That alone misses no deadline: the time that something waited for the first spin does not count.
    #[must_use]
    pub fn on_missed_deadline(mut self, report: impl Fn(&MissedDeadline) + Send + Sync + 'static) -> Self {
        self.report_miss = Some(Arc::new(report));
        self
    }

    /// Runs callbacks in the context of this Tokio runtime instead of one of rospin's own.
    ///
    /// It must not be a current-thread runtime that only the thread of `spin` drives: while that thread spins, nobody
    /// would drive the runtime's I/O.
    #[cfg(all(feature = "tokio", not(rospin_shuttle)))]
    #[must_use]
    pub fn tokio(mut self, handle: tokio::runtime::Handle) -> Self {
        self.runtime = Runtime::of_user(handle);
        self
    }
}

/// The clocks, topics, services and settings that executors have in common. Cheap to clone; clones are the same
/// context.
///
/// ```
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let control = context.create_executor(ExecutorOptions::new("control"));
/// let mapping = context.create_executor(ExecutorOptions::new("mapping"));
/// // Topics reach across executors.
/// let publisher = context.create_local_publisher::<String>("map")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    clock: Clock,
    scribe: Scribe,
    priorities: PriorityMap,
    report: Reporter,
    report_miss: Option<MissReporter>,
    runtime: Runtime,
    ledger: Arc<Ledger>,
    topics: Topics,
    services: Arc<Registry>,
    shared: Arc<Registry>,
    catalog: Catalog,
    /// Locked by the thread that compares the catalog with the deployment.
    checking: Mutex<()>,
    deployed: Option<Deployed>,
    template: Option<PathBuf>,
    loads_later: bool,
}

impl Context {
    /// Creates a context. It shares nothing with other contexts.
    #[must_use]
    pub fn new(options: ContextOptions) -> Self {
        let ContextOptions {
            clock,
            priorities,
            report,
            report_miss,
            runtime,
            deployment,
            template,
            loads_later,
            recorder,
        } = options;
        let scribe = Scribe::new(recorder, clock.clone());
        Self(Arc::new(Inner {
            clock,
            scribe,
            priorities,
            report,
            report_miss,
            runtime,
            ledger: Arc::default(),
            topics: Topics::new(),
            services: Arc::default(),
            shared: Arc::default(),
            catalog: Catalog::new(deployment.is_some() || template.is_some()),
            checking: Mutex::default(),
            deployed: deployment.map(Deployed::new),
            template,
            loads_later,
        }))
    }

    /// Returns the value of type `T` that this context has, of which there is at most one. If it has none,
    /// this call creates it with its default. It lives as long as one of its owners.
    ///
    /// Libraries on top of the engine keep their own data about a context in it.
    #[must_use]
    pub fn shared<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        // Created before the call: `default` is user code, which must not run under the registry's lock.
        let made = T::default();
        // Two types of the same name come from two versions of a crate. Values of the second type are not shared then.
        // Names of types are kept for ever: a program has a bounded number of them.
        self.0.shared.get_or_insert::<T, T>(type_name::<T>(), |_| made).unwrap_or_default()
    }

    /// Returns the numbers of entities without a name of their own whose names begin with `path`. They live as long as
    /// a group that has them.
    pub(crate) fn unnamed(&self, path: &str) -> Arc<Unnamed> {
        let name = format!("entities of {path}");
        self.0.shared.get_or_insert::<Unnamed, Unnamed>(&name, Unnamed::new).unwrap_or_default()
    }

    /// Runs `create`, which starts threads of a middleware or another library, with the settings that the deployment
    /// file has for threads called `name`. Where the file has no line for them, and executors in it are real-time, they
    /// get a priority above those: a message is as urgent as the threads that it passes.
    ///
    /// The calling thread gets these settings while `create` runs, since threads inherit scheduling and cores from
    /// their creator. Settings that it could not give up again are left out: without rights, that is a niceness. A
    /// setting that it cannot have becomes a warning in the `log` crate.
    ///
    /// Threads that exist when an executor begins to spin also get the settings for their own names, but only then.
    pub fn start_threads<R>(&self, name: &str, create: impl FnOnce() -> R) -> R {
        let options = self.deployed().map(|deployed| deployed.thread(name)).unwrap_or_default();
        let applied = options.apply_to_inherit();
        let shortfalls = applied.report().shortfalls.iter();
        shortfalls
            .for_each(|shortfall| log::warn!(target: "rospin", "threads `{name}` do not inherit it: {shortfall}"));
        create()
    }

    /// Returns the list of the middlewares that have reported their threads. The list exists as long as somebody holds
    /// it.
    #[must_use]
    pub fn foreign_threads(&self) -> Arc<ForeignList> {
        self.shared()
    }

    /// Gives the threads of middlewares a priority above the real-time executors of the deployment, and above an
    /// executor whose threads are scheduled as `own` says. With `None`, only the deployment's executors count.
    ///
    /// Logs a report of the threads that are not above them then. If that is for want of a right, and the deployment
    /// file's `on_shortfall` is `fail`, returns the report as an error instead. The same report comes only once.
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

    /// Returns the clocks of the context.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Returns ROS time, which timers on [`ClockKind::Ros`](rospin_core::ClockKind::Ros) follow.
    #[must_use]
    pub fn ros_time(&self) -> RosTime {
        RosTime::new(self.0.clock.clone())
    }

    /// Returns the numbers of items that were lost so far, by entity and cause, including losses of entities that are
    /// gone.
    #[must_use]
    pub fn losses(&self) -> Vec<Loss> {
        self.0.ledger.losses()
    }

    /// Returns the numbers of deadlines that were missed so far, by entity, including those of entities that are gone.
    /// A deadline is the one that an entity's options or the deployment file set, or else a timer's period; it counts
    /// under every policy.
    #[must_use]
    pub fn missed_deadlines(&self) -> Vec<Misses> {
        self.0.ledger.misses()
    }

    pub(crate) fn open_counters(&self, entity: &str, retire_as: &str) -> Arc<LossCounters> {
        self.0.ledger.open(entity, retire_as, &self.0.scribe)
    }

    /// Returns the recorder of what the context's executors do.
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        &self.0.scribe.recorder
    }

    pub(crate) fn scribe(&self) -> &Scribe {
        &self.0.scribe
    }

    /// Returns the priority that the program's chains give the entity, whose node is in `namespace`.
    pub(crate) fn priority_of(&self, entity: &str, namespace: &str) -> Option<Priority> {
        priority_in(&self.0.priorities, entity, namespace)
    }

    pub(crate) fn reporter(&self) -> Reporter {
        Arc::clone(&self.0.report)
    }

    /// Returns the functions that are called for incidents, and for missed deadlines.
    pub(crate) fn reporters(&self) -> (Reporter, Option<MissReporter>) {
        (self.reporter(), self.0.report_miss.clone())
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.0.catalog
    }

    pub(crate) fn deployed(&self) -> Option<&Deployed> {
        self.0.deployed.as_ref()
    }

    /// Writes the template, and compares the program with its deployment, before an executor spins for the first time,
    /// and before each further spin until they agree. No executor of the context spins before that.
    pub(crate) fn check_once(&self) -> Result<(), DeployError> {
        if self.0.catalog.is_checked() {
            return Ok(());
        }
        let _only_one = self.0.checking.lock();
        if let Some(program) = self.0.catalog.contents().filter(|program| !program.is_checked) {
            self.write_template_of(&program)?;
            if let Some(deployed) = self.deployed() {
                deployed.begin(&program, self.0.loads_later)?;
            }
            self.0.catalog.set_checked(self.0.loads_later);
        }
        Ok(())
    }

    /// Writes the [template](ContextOptions::deployment_template) once more, with everything that the program has had
    /// so far. Does nothing without a template, or after the first spin of a program that does not [load parts
    /// later](ContextOptions::loads_later). Blocks on the file.
    ///
    /// # Errors
    /// [`DeployError::Template`] if the file cannot be written.
    pub fn write_template(&self) -> Result<(), DeployError> {
        if self.0.template.is_none() {
            return Ok(());
        }
        let _only_one = self.0.checking.lock();
        match self.0.catalog.contents() {
            Some(program) => self.write_template_of(&program),
            None => Ok(()),
        }
    }

    /// Warns, in the `log` crate, of each name in the deployment file that the program has not had so far: at the end
    /// of a program that [loads parts later](ContextOptions::loads_later). Does nothing for other programs, or if
    /// nothing was ever spun.
    pub fn warn_of_unknown_names(&self) {
        if !self.0.loads_later || !self.0.catalog.is_checked() {
            return;
        }
        if let (Some(program), Some(deployed)) = (self.0.catalog.contents(), self.deployed()) {
            deployed.warn_of_unknown_names(&program);
        }
    }

    fn write_template_of(&self, program: &Program) -> Result<(), DeployError> {
        let Some(path) = &self.0.template else { return Ok(()) };
        let failed = |reason| DeployError::Template { path: path.clone(), reason };
        crate::template::write(program, path).map_err(failed)
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }

    pub(crate) fn topics(&self) -> &Topics {
        &self.0.topics
    }

    pub(crate) fn services(&self) -> &Arc<Registry> {
        &self.0.services
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A program that ends leaves a recording that is complete.
        if self.scribe.recorder.is_on() {
            self.scribe.recorder.flush();
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}
