//! Executors, as programs create and spin them.

use std::pin::pin;
use std::sync::Arc;

use rospin_core::Instant;

use crate::companions::{Along, Companions};
use crate::context::Context;
use crate::executor_handle::ExecutorHandle;
use crate::executor_options::{ExecutorOptions, SpinOptions, Until};
use crate::group::CallbackGroup;
use crate::main_future::MainFuture;
use crate::options::GroupOptions;
use crate::reentrant::ReentrantGroup;
use crate::solo::Solo;
use crate::spin_end::{SpinEnd, SpinError};

/// An executor runs the callbacks of its groups, on one or more threads, in the order of its policy.
///
/// Nothing runs before [`spin`](Self::spin), and nothing runs after it returned. Dropping the executor drops all
/// callbacks and payloads. Handles that are still around do nothing from then on.
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
    solo: Solo,
    /// The executors that only the deployment file names, which spin along with this one; `None` without a deployment
    /// file. They are dropped after this one.
    companions: Option<Arc<Companions>>,
}

impl Context {
    /// Creates an executor. It runs nothing before it is spun.
    #[must_use]
    pub fn create_executor(&self, options: ExecutorOptions) -> Executor {
        self.catalog().executor(|| options.plan());
        let Some(deployed) = self.deployed() else {
            let mut solo = Solo::new(options, self);
            solo.enter_all();
            return Executor { solo, companions: None };
        };
        let companions = self.shared::<Companions>();
        let mut solo = match companions.adopt(options.name()) {
            // Groups went to the executor before the program created it.
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
                companion.handle().core.set_trace(trace);
                companion
            }
            None => Solo::new(deployed.adjust(options), self),
        };
        companions.enter(solo.handle());
        solo.enter_all();
        Executor { solo, companions: Some(companions) }
    }
}

impl Executor {
    /// Runs callbacks until the options say to stop, [`halt`](ExecutorHandle::halt) is called, or a callback panics in
    /// a group that [halts then](crate::OnPanic::Halt).
    ///
    /// Callbacks that are running are waited for. An asynchronous one that is suspended goes on in the next spin.
    ///
    /// # Errors
    /// See [`SpinError`].
    pub fn spin(&self, options: SpinOptions) -> Result<SpinEnd, SpinError> {
        self.along(options, || self.solo.spin(options))
    }

    /// Runs `spin` after the deployment file was checked and its settings for threads were applied. The executors that
    /// only the file names spin along.
    fn along(
        &self,
        options: SpinOptions,
        spin: impl FnOnce() -> Result<SpinEnd, SpinError>,
    ) -> Result<SpinEnd, SpinError> {
        let leader = self.solo.handle();
        let context = &leader.context;
        // Before the deployment is applied: it can name the runtime's thread, too.
        context.runtime().prepare().map_err(SpinError::Runtime)?;
        context.check_once()?;
        let for_long = options.until == Until::Halted;
        let deployment = context.deployed().zip(self.companions.as_ref());
        if let Some((deployed, companions)) = deployment.filter(|_| for_long) {
            deployed.set_up_threads(&companions.names_of_programs_executors())?;
        }
        if for_long {
            context.raise_foreign_threads(leader.shared().threads.scheduling())?;
        }
        let Some((_, companions)) = deployment else { return spin() };
        let along = Along::begin(companions, leader, options)?;
        let spun = spin();
        along.end(&spun)?;
        spun
    }

    /// Spins until `future` resolves, which is polled on the calling thread.
    ///
    /// # Errors
    /// See [`SpinError`]; [`SpinError::Halted`] if the executor was halted before the future resolved, or if
    /// [`spin_once`](SpinOptions::spin_once) or [`spin_all`](SpinOptions::spin_all) ended before that.
    pub fn spin_until<F: Future>(&self, future: F, options: SpinOptions) -> Result<F::Output, SpinError> {
        let mut output = None;
        let spun = {
            let main = pin!(async { output = Some(future.await) });
            let spin = || self.solo.spin_with(options, MainFuture::new(self.solo.handle().shared(), main));
            self.along(options, spin)
        };
        match (spun, output) {
            // The future may have resolved just when the time was over.
            (Ok(_) | Err(SpinError::Timeout), Some(output)) => Ok(output),
            (Ok(_), None) => Err(SpinError::Halted),
            (Err(error), _) => Err(error),
        }
    }

    /// Returns the due time of the executor's next timer or sleeper, on the steady clock; `None` if none waits. Timers
    /// and sleepers on ROS time count only while it follows the system clock.
    ///
    /// Tests move a [`ManualClock`](crate::ManualClock) to that time. This call waits for the end of a spin that
    /// another thread is in; never call it from a callback.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.solo.next_due()
    }

    /// Returns a handle of the executor, for callbacks and other threads.
    #[must_use]
    pub fn handle(&self) -> ExecutorHandle {
        self.solo.handle().clone()
    }

    /// Creates a mutually exclusive group, see [`ExecutorHandle::create_group`].
    pub fn create_group<P: Send + 'static>(&self, options: impl Into<GroupOptions>, payload: P) -> CallbackGroup<P> {
        self.solo.handle().create_group(options, payload)
    }

    /// Creates a reentrant group, see [`ExecutorHandle::create_reentrant_group`].
    pub fn create_reentrant_group(&self, options: impl Into<GroupOptions>) -> ReentrantGroup {
        self.solo.handle().create_reentrant_group(options)
    }

    /// Ends the spin, see [`ExecutorHandle::halt`].
    pub fn halt(&self) {
        self.solo.handle().halt();
    }
}

impl ExecutorHandle {
    /// Creates a mutually exclusive group: one of its callbacks runs at a time, and has the payload to itself.
    ///
    /// May be called from a callback. A [deployment file](crate::ContextOptions::deployment) may put the group on
    /// another executor.
    pub fn create_group<P: Send + 'static>(&self, options: impl Into<GroupOptions>, payload: P) -> CallbackGroup<P> {
        let options = options.into();
        CallbackGroup::new(&self.deployed_for(&options), options, payload)
    }

    /// Creates a reentrant group, whose callbacks run on any number of threads at once.
    ///
    /// May be called from a callback. A [deployment file](crate::ContextOptions::deployment) may put the group on
    /// another executor.
    pub fn create_reentrant_group(&self, options: impl Into<GroupOptions>) -> ReentrantGroup {
        let options = options.into();
        ReentrantGroup::new(&self.deployed_for(&options), options)
    }

    /// Returns the executor that the group goes to: this one, unless a deployment file says otherwise.
    fn deployed_for(&self, group: &GroupOptions) -> Self {
        let executor = Companions::executor_for(&self.context, &group.node, &group.name);
        executor.unwrap_or_else(|| self.clone())
    }
}
