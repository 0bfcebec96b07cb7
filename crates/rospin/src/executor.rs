//! Executors: threads, a policy, and what is spun.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use rospin_core::policy::FixedPriority;
use rospin_core::trace::Trace;
use rospin_core::{Policy, Scheduler, policy};
use rospin_scenario::deployment::ExecutorPlan;

use crate::companions::{Along, Companions};
use crate::context::Context;
use crate::deployed::DeployError;
use crate::group::CallbackGroup;
use crate::group_core::GroupOptions;
use crate::incident::Incident;
use crate::os::{ThreadOptions, ThreadReport, ThreadSetup};
use crate::reentrant::ReentrantGroup;
use crate::shared::Shared;
use crate::spin::{MainFuture, Spin, Until};
use crate::state::State;

/// How an executor is set up.
pub struct ExecutorOptions {
    name: String,
    policy: Box<dyn Policy>,
    threads: u16,
    thread: ThreadOptions,
    trace: Option<Box<dyn Trace>>,
}

impl ExecutorOptions {
    /// One thread, [`FixedPriority`]: with equal priorities that is first in, first out.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            policy: Box::new(FixedPriority::new()),
            threads: 1,
            thread: ThreadOptions::new(),
            trace: None,
        }
    }

    /// Which of the ready callbacks runs next: one of [`policy`](rospin_core::policy), or a policy of your own.
    #[must_use]
    pub fn policy(mut self, policy: impl Policy + 'static) -> Self {
        self.policy = Box::new(policy);
        self
    }

    /// As [`policy`](Self::policy), for one that was chosen by name.
    #[must_use]
    pub fn boxed_policy(mut self, policy: Box<dyn Policy>) -> Self {
        self.policy = policy;
        self
    }

    /// How many threads run callbacks, the one that calls [`Executor::spin`] included; 0 for as many as there are cores.
    #[must_use]
    pub fn threads(mut self, threads: u16) -> Self {
        let cores = || std::thread::available_parallelism().ok().and_then(|cores| u16::try_from(cores.get()).ok());
        self.threads = if threads == 0 { cores().unwrap_or(1) } else { threads };
        self
    }

    /// Sets what each of its threads has of the operating system while it spins: scheduling class and priority, cores. The
    /// thread that calls [`Executor::spin`] has what it had before afterwards, as far as the kernel lets it: without rights
    /// it stays as nice as it was made, which is logged. Every spin takes some system calls for it.
    ///
    /// What could not be had is logged, or ends the spin, as the options say; see [`ExecutorHandle::thread_reports`].
    #[must_use]
    pub fn thread(mut self, options: ThreadOptions) -> Self {
        self.thread = options;
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn change_thread(mut self, change: impl FnOnce(ThreadOptions) -> ThreadOptions) -> Self {
        self.thread = change(self.thread);
        self
    }

    /// As a deployment file would say it; policies of the user's own have no name there.
    pub(crate) fn plan(&self) -> ExecutorPlan {
        let mut plan = ExecutorPlan::new(&self.name);
        plan.policy = Some(self.policy.name().to_owned()).filter(|name| policy::by_name(name).is_ok());
        plan.threads = Some(self.threads);
        self.thread.describe(&mut plan);
        plan
    }

    /// The executor itself; deployment files do not matter here.
    pub(crate) fn build(self, context: &Context) -> Executor {
        let Self { name, policy, threads, thread, trace } = self;
        let mut scheduler = Scheduler::new(policy);
        scheduler.set_trace(trace);
        let thread = ThreadSetup::new(thread);
        let shared = Shared::new(name, context.clock().clone(), context.reporter(), thread, State::new(scheduler));
        let shared = Arc::new(shared);
        context.clock().wakes(&shared);
        Executor { handle: ExecutorHandle { shared, context: context.clone(), threads }, companions: None }
    }

    /// Records what the scheduler decides. Called on the dispatch path: it must not block.
    #[must_use]
    pub fn trace(mut self, trace: impl Trace + 'static) -> Self {
        self.trace = Some(Box::new(trace));
        self
    }
}

