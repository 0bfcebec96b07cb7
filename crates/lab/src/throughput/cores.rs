//! Where publisher and executor run: not on one core, or the kernel's choice of whether they share it is what is measured.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::workload::Workload;

/// The publisher's core, and the executor's.
pub(crate) struct Cores {
    publisher: CpuSet,
    executor: CpuSet,
}

impl Cores {
    /// The last core that this process may use is the publisher's, the others are the executor's. `None` if they need no
    /// separation, or it cannot be had.
    pub(crate) fn of(workload: Workload) -> Option<Self> {
        let allowed = sched_getaffinity(None).ok()?;
        let last = (0..CpuSet::MAX_CPU).rev().find(|core| allowed.is_set(*core))?;
        let (mut publisher, mut executor) = (CpuSet::new(), allowed);
        publisher.set(last);
        executor.unset(last);
        (workload != Workload::TwoThreads && executor.count() > 0).then_some(Self { publisher, executor })
    }

    /// For the thread that publishes.
    pub(crate) fn enter_as_publisher(&self) {
        // Where it is refused, the kernel places the thread.
        let _ = sched_setaffinity(None, &self.publisher);
    }

    /// For the thread that the executor begins on; those that it starts inherit it.
    pub(crate) fn enter_as_executor(&self) {
        let _ = sched_setaffinity(None, &self.executor);
    }
}
