//! The options of executors and spins.

use std::time::Duration;

use rospin_core::policy::FixedPriority;
use rospin_core::trace::Trace;
use rospin_core::{Policy, policy};
use rospin_scenario::deployment::ExecutorPlan;

use crate::os::ThreadOptions;

/// The options of an executor.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use std::sync::Arc;
/// use std::time::Duration;
/// use rospin_engine::os::{OsScheduling, ThreadOptions};
/// use rospin_engine::trace::TraceEvent;
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, Instant, SpinOptions, policy};
///
/// let decisions = Arc::new(AtomicUsize::new(0));
/// let counted = Arc::clone(&decisions);
/// let control = ExecutorOptions::new("control")
///     .policy(policy::Edf::new())
///     .thread(ThreadOptions::new().scheduling(OsScheduling::Fifo { priority: 20 }))
///     .trace(move |_: Instant, _: TraceEvent| {
///         counted.fetch_add(1, Ordering::Relaxed);
///     });
/// // A policy by name, as from the command line, on two threads that poll before they sleep.
/// let policy = policy::by_name("fifo")?;
/// let mapping = ExecutorOptions::new("mapping").boxed_policy(policy).threads(2).busy_poll(Duration::from_micros(50));
///
/// let context = Context::new(ContextOptions::new());
/// let (control, _mapping) = (context.create_executor(control), context.create_executor(mapping));
/// let group = control.create_group("group", ());
/// let _timer = group.create_timer(Duration::from_millis(1), |_, _| ())?;
/// control.spin(SpinOptions::spin_once())?;
/// assert!(decisions.load(Ordering::Relaxed) > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ExecutorOptions {
    pub(crate) name: String,
    pub(crate) policy: Box<dyn Policy>,
    pub(crate) threads: u16,
    pub(crate) thread: ThreadOptions,
    pub(crate) busy_poll: Duration,
    pub(crate) trace: Option<Box<dyn Trace>>,
}

impl ExecutorOptions {
    /// Creates options for one thread and [`FixedPriority`], which is first in, first out if all priorities are equal.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            policy: Box::new(FixedPriority::new()),
            threads: 1,
            thread: ThreadOptions::new(),
            busy_poll: Duration::ZERO,
            trace: None,
        }
    }

    /// Sets the policy, which picks the ready callback that runs next: one of [`policy`](rospin_core::policy), or one
    /// of your own.
    #[must_use]
    pub fn policy(mut self, policy: impl Policy + 'static) -> Self {
        self.policy = Box::new(policy);
        self
    }

    /// Sets a policy that is in a box, for example one that was chosen by name.
    #[must_use]
    pub fn boxed_policy(mut self, policy: Box<dyn Policy>) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the number of threads that run callbacks, including the one that calls [`spin`](crate::Executor::spin). 0
    /// means as many as there are cores.
    #[must_use]
    pub fn threads(mut self, threads: u16) -> Self {
        let cores = || std::thread::available_parallelism().ok().and_then(|cores| u16::try_from(cores.get()).ok());
        self.threads = if threads == 0 { cores().unwrap_or(1) } else { threads };
        self
    }

    /// Sets the scheduling class, priority and cores that each thread has while it spins. Every spin takes some system
    /// calls for it.
    ///
    /// After the spin, the thread that calls [`spin`](crate::Executor::spin) gets its former settings back, if the
    /// kernel allows it: without rights it cannot lower its nice value again, which is logged.
    ///
    /// A setting that a thread cannot have is logged, or ends the spin, as the options say; see
    /// [`thread_reports`](crate::ExecutorHandle::thread_reports).
    #[must_use]
    pub fn thread(mut self, options: ThreadOptions) -> Self {
        self.thread = options;
        self
    }

    /// Sets the time for which an idle thread polls for work before it sleeps. The default is zero; [`Duration::MAX`]
    /// polls for ever.
    ///
    /// A thread that polls starts a callback in about a microsecond. To wake one that sleeps takes at least ten times
    /// as long, part of it on the thread of the publisher. But a thread that polls needs a core of its own: under a
    /// real-time class, nothing else runs there. With several threads, each idle one polls. Has no effect under a
    /// manual clock.
    #[must_use]
    pub fn busy_poll(mut self, duration: Duration) -> Self {
        self.busy_poll = duration;
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn change_thread(mut self, change: impl FnOnce(ThreadOptions) -> ThreadOptions) -> Self {
        self.thread = change(self.thread);
        self
    }

    /// Returns the options as the plan of a deployment file. A user's own policy has no name there and is left out.
    pub(crate) fn plan(&self) -> ExecutorPlan {
        let mut plan = ExecutorPlan::new(&self.name);
        plan.policy = Some(self.policy.name().to_owned()).filter(|name| policy::by_name(name).is_ok());
        plan.threads = Some(self.threads);
        plan.busy_poll = Some(self.busy_poll).filter(|busy_poll| !busy_poll.is_zero());
        self.thread.describe(&mut plan);
        plan
    }

    /// Sets a trace that records what the scheduler decides. It is called on the dispatch path and must not block.
    #[must_use]
    pub fn trace(mut self, trace: impl Trace + 'static) -> Self {
        self.trace = Some(Box::new(trace));
        self
    }
}

/// The condition on which a spin ends by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Until {
    /// The spin ends only when it is halted.
    #[default]
    Halted,
    /// The spin ends after one activation.
    Once,
    /// The spin ends after as many activations as were ready when it began, or when nothing is ready any more.
    Some,
    /// The spin ends when nothing is ready any more.
    Idle,
}

/// Options of a spin: the condition on which [`Executor::spin`](crate::Executor::spin) returns.
///
/// ```
/// use std::time::Duration;
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinEnd, SpinError, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// assert_eq!(executor.spin(SpinOptions::spin_all())?, SpinEnd::Done);
/// let waited = executor.spin(SpinOptions::spin_once().timeout(Duration::from_millis(1)));
/// assert!(matches!(waited, Err(SpinError::Timeout)));
/// executor.halt();
/// assert_eq!(executor.spin(SpinOptions::new())?, SpinEnd::Halted);
/// # Ok::<(), SpinError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SpinOptions {
    pub(crate) until: Until,
    pub(crate) timeout: Option<Duration>,
}

impl SpinOptions {
    /// Returns options with which a spin lasts until the executor is halted.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns options with which a spin lasts until one callback has run; an asynchronous one until it first waits or
    /// ends. The spin waits if no callback is ready.
    ///
    /// Callbacks run on the calling thread only.
    #[must_use]
    pub fn spin_once() -> Self {
        Self { until: Until::Once, timeout: None }
    }

    /// Returns options with which a spin runs as many callbacks as are ready when it begins, and then ends: what
    /// becomes ready meanwhile keeps it from ending no longer than that. Callbacks run in the policy's order, so an
    /// urgent one that becomes ready meanwhile may run in place of another. The spin does not wait.
    ///
    /// Callbacks run on the calling thread only.
    #[must_use]
    pub fn spin_some() -> Self {
        Self { until: Until::Some, timeout: None }
    }

    /// Returns options with which a spin runs everything that is ready, and everything that becomes ready meanwhile.
    /// The spin does not wait.
    ///
    /// Callbacks run on the calling thread only.
    #[must_use]
    pub fn spin_all() -> Self {
        Self { until: Until::Idle, timeout: None }
    }

    /// Sets the time, from the beginning of the spin, after which it ends with
    /// [`SpinError::Timeout`](crate::SpinError::Timeout). A callback that is running is waited for.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}