/// When [`Executor::spin`] returns.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpinOptions {
    pub(crate) until: Until,
    pub(crate) timeout: Option<Duration>,
}

impl SpinOptions {
    /// Until the executor is halted.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Until one callback ran (an asynchronous one: until it first waits or ends). Waits for it if need be.
    ///
    /// Callbacks run on the calling thread only.
    #[must_use]
    pub fn spin_once() -> Self {
        Self { until: Until::Once, timeout: None }
    }

    /// Until nothing is ready, without waiting: all that is ready, and all that becomes ready meanwhile.
    ///
    /// Callbacks run on the calling thread only.
    #[must_use]
    pub fn spin_all() -> Self {
        Self { until: Until::Idle, timeout: None }
    }

    /// No longer than that; it is an error then. A callback that is running is waited for.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

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

/// Runs the callbacks of its groups, on one or more threads, in the order of its policy.
///
/// Nothing runs before [`spin`](Self::spin), nothing runs after it returned. Dropping the executor drops all callbacks
/// and payloads; handles that are still around do nothing from then on.
///
/// ```
/// use std::time::Duration;
/// use rospin::{Context, ContextOptions, ExecutorOptions, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let group = executor.create_group("countdown", 3);
/// let handle = executor.handle();
/// let _timer = group.create_timer(Duration::from_millis(1), move |left, _| {
///     *left -= 1;
///     if *left == 0 {
///         handle.halt();
///     }
/// })?;
/// executor.spin(SpinOptions::new())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Executor {
    handle: ExecutorHandle,
    /// Executors of the deployment file, which spin along.
    companions: Option<Arc<Companions>>,
}

impl Executor {
    pub(crate) fn new(context: &Context, options: ExecutorOptions) -> Self {
        context.catalog().executor(|| options.plan());
        let Some(deployed) = context.deployed() else {
            return options.build(context);
        };
        let companions = deployed.companions();
        let mut executor = match companions.adopt(options.name()) {
            // Groups came before their executor.
            Some(companion) => {
                if options.plan() != ExecutorOptions::new(options.name()).plan() {
                    log::warn!(
                        target: "rospin",
                        "groups went to executor `{}` before it was created; it has policy and threads as the deployment says, \
                         not as the program does: create it before its groups",
                        options.name()
                    );
                }
                let trace = options.trace;
                companion.handle.shared.submit(|state| state.scheduler.set_trace(trace));
                companion
            }
            None => deployed.adjust(options).build(context),
        };
        executor.companions = Some(companions);
        deployed.enter(&executor.handle);
        executor
    }

    /// Runs callbacks until the options say to stop, [`halt`](ExecutorHandle::halt) is called, or one panics in a group that
    /// [halts then](crate::OnPanic::Halt). Callbacks that are running are waited for; an asynchronous one that waits for
    /// something goes on in the next spin.
    ///
    /// # Errors
    /// See [`SpinError`].
    pub fn spin(&self, options: SpinOptions) -> Result<SpinEnd, SpinError> {
        self.along(options, || self.spin_alone(options))
    }

    /// Without the executors of the deployment file.
    pub(crate) fn spin_alone(&self, options: SpinOptions) -> Result<SpinEnd, SpinError> {
        self.prepare(options).run(None)
    }

    /// Spins by `spin`, with what the deployment file adds to it.
    fn along<R>(&self, options: SpinOptions, spin: impl FnOnce() -> Result<R, SpinError>) -> Result<R, SpinError> {
        let context = &self.handle.context;
        // Its thread is one of those that a deployment can name.
        context.runtime().prepare().map_err(SpinError::Runtime)?;
        context.begin(options.until == Until::Halted)?;
        let along =
            self.companions.as_ref().map(|companions| companions.spin_along(&self.handle, options)).transpose()?;
        let spun = spin();
        match along.map(Along::end) {
            Some(Err(error)) => Err(error),
            _ => spun,
        }
    }

