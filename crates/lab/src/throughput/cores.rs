//! Cores of publisher and executor. They differ: on one core, the kernel's placement would be what is measured.

use rospin_engine::os::{CoreSet, ThreadOptions};

use super::workload::Workload;

/// The publisher's core, and the executor's.
pub(crate) struct Cores {
    publisher: ThreadOptions,
    executor: ThreadOptions,
}

impl Cores {
    /// The last core that this process may use is the publisher's, the others are the executor's. `None` if they need no
    /// separation, or it cannot be had.
    pub(crate) fn of(workload: Workload) -> Option<Self> {
        let allowed = CoreSet::of_current_thread().ok()?;
        let (last, others) = allowed.as_slice().split_last()?;
        let on = |cores: &[u16]| ThreadOptions::new().cores(CoreSet::new(cores.iter().copied()));
        let separate = workload != Workload::TwoThreads && !others.is_empty();
        separate.then(|| Self { publisher: on(&[*last]), executor: on(others) })
    }

    /// Applies the settings of the thread that publishes.
    pub(crate) fn enter_as_publisher(&self) {
        // If the setting is refused, the kernel places the thread.
        let _ = self.publisher.apply();
    }

    /// For the thread that the executor begins on; those that it starts inherit it.
    pub(crate) fn enter_as_executor(&self) {
        let _ = self.executor.apply();
    }
}
