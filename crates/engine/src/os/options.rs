//! The settings that a thread can be given.

use std::time::Duration;

use rospin_core::OsScheduling;
use rospin_scenario::deployment::ExecutorPlan;

use super::cores::CoreSet;

/// Reaction to settings that the kernel refuses to a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum OnShortfall {
    /// The program goes on with the settings that the thread has; a warning goes to the `log` crate.
    #[default]
    Warn,
    /// The spin ends with an error.
    Fail,
}

/// Settings of a thread in the operating system. A setting that is not named stays as it is.
///
/// ```
/// use std::time::Duration;
/// use rospin_engine::os::{CoreSet, OnShortfall, OsScheduling, ThreadId, ThreadOptions, scheduling_of};
///
/// let first = CoreSet::new(CoreSet::of_current_thread()?.as_slice().iter().copied().take(1));
/// assert!(!first.is_empty() && !CoreSet::online()?.is_empty());
/// let options = ThreadOptions::new()
///     .scheduling(OsScheduling::Other { nice: 0 })
///     .cores(first)
///     .timer_slack(Duration::from_micros(1))
///     .stack_prefault(16 * 1024)
///     .on_shortfall(OnShortfall::Fail);
/// let before = scheduling_of(ThreadId::current())?;
/// let applied = options.apply_for_now();
/// assert!(applied.report().shortfalls.is_empty());
/// drop(applied);
/// assert_eq!(scheduling_of(ThreadId::current())?, before);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadOptions {
    pub(super) scheduling: Option<OsScheduling>,
    pub(super) inherited: bool,
    pub(super) cores: Option<CoreSet>,
    pub(super) timer_slack: Option<Duration>,
    pub(super) stack_prefault: usize,
    pub(super) on_shortfall: OnShortfall,
}

impl ThreadOptions {
    /// Creates options that change nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets scheduling class and priority. Threads that this thread creates begin as ordinary ones, unless they
    /// [inherit](Self::inherited).
    #[must_use]
    pub const fn scheduling(mut self, scheduling: OsScheduling) -> Self {
        self.scheduling = Some(scheduling);
        self
    }

    /// Lets the threads that this thread creates inherit its scheduling class and priority, which is the kernel's
    /// default. A thread under `SCHED_DEADLINE` cannot create any threads then.
    #[must_use]
    pub const fn inherited(mut self) -> Self {
        self.inherited = true;
        self
    }

    /// Sets the cores that the thread may run on. Threads that it creates inherit the cores.
    #[must_use]
    pub fn cores(mut self, cores: CoreSet) -> Self {
        self.cores = Some(cores);
        self
    }

    /// Sets the longest delay with which the kernel may wake the thread in order to wake several threads together. At
    /// least 1 ns.
    ///
    /// The default is 50 us for an ordinary thread. For a real-time thread it is zero and cannot be changed.
    #[must_use]
    pub const fn timer_slack(mut self, slack: Duration) -> Self {
        self.timer_slack = Some(slack);
        self
    }

    /// Sets the number of bytes of its stack that the thread touches when the options are applied: for a thread of an
    /// executor, at the beginning of each spin; see [`prefault_stack`](super::prefault_stack).
    #[must_use]
    pub const fn stack_prefault(mut self, bytes: usize) -> Self {
        self.stack_prefault = bytes;
        self
    }

    /// Sets the reaction of a spin if a thread of the executor cannot have all of these settings.
    /// [`apply`](Self::apply) and the like only report that.
    #[must_use]
    pub const fn on_shortfall(mut self, reaction: OnShortfall) -> Self {
        self.on_shortfall = reaction;
        self
    }

    /// Writes the settings into the plan of a deployment file.
    pub(crate) fn describe(&self, plan: &mut ExecutorPlan) {
        plan.scheduling = self.scheduling;
        plan.cores = self.cores.as_ref().map_or_else(Vec::new, |cores| cores.as_slice().to_vec());
        plan.timer_slack = self.timer_slack;
        plan.stack_prefault_kib = u32::try_from(self.stack_prefault / 1024).unwrap_or(u32::MAX);
    }

    /// Returns true if no setting is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self { inherited: self.inherited, on_shortfall: self.on_shortfall, ..Self::default() }
    }
}
