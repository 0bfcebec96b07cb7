//! What a thread is to have.

use std::time::Duration;

use rospin_core::OsScheduling;
use rospin_scenario::deployment::ExecutorPlan;

use super::cores::CoreSet;

/// What happens if a thread cannot have what it should.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum OnShortfall {
    /// The program goes on with what the thread has; a warning goes to the `log` crate.
    #[default]
    Warn,
    /// It is an error.
    Fail,
}

/// What a thread is to have of the operating system; what is not set stays as it is.
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
    /// Everything stays as it is.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets scheduling class and priority. Threads that this thread creates begin as ordinary ones, unless told
    /// [otherwise](Self::inherited).
    #[must_use]
    pub const fn scheduling(mut self, scheduling: OsScheduling) -> Self {
        self.scheduling = Some(scheduling);
        self
    }

    /// Lets the threads that this thread creates inherit its scheduling class and priority, as is the kernel's own way. With
    /// `SCHED_DEADLINE` it cannot create any then.
    #[must_use]
    pub const fn inherited(mut self) -> Self {
        self.inherited = true;
        self
    }

    /// Sets the cores that it may run on. Threads that it creates inherit them.
    #[must_use]
    pub fn cores(mut self, cores: CoreSet) -> Self {
        self.cores = Some(cores);
        self
    }

    /// Sets how late the kernel may wake the thread to do so together with others: 50 us for an ordinary thread, nothing for
    /// a real-time one, which this does not change. At least 1 ns.
    #[must_use]
    pub const fn timer_slack(mut self, slack: Duration) -> Self {
        self.timer_slack = Some(slack);
        self
    }

    /// Has so many bytes of its stack there before it begins; see [`prefault_stack`](super::prefault_stack).
    #[must_use]
    pub const fn stack_prefault(mut self, bytes: usize) -> Self {
        self.stack_prefault = bytes;
        self
    }

    /// Sets what happens if it cannot have all of this.
    #[must_use]
    pub const fn on_shortfall(mut self, reaction: OnShortfall) -> Self {
        self.on_shortfall = reaction;
        self
    }

    /// As a deployment file would say it.
    pub(crate) fn describe(&self, plan: &mut ExecutorPlan) {
        plan.scheduling = self.scheduling;
        plan.cores = self.cores.as_ref().map_or_else(Vec::new, |cores| cores.as_slice().to_vec());
        plan.timer_slack = self.timer_slack;
        plan.stack_prefault_kib = u32::try_from(self.stack_prefault / 1024).unwrap_or(u32::MAX);
    }

    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self { inherited: self.inherited, on_shortfall: self.on_shortfall, ..Self::default() }
    }
}
