//! Executors: threads, a policy, and what is spun.

use std::pin::pin;
use std::sync::Arc;

use rospin_core::Scheduler;

use crate::companions::{Along, Companions};
use crate::context::Context;
use crate::deployed::DeployError;
use crate::executor_options::{ExecutorOptions, SpinOptions};
use crate::group::CallbackGroup;
use crate::group_core::GroupOptions;
use crate::incident::Incident;
use crate::main_future::MainFuture;
use crate::os::{ThreadReport, ThreadSetup};
use crate::reentrant::ReentrantGroup;
use crate::shared::Shared;
use crate::spin::{Spin, Until};
use crate::state::State;

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
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
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
    /// The executor itself; deployment files do not matter here.
    pub(crate) fn build(options: ExecutorOptions, context: &Context) -> Self {
        let ExecutorOptions { name, policy, threads, thread, busy_poll, trace } = options;
        let mut scheduler = Scheduler::new(policy);
        scheduler.set_trace(trace);
        let thread = ThreadSetup::new(thread);
        let state = State::new(scheduler);
        let shared = Shared::new(name, context.clock().clone(), context.reporter(), thread, busy_poll, state);
        let shared = Arc::new(shared);
        context.clock().wakes(&shared);
        Self { handle: ExecutorHandle { shared, context: context.clone(), threads }, companions: None }
    }

    pub(crate) fn new(context: &Context, options: ExecutorOptions) -> Self {
        context.catalog().executor(|| options.plan());
        let Some(deployed) = context.deployed() else {
            return Self::build(options, context);
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
            None => Self::build(deployed.adjust(options), context),
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
        let for_long = options.until == Until::Halted;
        context.begin(for_long)?;
        if for_long {
            context.raise_foreign_threads(self.handle.shared.threads.scheduling())?;
        }
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
