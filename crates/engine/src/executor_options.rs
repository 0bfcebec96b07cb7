//! How executors and spins are set up.

use std::time::Duration;

use rospin_core::policy::FixedPriority;
use rospin_core::trace::Trace;
use rospin_core::{Policy, policy};
use rospin_scenario::deployment::ExecutorPlan;

use crate::os::ThreadOptions;

/// How an executor is set up.
pub struct ExecutorOptions {
    pub(crate) name: String,
    pub(crate) policy: Box<dyn Policy>,
    pub(crate) threads: u16,
    pub(crate) thread: ThreadOptions,
    pub(crate) busy_poll: Duration,
    pub(crate) trace: Option<Box<dyn Trace>>,
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
            busy_poll: Duration::ZERO,
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

    /// How many threads run callbacks, the one that calls [`spin`](crate::Executor::spin) included; 0 for as many as there
    /// are cores.
    #[must_use]
    pub fn threads(mut self, threads: u16) -> Self {
        let cores = || std::thread::available_parallelism().ok().and_then(|cores| u16::try_from(cores.get()).ok());
        self.threads = if threads == 0 { cores().unwrap_or(1) } else { threads };
        self
    }

    /// Sets what each of its threads has of the operating system while it spins: scheduling class and priority, cores. The
    /// thread that calls [`spin`](crate::Executor::spin) has what it had before afterwards, as far as the kernel lets it:
    /// without rights it stays as nice as it was made, which is logged. Every spin takes some system calls for it.
    ///
    /// What could not be had is logged, or ends the spin, as the options say; see
    /// [`thread_reports`](crate::ExecutorHandle::thread_reports).
    #[must_use]
    pub fn thread(mut self, options: ThreadOptions) -> Self {
        self.thread = options;
        self
    }

    /// For how long a thread that has nothing to do looks for something before it sleeps; not at all by default, and
    /// [`Duration::MAX`] for ever.
    ///
    /// A thread that looks starts a callback in about a microsecond; to wake one that sleeps takes ten times as long and more,
    /// part of it on the thread of the publisher. Meanwhile it needs a core of its own: under a real-time class, nothing else
    /// gets to run there. With several threads, each of them looks. Not for clocks that are moved by hand.
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

    /// As a deployment file would say it; policies of the user's own have no name there.
    pub(crate) fn plan(&self) -> ExecutorPlan {
        let mut plan = ExecutorPlan::new(&self.name);
        plan.policy = Some(self.policy.name().to_owned()).filter(|name| policy::by_name(name).is_ok());
        plan.threads = Some(self.threads);
        plan.busy_poll = Some(self.busy_poll).filter(|busy_poll| !busy_poll.is_zero());
        self.thread.describe(&mut plan);
        plan
    }

    /// Records what the scheduler decides. Called on the dispatch path: it must not block.
    #[must_use]
    pub fn trace(mut self, trace: impl Trace + 'static) -> Self {
        self.trace = Some(Box::new(trace));
        self
    }
}

/// When a spin ends by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Until {
    /// When it is halted.
    #[default]
    Halted,
    /// After one activation.
    Once,
    /// When nothing is ready any more.
    Idle,
}

/// When [`Executor::spin`](crate::Executor::spin) returns.
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