    /// Spins until `future` resolves, which is polled on the calling thread.
    ///
    /// # Errors
    /// See [`SpinError`]; [`SpinError::Halted`] if the executor was halted before the future resolved.
    pub fn spin_until<F: Future>(&self, future: F, options: SpinOptions) -> Result<F::Output, SpinError> {
        let mut output = None;
        let spun = {
            let main = pin!(async { output = Some(future.await) });
            self.along(options, || self.prepare(options).run(Some(MainFuture::new(&self.handle.shared, main))))
        };
        match (spun, output) {
            // The time may have been over just then.
            (Ok(_) | Err(SpinError::Timeout), Some(output)) => Ok(output),
            (Ok(_), None) => Err(SpinError::Halted),
            (Err(error), _) => Err(error),
        }
    }

    /// A handle to give away: to callbacks and to other threads.
    #[must_use]
    pub fn handle(&self) -> ExecutorHandle {
        self.handle.clone()
    }

    /// See [`ExecutorHandle::create_group`].
    pub fn create_group<P: Send + 'static>(&self, options: impl Into<GroupOptions>, payload: P) -> CallbackGroup<P> {
        self.handle.create_group(options, payload)
    }

    /// See [`ExecutorHandle::create_reentrant_group`].
    pub fn create_reentrant_group(&self, options: impl Into<GroupOptions>) -> ReentrantGroup {
        self.handle.create_reentrant_group(options)
    }

    /// See [`ExecutorHandle::halt`].
    pub fn halt(&self) {
        self.handle.halt();
    }

    fn prepare(&self, options: SpinOptions) -> Spin<'_> {
        let shared = &self.handle.shared;
        let mut spin = Spin::new(shared, self.handle.context.runtime(), self.handle.threads);
        spin.until = options.until;
        spin.deadline = options.timeout.map(|timeout| shared.clock.now() + timeout);
        spin
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.handle.shared.close();
    }
}

/// An executor for those who do not own it: it can be extended and halted, not spun.
#[derive(Clone, Debug)]
pub struct ExecutorHandle {
    pub(crate) shared: Arc<Shared>,
    pub(crate) context: Context,
    pub(crate) threads: u16,
}

impl ExecutorHandle {
    /// The executor's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The context that it belongs to.
    #[must_use]
    pub const fn context(&self) -> &Context {
        &self.context
    }

    /// Creates a mutually exclusive group: one of its callbacks runs at a time, with `payload` at its disposal.
    ///
    /// May be called from a callback. A [deployment file](crate::ContextOptions::deployment) may put the group on another
    /// executor.
    pub fn create_group<P: Send + 'static>(&self, options: impl Into<GroupOptions>, payload: P) -> CallbackGroup<P> {
        let options = options.into();
        CallbackGroup::new(&self.deployed_for(&options), options, payload)
    }

    /// Creates a reentrant group: its callbacks run on any number of threads at once.
    ///
    /// May be called from a callback. A [deployment file](crate::ContextOptions::deployment) may put the group on another
    /// executor.
    pub fn create_reentrant_group(&self, options: impl Into<GroupOptions>) -> ReentrantGroup {
        let options = options.into();
        ReentrantGroup::new(&self.deployed_for(&options), options)
    }

    /// The executor that the group goes to: this one, unless a deployment file says otherwise.
    fn deployed_for(&self, group: &GroupOptions) -> Self {
        let deployed = self.context.deployed();
        let executor = deployed.and_then(|deployed| deployed.executor_for(&self.context, &group.node, &group.name));
        let executor = executor.unwrap_or_else(|| self.clone());
        self.context.catalog().group(&group.node, &group.name, executor.name());
        executor
    }

    /// What its threads had of the operating system when it last began to spin, as the kernel said; empty where nothing was
    /// [asked for](ExecutorOptions::thread). Locks for a moment.
    #[must_use]
    pub fn thread_reports(&self) -> Vec<ThreadReport> {
        self.shared.threads.reports()
    }

    /// Ends the spin that is going on, or, if none is, the next one at its beginning: a halt is never lost.
    ///
    /// May be called from any thread and from callbacks; returns at once.
    pub fn halt(&self) {
        self.shared.halt();
    }
}
